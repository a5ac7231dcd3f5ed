use super::*;
use proptest::prelude::*;

/// The figures of packets with these numbers, sent and received 20 ms apart.
fn after(numbers: &[u64]) -> ArrivalFigures {
    let mut arrivals = Arrivals::new(0);
    for (&number, at) in numbers.iter().zip(0_u64..) {
        arrivals.add(&packet(number, 20_000_000 * at));
    }
    arrivals.finish(None)
}

fn packet(number: u64, arrived_ns: u64) -> Arrival {
    Arrival {
        number,
        sent_ns: 20_000_000 * number,
        arrived_ns,
        bytes: 1000,
        is_marked: number % 2 == 1,
    }
}

/// The tables of RFC 4737 §7: packets are sent every 20 ms with a delay of 68 ms.
// goal 22: reordering follows the examples of RFC 4737.
#[test]
fn examples_of_rfc_4737() {
    let mut arrivals = Arrivals::new(0);
    let table_1 = [
        (1, 68),
        (2, 88),
        (3, 108),
        (5, 148),
        (6, 168),
        (7, 188),
        (8, 208),
        (4, 210),
        (9, 228),
        (10, 248),
    ];
    for (number, arrived_ms) in table_1 {
        arrivals.add(&packet(number, arrived_ms * 1_000_000));
    }
    // Packet 4 arrives directly after 5, 6, 7 and 8.
    let order = arrivals.finish(None).order;
    assert_eq!((order.reordered_packets, order.ratio), (1, 0.1));
    let extent = order.extent.unwrap();
    assert_eq!((extent.min, extent.max), (4, 4));
    assert_eq!(order.late_ns.unwrap().max, 62_000_000);
    assert_eq!(order.n_reordering, [1, 1, 1, 1]);

    // Table 2: packet 7 is early. Packet 5 has extent 1 and is 1-reordered, packet 6 has extent 2.
    let order = after(&[1, 2, 3, 4, 7, 5, 6, 8, 9, 10]).order;
    assert_eq!(order.reordered_packets, 2);
    let extent = order.extent.unwrap();
    assert_eq!((extent.min, extent.max, extent.n), (1, 2, 2));
    assert_eq!(order.n_reordering, [1]);

    // Three packets are late together: only the first of them is n-reordered.
    let order = after(&[1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11]).order;
    let extent = order.extent.unwrap();
    assert_eq!((extent.min, extent.max, extent.n), (4, 6, 3));
    assert_eq!(order.n_reordering, [1, 1, 1, 1]);
}

