use super::*;

fn ms(n: u64) -> Instant {
    Instant::from_nanos(1_000_000 * n)
}

fn rate(bytes_per_s: f64) -> Rate {
    Rate::from_bytes_per_s(bytes_per_s)
}

#[test]
fn the_bits_that_remain_go_at_the_new_rate() {
    let mut t = Transmitter::new(Some(rate(1e6)), None);
    assert_eq!(t.send(ms(0), 10_000), ms(10));
    // 4 ms are over; the other 6000 bytes take twice as long.
    t.set_rate(ms(4), Some(rate(0.5e6)));
    assert_eq!(t.free_at(), ms(16));
    t.set_rate(ms(10), Some(rate(2e6)));
    let end = ms(11) + Duration::from_micros(500);
    assert_eq!(t.free_at(), end);
    t.set_rate(ms(12), Some(rate(1e6)));
    assert_eq!(t.free_at(), end, "it had ended before");
    assert_eq!(t.send(ms(12), 1000), ms(13));
    t.set_rate(ms(12), None);
    assert_eq!(t.free_at(), ms(12));
}

/// Opportunities of 1504 bytes at 1, 2, 3, 8, 9, … ms.
fn traced() -> Transmitter {
    Transmitter::new(None, Some(RateTrace::parse("1\n2\n3\n8").unwrap()))
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_take_several() {
    let mut t = traced();
    t.rest(ms(0));
    assert!(!t.is_free(ms(1)));
    let mut sent = Vec::new();
    for len in [700, 700, 104, 1504, 1000, 1000, 4000] {
        sent.push(t.send(t.free_at(), len));
    }
    // 700 + 700 + 104 | 1504 | 1000 + 504 | 496 + 1008 | 1504 | 1488
    assert_eq!(sent, [1, 1, 1, 2, 3, 8, 10].map(ms));
}

#[test]
fn an_unused_opportunity_is_lost() {
    let mut t = traced();
    t.rest(ms(0));
    assert_eq!(t.send(t.free_at(), 100), ms(1));
    assert_eq!(t.free_at(), ms(1), "1404 bytes are left");
    t.rest(ms(1));
    assert_eq!(
        t.free_at(),
        ms(2),
        "but they were gone when the next packet came"
    );
    t.rest(ms(4));
    assert_eq!(t.send(t.free_at(), 2000), ms(9));
}
