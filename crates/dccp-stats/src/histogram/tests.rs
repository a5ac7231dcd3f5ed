use super::*;
use hdrhistogram::serialization::Deserializer;
use proptest::prelude::*;

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    for &value in values {
        histogram.record(value);
    }
    histogram
}

fn stored(histogram: &Histogram) -> Histogram {
    serde_json::from_str(&serde_json::to_string(histogram).unwrap()).unwrap()
}

/// The values that `rank` of the definition gives: nearest rank in the sorted sample.
fn exact(sorted: &[u64], permille: usize) -> u64 {
    sorted[(sorted.len() * permille).div_ceil(1000).max(1) - 1]
}

proptest! {
    // goal 23: values up to 100 s have an error of at most 1 %.
    #[test]
    fn histogram_is_within_one_percent(mut values in prop::collection::vec(0..VALUE_MAX, 1..3000), scale in 0..30_u32) {
        for value in &mut values {
            *value >>= scale;
        }
        let histogram = of(&values);
        values.sort_unstable();
        let spread = histogram.spread().unwrap();
        prop_assert_eq!((spread.min, spread.max), (values[0], values[values.len() - 1]));
        prop_assert_eq!(spread.n, values.len() as u64);
        for permille in [10, 500, 900, 990, 999] {
            let Some(found) = histogram.quantile(permille as u64) else { continue };
            let exact = exact(&values, permille);
            prop_assert!(found >= exact && (found - exact) * 100 <= exact, "{}: {} {}", permille, found, exact);
        }
    }

    // goal 23: merged histograms are that of all values.
    #[test]
    fn merged_equals_whole(a in prop::collection::vec(0..VALUE_MAX, 0..300), b in prop::collection::vec(0..VALUE_MAX, 0..300)) {
        let mut merged = of(&a);
        merged.merge(&of(&b));
        prop_assert_eq!(merged, of(&[a, b].concat()));
    }

    #[test]
    fn histogram_survives_its_stored_form(values in prop::collection::vec(0..VALUE_MAX, 0..300)) {
        let histogram = of(&values);
        let back = stored(&histogram);
        prop_assert_eq!(back.spread(), histogram.spread());
        prop_assert!(back.buckets().eq(histogram.buckets()));
    }

    #[test]
    fn text_of_a_peer_never_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..100), at in 0..40_usize) {
        let _ = Histogram::from_text(&STANDARD.encode(&bytes));
        // The same with a right head, deflated.
        let mut plain = Vec::new();
        hdrhistogram::serialization::V2Serializer::new().serialize(&empty_counts(), &mut plain).unwrap();
        plain.truncate(40);
        plain[4..8].copy_from_slice(&u32::try_from(bytes.len()).unwrap().to_be_bytes());
        plain.append(&mut bytes);
        let _ = Histogram::from_text(&deflated(&plain));
        plain[at] ^= 1;
        let _ = Histogram::from_text(&deflated(&plain));
    }
}

/// Text with this uncompressed form.
fn deflated(plain: &[u8]) -> String {
    use flate2::{Compression, write::ZlibEncoder};
    use std::io::Write as _;
    let mut bytes = [0x1c84_9314_u32.to_be_bytes(), [0; 4]].concat();
    let mut encoder = ZlibEncoder::new(&mut bytes, Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap();
    STANDARD.encode(bytes)
}

// goal 24: a percentile needs enough samples.
#[test]
fn percentile_without_support_is_null() {
    let values: Vec<u64> = (1..=1000).collect();
    let p = |n: usize| {
        let spread = of(&values[..n]).spread().unwrap();
        (spread.p50, spread.p90, spread.p99, spread.p999)
    };
    assert_eq!(p(1), (None, None, None, None));
    assert_eq!(p(2), (Some(1), None, None, None));
    assert_eq!(p(9), (Some(5), None, None, None));
    assert_eq!(p(10), (Some(5), Some(9), None, None));
    assert_eq!(p(99).2, None);
    assert_eq!(p(100), (Some(50), Some(90), Some(99), None));
    assert_eq!(p(999).3, None);
    // Buckets at 999 are 4 wide.
    assert_eq!(p(1000).3, Some(999));
    assert_eq!(of(&[]).spread(), None);
}

#[test]
fn spread_of_a_known_sample_is_exact() {
    let spread = of(&[200, 4, 100, 4]).spread().unwrap();
    assert_eq!((spread.min, spread.max, spread.n), (4, 200, 4));
    assert!((spread.mean - 77.0).abs() < 1e-12);
    assert_eq!(spread.p50, Some(4));
}

#[test]
fn value_above_the_maximum_counts_as_the_maximum() {
    let spread = of(&[u64::MAX, 0]).spread().unwrap();
    assert_eq!((spread.min, spread.max, spread.n), (0, VALUE_MAX, 2));
}

/// Other programs read the text: the crate's own reader stands for them.
#[test]
fn text_is_the_standard_format() {
    let mut histogram = of(&[0, 1, 255, 256, 20_100_000, VALUE_MAX]);
    histogram.record_n(3_000_000, 1_000_000);
    let bytes = STANDARD.decode(histogram.text()).unwrap();
    let theirs: hdrhistogram::Histogram<u64> =
        Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
    assert_eq!(Some(theirs), histogram.counts);
    let back = Histogram::from_text(&histogram.text()).unwrap();
    assert!(back.buckets().eq(histogram.buckets()));
    assert_eq!(Histogram::from_text(&of(&[]).text()), Ok(of(&[])));
}

#[test]
fn lying_text_is_refused() {
    let text = of(&[5, 1000]).text();
    let with = |min: u64, max: u64, sum: u64| {
        let json = format!(r#"{{"min":{min},"max":{max},"sum":{sum},"counts":"{text}"}}"#);
        serde_json::from_str::<Histogram>(&json)
    };
    assert!(with(5, 1000, 1005).is_ok());
    assert!(with(4, 1000, 1005).is_err());
    assert!(with(5, 2000, 1005).is_err());
    assert!(with(5, 1000, 3000).is_err());
    let wider = hdrhistogram::Histogram::<u64>::new_with_max(VALUE_MAX, 5).unwrap();
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(&wider, &mut bytes)
        .unwrap();
    let refused = Histogram::from_text(&STANDARD.encode(bytes));
    assert_eq!(refused, Err(InvalidHistogram("another range or precision")));
    let huge = "A".repeat(TEXT_MAX + 4);
    assert_eq!(
        Histogram::from_text(&huge),
        Err(InvalidHistogram("too long"))
    );
}

/// A few bytes that inflate to 100 MB are read up to the limit only.
#[test]
fn bomb_is_read_up_to_the_limit() {
    let text = deflated(&vec![0; 20 << 20]);
    assert!(text.len() < TEXT_MAX);
    assert!(Histogram::from_text(&text).is_err());
}

#[test]
fn every_bucket_has_its_index() {
    let mut counts = empty_counts();
    let length = counts.distinct_values() as u64;
    for index in 0..length {
        let bucket = bucket_at(index, 1).unwrap();
        assert_eq!(counts.lowest_equivalent(bucket.high), bucket.low);
        assert_eq!(counts.highest_equivalent(bucket.low), bucket.high);
        counts.record(bucket.low).unwrap();
    }
    assert_eq!(counts.iter_recorded().count() as u64, length);
    assert_eq!(bucket_at(u64::MAX, 1), None);
}
