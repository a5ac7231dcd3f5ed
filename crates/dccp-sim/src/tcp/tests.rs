use super::*;

#[test]
fn sequence_numbers_wrap_and_are_found_again() {
    for number in [0, 1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1, 1 << 40] {
        let wire = wire_number(number);
        for near in [number.saturating_sub(1 << 30), number, number + (1 << 30)] {
            assert_eq!(stream_number(wire, near), Some(number));
        }
    }
    assert_eq!(wire_number(0), 1);
    assert_eq!(wire_number(u64::from(u32::MAX)), 0);
    assert_eq!(stream_number(0, 0), None, "the SYN is not in the stream");
}

#[test]
fn a_timestamp_is_in_units_of_ten_microseconds_and_wraps() {
    let now = Instant::from_nanos(1_000_000);
    assert_eq!(duration(ticks_since(40, now)), Duration::from_micros(600));
    assert_eq!(
        duration(ticks_since(u32::MAX, now)),
        Duration::from_micros(1010)
    );
}
