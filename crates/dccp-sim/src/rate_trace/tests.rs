use super::*;

fn ms(n: u64) -> Instant {
    Instant::from_nanos(1_000_000 * n)
}

#[test]
fn a_trace_is_repeated_from_its_last_moment_on() {
    let trace = RateTrace::parse("1\n1\n4\n10\n").unwrap();
    let moments: Vec<_> = (0..9).map(|n| trace.at(n)).collect();
    assert_eq!(moments, [1, 1, 4, 10, 11, 11, 14, 20, 21].map(ms));
    for (now, first) in [
        (0, 0),
        (1, 2),
        (3, 2),
        (4, 3),
        (9, 3),
        (10, 4),
        (11, 6),
        (20, 8),
        (21, 10),
    ] {
        assert_eq!(trace.first_after(ms(now)), first, "after {now} ms");
    }
    assert_eq!(trace.bytes_per_s().to_bits(), 601_600.0_f64.to_bits());
}

#[test]
fn a_trace_from_0_on_has_two_opportunities_where_it_repeats() {
    let trace = RateTrace::parse("0\n5").unwrap();
    let moments: Vec<_> = (0..5).map(|n| trace.at(n)).collect();
    assert_eq!(moments, [0, 5, 5, 10, 10].map(ms));
    assert_eq!(trace.first_after(ms(0)), 1);
    assert_eq!(trace.first_after(ms(4)), 1);
    assert_eq!(trace.at(trace.first_after(ms(5))), ms(10));
}

#[test]
fn an_invalid_trace_is_reported_with_line_and_remedy() {
    let told = |text: &str| RateTrace::parse(text).unwrap_err().to_string();
    assert_eq!(
        told("1\n2\n\n3"),
        "line 3 of the rate trace: `` is no number of milliseconds\n\
         write one whole number a line, below 4294967296"
    );
    assert_eq!(
        told("1\n-2"),
        "line 2 of the rate trace: `-2` is no number of milliseconds\n\
         write one whole number a line, below 4294967296"
    );
    assert_eq!(
        told("5\n4\n"),
        "line 2 of the rate trace: 4 ms comes after a later moment\nsort the lines by time"
    );
    for text in ["", "0\n0\n"] {
        assert!(told(text).contains("takes no time"), "{text:?}");
    }
}

#[test]
fn a_trace_has_a_bound() {
    let error = RateTrace::parse(&"7\n".repeat(RateTrace::LONGEST + 1)).unwrap_err();
    assert_eq!(error.line, RateTrace::LONGEST + 1);
    assert!(
        error
            .to_string()
            .ends_with("shorten the trace: it is repeated")
    );
}