/// The samples of draft-shalunov-reordering-definition-02 §4. RFC 4737 took its n-reordering from there.
#[test]
fn samples_of_the_definition_of_n_reordering() {
    let n_reordering = |numbers: &[u64]| after(numbers).order.n_reordering;
    let none: [u64; 0] = [];
    assert_eq!(n_reordering(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), none);
    assert_eq!(n_reordering(&[1, 3, 4, 5, 6, 7, 8, 9, 10]), none);
    assert_eq!(n_reordering(&[0, 1000, 2000, 3000, 4000, 5000]), none);
    assert_eq!(n_reordering(&[1, 2, 4, 3, 5, 6, 7, 8, 9, 10]), [1]);
    assert_eq!(n_reordering(&[1, 2, 4, 3, 5, 6, 8, 7, 9, 10]), [2]);
    assert_eq!(n_reordering(&[1, 2, 4, 5, 3, 6, 7, 8, 9, 10]), [1, 1]);
    assert_eq!(n_reordering(&[1, 2, 4, 5, 6, 3, 7, 8, 9, 10]), [1, 1, 1]);
    assert_eq!(n_reordering(&[1, 2, 3, 4, 8, 5, 6, 7, 9, 10]), [1]);
    let falling = n_reordering(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(falling, [9, 8, 7, 6, 5, 4, 3, 2, 1]);
}

/// Of a million packets the last thousand are lost: they count, although no gap shows them.
// goal 19: loss at the tail counts.
#[test]
fn tail_loss_of_a_long_flow_is_counted_exactly() {
    let mut arrivals = Arrivals::new(10);
    for number in 0..999_000 {
        arrivals.add(&packet(number, 20_000_000 * number + 5_000_000));
    }
    let figures = arrivals.finish(Some(1_000_000));
    assert_eq!(
        (figures.counts.packets, figures.counts.missing),
        (999_000, 1000)
    );
    assert_eq!(
        figures.loss.runs,
        [(960, 1)],
        "1,000 lies in the class from 960"
    );
    let list = figures.loss.list.unwrap();
    assert_eq!((list[0].first, list[0].packets), (999_000, 1000));
    assert_eq!(list[0].noticed_ns, None);
    assert_eq!(figures.counts.bytes, 999_000_000);
    assert_eq!(figures.counts.marked, 499_500);
}

/// Numbers need more than 24 bits: each interval has as many packets on both sides.
#[test]
fn no_interval_differs_at_packet_16777216() {
    const INTERVAL: u64 = 1 << 20;
    let mut arrivals = Arrivals::new(0);
    for interval in 0..18 {
        let numbers = interval * INTERVAL..(interval + 1) * INTERVAL;
        for number in numbers {
            arrivals.add(&packet(number, 100 * number));
        }
        let counts = arrivals.interval().counts;
        assert_eq!((counts.packets, counts.missing), (INTERVAL, 0));
    }
    let counts = arrivals.finish(Some(18 * INTERVAL)).counts;
    assert_eq!((counts.packets, counts.missing), (18 * INTERVAL, 0));
    assert_eq!((counts.reordered, counts.stale), (0, 0));
}

/// Every hundredth pair is swapped: nothing is lost, and 1 % of the pairs are reordered.
#[test]
fn swapped_pairs_are_no_losses() {
    let mut numbers: Vec<u64> = (0..100_000).collect();
    for at in (0..100_000).step_by(200) {
        numbers.swap(at, at + 1);
    }
    let figures = after(&numbers);
    assert_eq!((figures.counts.missing, figures.loss.lost_packets), (0, 0));
    assert_eq!(figures.order.reordered_packets, 500);
    assert_eq!(figures.order.n_reordering, [500]);
    assert_eq!(figures.order.density.len(), 3);
}

// goal 21: duplicates are counted apart.
#[test]
fn duplicates_are_counted_apart() {
    use Novelty::{Duplicate, New};
    let mut arrivals = Arrivals::new(0);
    let taken: Vec<Novelty> = ([0, 1, 1, 3, 0, 2, 2].iter())
        .map(|&number| arrivals.add(&packet(number, number)))
        .collect();
    assert_eq!(taken, [New, New, Duplicate, New, Duplicate, New, Duplicate]);
    let counts = arrivals.counts();
    assert_eq!(
        (counts.packets, counts.duplicates, counts.reordered),
        (4, 3, 1)
    );
    assert_eq!((counts.missing, counts.bytes), (0, 4000));
}

/// A number that no sender can have reached does not make the packets after it stale.
#[test]
fn one_wild_number_does_not_silence_the_flow() {
    let mut arrivals = Arrivals::new(0);
    for number in 0..900 {
        let novelty = arrivals.add(&packet(number, number));
        assert_eq!(novelty, Novelty::New, "{number}");
        if number == 300 {
            let wild = Arrival {
                number: 1 << 40,
                ..packet(number, number)
            };
            assert_eq!(arrivals.add(&wild), Novelty::Unconfirmed);
        }
    }
    let counts = arrivals.finish(Some(900)).counts;
    assert_eq!((counts.packets, counts.missing), (900, 0));
    assert_eq!((counts.stale, counts.unconfirmed), (0, 1));
}

/// An outage of more than the window: the second packet after it, or the sender's count, confirms the first one.
#[test]
fn packets_after_a_long_outage_are_all_counted() {
    for after in [2, 1] {
        let mut arrivals = Arrivals::new(0);
        arrivals.add(&packet(0, 0));
        for number in 1_000_000..1_000_000 + after {
            arrivals.add(&packet(number, number));
        }
        let counts = arrivals.finish(Some(1_000_000 + after)).counts;
        assert_eq!((counts.packets, counts.missing), (1 + after, 999_999));
        assert_eq!(counts.unconfirmed, 0);
    }
}

#[test]
fn intervals_add_up_to_the_totals() {
    let mut arrivals = Arrivals::new(0);
    let mut sum = (0, 0, 0, 0_i64);
    for chunk in [&[0_u64, 1, 5][..], &[2, 3, 3], &[], &[4, 8]] {
        for &number in chunk {
            arrivals.add(&packet(number, number));
        }
        let interval = arrivals.interval();
        assert_eq!(interval.delays.len(), interval.counts.packets);
        sum.0 += interval.counts.packets;
        sum.1 += interval.counts.duplicates;
        sum.2 += interval.counts.reordered;
        sum.3 += interval.counts.missing.cast_signed() - interval.recovered.cast_signed();
    }
    let figures = arrivals.finish(None);
    let counts = figures.counts;
    assert_eq!(
        (sum.0, sum.1, sum.2),
        (counts.packets, counts.duplicates, counts.reordered)
    );
    assert_eq!((sum.3, counts.missing), (2, 2));
    assert_eq!(figures.delays.len(), 7);
}

#[test]
fn flow_without_arrivals_has_figures() {
    let figures = Arrivals::new(1).finish(Some(5));
    assert_eq!((figures.sent, figures.loss.lost_packets), (5, 5));
    assert_eq!((figures.first_ns, figures.order.ratio), (None, 0.0));
    let empty = Arrivals::new(1).finish(None);
    assert_eq!((empty.sent, empty.jitter.ipdv_ns), (0, None));
}

#[test]
fn figures_survive_the_control_connection() {
    let mut numbers: Vec<u64> = (0..5000).filter(|n| n % 17 != 3).collect();
    numbers.swap(40, 44);
    let figures = after(&numbers);
    let text = serde_json::to_string(&figures).unwrap();
    assert!(text.len() < 16_000, "{} bytes", text.len());
    let again: ArrivalFigures = serde_json::from_str(&text).unwrap();
    // The reader of JSON may miss the last bit of a ratio.
    let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-15;
    assert!(is_near(again.order.ratio, figures.order.ratio));
    let (p, q) = (again.loss.gilbert.unwrap(), figures.loss.gilbert.unwrap());
    assert!(is_near(p.p, q.p) && is_near(p.r, q.r));
    let densities = again.order.density.iter().zip(&figures.order.density);
    let mut densities = densities.map(|(a, b)| (a.0 == b.0, is_near(a.1, b.1)));
    assert!(densities.all(|same| same == (true, true)));
    assert_eq!(again.order.extent, figures.order.extent);
    assert_eq!(again.order.n_reordering, figures.order.n_reordering);
    assert_eq!(
        (again.loss.runs, again.loss.gaps),
        (figures.loss.runs, figures.loss.gaps)
    );
    assert_eq!((again.sent, again.counts), (figures.sent, figures.counts));
    assert_eq!(
        (again.jitter, again.delays),
        (figures.jitter, figures.delays)
    );
}

proptest! {
    /// The definitions of RFC 4737, in quadratic time.
    #[test]
    fn order_is_that_of_the_definitions(numbers in prop::collection::vec(0..400_u64, 0..400)) {
        let mut arrived: Vec<u64> = Vec::new();
        let (mut duplicates, mut extents, mut n_reordered) = (0, Vec::new(), [0_u64; 33]);
        for &number in &numbers {
            if arrived.contains(&number) {
                duplicates += 1;
                continue;
            }
            let at = arrived.len();
            if let Some(earliest) = arrived.iter().position(|&n| n > number) {
                extents.push((at - earliest) as u64);
            }
            let larger = arrived.iter().rev().take_while(|&&n| n > number).count();
            for count in &mut n_reordered[1..=larger.min(32)] {
                *count += 1;
            }
            arrived.push(number);
        }
        let figures = after(&numbers);
        prop_assert_eq!(figures.counts.duplicates, duplicates);
        prop_assert_eq!(figures.order.reordered_packets, extents.len() as u64);
        prop_assert_eq!(figures.order.extent.map(|s| (s.min, s.max)),
            extents.iter().min().copied().zip(extents.iter().max().copied()));
        let last = n_reordered.iter().rposition(|&n| n > 0).unwrap_or(0);
        prop_assert_eq!(&figures.order.n_reordering[..], &n_reordered[1..=last]);
        prop_assert_eq!(figures.counts.missing, figures.loss.lost_packets);
        prop_assert_eq!(figures.sent, figures.counts.packets + figures.loss.lost_packets);
    }

    #[test]
    fn hostile_arrivals_never_panic(fields in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()), 0..200)) {
        let mut arrivals = Arrivals::new(3);
        for (number, sent_ns, arrived_ns, bytes) in fields {
            arrivals.add(&Arrival { number, sent_ns, arrived_ns, bytes, is_marked: false });
            arrivals.interval();
        }
        let figures = arrivals.finish(Some(u64::MAX));
        prop_assert_eq!(figures.counts.missing, figures.loss.lost_packets);
    }
}
