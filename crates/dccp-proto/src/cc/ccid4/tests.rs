//! The differences between CCID 4 and CCID 3, by tables and on a path.

use super::small_packets::SmallPackets;
use super::*;
use crate::cc::ccid3::{Counted, Variant};
use crate::cc::fixtures::{Fate, Net, START, arrival, at, config, feedback, is_near, ms, single};
use crate::cc::law::bench::{table, whole};
use crate::cc::{AckDue, Arrival, OutgoingAck, Permit, Run};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::ccid_options::{
    CcidOpt, LossInterval, LossIntervals, push_dropped_packets, push_loss_intervals,
};
use crate::wire::{Ecn, Opt, OptionWriter, Options};
use core::time::Duration;

fn assert_near(value: f64, expected: f64) {
    assert!(is_near(value, expected), "{value} {expected}");
}

/// A variant whose last packet had long sequence numbers, or short ones.
fn small_packets(is_short: bool) -> SmallPackets {
    let mut variant = SmallPackets::default();
    variant.on_header(!is_short);
    variant.on_header(is_short);
    variant
}

#[test]
fn the_rate_of_large_packets_less_headers_is_as_pinned() {
    // 5622-5-1: headers of 36 bytes.
    for [s, r, p, rate] in table(
        "
        160  0.1   0.001  457479
        20   0.05  0.1    18459.6
        ",
    ) {
        let v = small_packets(false);
        assert_near(v.rate(s, r, p), rate);
        assert_near(v.loss_event_rate(s, r, rate), p);
    }
    // With short sequence numbers a packet has four bytes less (20 / 52 of 51687 bytes/s).
    assert_near(small_packets(true).rate(20.0, 0.05, 0.1), 19_879.6);
}

#[test]
fn nominal_packet_is_no_larger_than_a_tcp_segment() {
    // 5622-5-1: 1444 bytes of data fit into 1500 bytes of IPv4, where a TCP has 1460; over UDP 1436.
    let rate = |mps| {
        let mut v = SmallPackets::default();
        v.on_mps(mps);
        v.rate(160.0, 0.1, 0.001)
    };
    for mps in [1436, 1444, 8944] {
        assert_near(rate(mps), 457_479.0);
    }
    assert_near(rate(512), 457_479.0 * 536.0 / 1460.0);
}

#[test]
fn short_intervals_count_for_packets_per_loss_as_pinned() {
    // 5622-6.1-1: the span in round trips of 100 ms.
    for [n, k, span, length] in table(
        "
         10  1  1.0   10
         10  4  1.5  2.5
         10  4  2.0  2.5
         10  4  2.5   10
          3  3  1.0    1
        100  2   20  100
        ",
    ) {
        let mut v = SmallPackets::default();
        let end = START + ms(u64::from(whole(100.0 * span)));
        v.on_sent(Seq::new(1), START);
        v.on_sent(Seq::new(9), end);
        let counted = Counted {
            data: n,
            drops: k,
            is_short: v.is_short(Seq::new(1), Seq::new(9), ms(100)) == Some(true),
            is_open: false,
        };
        assert_near(SmallPackets::length(&counted), length);
    }
}

#[test]
fn an_interval_is_never_shorter_than_a_packet() {
    let length = |data, drops, is_open| {
        SmallPackets::length(&Counted {
            data,
            drops,
            is_short: true,
            is_open,
        })
    };
    assert_near(length(2.0, 4.0, false), 1.0);
    assert_near(length(2.0, 0.0, false), 2.0);
    assert!(length(7.0, 1.0, true).abs() < f64::EPSILON);
}

#[test]
fn the_time_of_an_interval_is_that_between_departures() {
    let rtt = ms(100);
    let seq = Seq::new;
    let mut v = SmallPackets::default();
    assert_eq!(v.is_short(seq(1), seq(2), rtt), None);
    for n in 0..2000 {
        v.on_sent(seq(2 * n), at(10 * n));
    }
    // The last 1024 are known: from 1952 on. Odd numbers were acknowledgements.
    for (from, to, is_short) in [
        (3950, 3990, Some(true)),
        (3950, 3991, Some(false)),
        (3949, 3990, Some(true)),
        (1952, 1992, Some(true)),
        (1951, 1992, None),
        (1951, 1994, Some(false)),
        (100, 200, None),
        (3990, 5000, Some(true)),
    ] {
        assert_eq!(v.is_short(seq(from), seq(to), rtt), is_short, "{from} {to}");
    }
}

const RTT: Duration = Duration::from_millis(100);

fn new_sender() -> Box<dyn HcSender> {
    Ccid4.sender(&CcConfig {
        rtt: Some(RTT),
        ..config()
    })
}

fn send(s: &mut dyn HcSender, now: Instant, seq: u64) {
    s.prepare(now, &mut OptionWriter::new(100));
    s.on_sent(&Run {
        payload_len: 100,
        ..single(now, seq)
    });
}

/// Feedback for the packet `ack`, a round trip after it left.
fn tell(
    s: &mut dyn HcSender,
    now: Instant,
    ack: u64,
    told: &[(u32, u32, u32)],
    drops: Option<&[u32]>,
) -> f64 {
    let mut w = OptionWriter::new(300);
    CcidOpt::ReceiveRate(u32::MAX).push(&mut w).unwrap();
    let interval = |&(lossless, loss, data)| LossInterval {
        lossless,
        nonce: false,
        loss,
        data,
    };
    let told: Vec<_> = told.iter().map(interval).collect();
    push_loss_intervals(&mut w, 0, &told).unwrap();
    if let Some(drops) = drops {
        push_dropped_packets(&mut w, drops).unwrap();
    }
    let mut fb = feedback();
    fb.ack = Seq::new(ack);
    fb.rtt = Some(RTT);
    fb.ack_sent_at = Some(now - RTT);
    fb.elapsed = Some(ms(0));
    fb.options = Options(w.as_slice());
    fb.mean_size = 100;
    s.on_feedback(now, &fb);
    s.snapshot().loss_event_rate.unwrap_or_default()
}

#[test]
fn a_packet_leaves_10_ms_after_the_last_at_the_earliest() {
    // 5622-5-2, 4828-3-2: whatever the rate and the timers, also after a pause or a late departure.
    let mut s = Ccid4.sender(&CcConfig {
        rtt: Some(RTT),
        granularity: ms(4),
        ..config()
    });
    for t in 1..=20 {
        send(s.as_mut(), at(100 * t - 10), 2 * t - 1);
        send(s.as_mut(), at(100 * t + 40), 2 * t);
        tell(s.as_mut(), at(100 * t + 50), 2 * t, &[(10, 0, 0)], None);
    }
    let rate = s.snapshot().rate.unwrap_or_default().bytes_per_s();
    assert_near(rate, 10_000.0);
    assert_near(s.packets_per_rtt().unwrap_or_default(), 10.0);
    assert_eq!(s.permit(at(2049), 0), Permit::At(at(2050)));
    send(s.as_mut(), at(2053), 41);
    assert_eq!(s.permit(at(2054), 0), Permit::At(at(2063)));
    send(s.as_mut(), at(5000), 42);
    assert_eq!(s.permit(at(5001), 0), Permit::At(at(5010)));
    let now = Permit::Now { packets: 1 };
    assert_eq!(s.permit(at(5010), 0), now);
}

/// A sender of 100 packets/s that has sent the packets 1 to 300.
fn after_300_packets() -> Box<dyn HcSender> {
    let mut s = new_sender();
    for n in 1..=300 {
        send(s.as_mut(), at(10 * n), n);
    }
    s
}

#[test]
fn a_sender_counts_short_intervals_by_their_drops() {
    // 5622-6.1-1, 5622-8.7-2: 181–200 lasted two round trips and lost 5 of its packets, 60–180 lasted
    // longer; the first interval is no loss. 5348-5.4-1: the mean of 100 open, then 4, 121, 50.
    let told = [(98, 2, 100), (10, 10, 20), (119, 2, 121), (59, 0, 50)];
    let drops = [2, 5, 2, 0];
    let rate = |drops: Option<&[u32]>| {
        let mut s = after_300_packets();
        tell(s.as_mut(), at(3100), 300, &told, drops)
    };
    assert_near(rate(Some(&drops)), 3.0 / 225.0);
    // 5622-8.7-2: without a count, or with one too high, all of the lossy part was lost.
    assert_near(rate(None), 3.0 / (100.0 + 2.0 + 121.0));
    assert_near(rate(Some(&[2, 99, 2, 0])), 3.0 / (100.0 + 2.0 + 121.0));
    // Counts that are for no interval say nothing.
    assert_near(rate(Some(&[2, 5, 2, 0, 9, 9])), 3.0 / 225.0);
}

#[test]
fn a_short_open_interval_is_left_out_of_the_mean() {
    // 4828-3-1: from 280 on, or from 279 on, which is 21 packets and so more than two round trips.
    let mut s = after_300_packets();
    let told = |open| [(open, 1, open + 1), (100, 1, 10), (200 - open, 0, 12)];
    let drops = [1, 1, 0];
    let p = tell(s.as_mut(), at(3100), 300, &told(20), Some(&drops));
    assert_near(p, 2.0 / 22.0);
    let mut s = after_300_packets();
    let p = tell(s.as_mut(), at(3100), 300, &told(21), Some(&drops));
    assert_near(p, 2.0 / (22.0 + 10.0));
}

#[test]
fn an_interval_ends_with_the_next_loss_or_the_acknowledged_packet() {
    // 5622-6.1-1: the open one lasts from 280 to 300, two round trips, although later packets have left;
    // the one before it from 259 to 280, which is more. 4828-3-1: so only the open one is short.
    let mut s = new_sender();
    for n in 1..=310 {
        send(s.as_mut(), at(10 * n), n);
    }
    let told = [(20, 1, 21), (14, 7, 21), (258, 0, 12)];
    let p = tell(s.as_mut(), at(3100), 300, &told, Some(&[1, 7, 0]));
    assert_near(p, 2.0 / (21.0 + 12.0));
}

#[test]
fn loss_event_rate_is_at_most_one_per_packet() {
    // A peer that reports a first interval without packets, behind an open one that does not count.
    let mut s = after_300_packets();
    let told = [(20, 1, 21), (279, 0, 0)];
    assert_near(tell(s.as_mut(), at(3100), 300, &told, Some(&[1, 0])), 1.0);
}

#[test]
fn the_time_of_an_interval_is_remembered_longer_than_departures() {
    // 5622-6.1-1
    let mut s = after_300_packets();
    let told = [(98, 2, 100), (10, 10, 20), (119, 2, 121), (59, 0, 50)];
    let drops = [2, 5, 2, 0];
    let first = tell(s.as_mut(), at(3100), 300, &told, Some(&drops));
    assert_near(first, 3.0 / 225.0);
    for n in 301..=3000 {
        send(s.as_mut(), at(10 * n), n);
    }
    // One long interval more; what begins at 201 lasted long too, and counts all of its packets.
    let told = [
        (2698, 2, 2700),
        (98, 2, 100),
        (10, 10, 20),
        (119, 2, 121),
        (59, 0, 50),
    ];
    let drops = [1, 2, 5, 2, 0];
    let p = tell(s.as_mut(), at(30_100), 3000, &told, Some(&drops));
    // 5348-5.5-1: 2700 packets leave the closed intervals, 68.75 on average, a quarter of their weight.
    assert_near(p, 1.75 / (2700.0 + 0.25 * 225.0));
}

fn data(now: Instant, seq: u64, ccval: u8) -> Arrival<'static> {
    Arrival {
        ccval,
        payload_len: 100,
        ..arrival(now, seq)
    }
}

/// The intervals with their drops that a receiver reports now, and its Loss Event Rate.
fn feedback_of(r: &mut dyn HcReceiver, now: Instant) -> (Vec<(u32, u32, u32)>, Option<u32>) {
    assert_eq!(r.ack_due(now), AckDue::Now);
    let room = r.ack_options_len(now);
    let mut options = OptionWriter::new(room);
    let fits = r.on_ack(&mut OutgoingAck {
        now,
        seq: Seq::ZERO,
        ack: Seq::ZERO,
        has_data: false,
        options: &mut options,
    });
    assert!(fits);
    let options = Options(options.as_slice());
    let counts = options.iter().filter_map(|o| match o {
        Opt::CcidSpecific { kind: 195, data } => Some(data.len() / 3),
        _ => None,
    });
    let intervals = LossIntervals::of(options).expect("intervals");
    let told: Vec<_> = intervals
        .iter_with_drops()
        .map(|(i, drops)| (i.loss, drops, i.data))
        .collect();
    // 5622-8.7-1: as many counts as intervals.
    assert_eq!(counts.sum::<usize>(), told.len());
    let rate = options.iter().find_map(|o| match o {
        Opt::CcidSpecific { kind, data } => match CcidOpt::decode(4, kind, data) {
            CcidOpt::LossEventRate(inverse) => Some(inverse),
            _ => None,
        },
        _ => None,
    });
    (told, rate)
}

#[test]
fn a_receiver_tells_how_many_packets_were_lost_in_each_interval() {
    // 5622-8.7-1, 5622-8.7-2, 4342-6.1-1: with the losses of the RFC's example, 10, 19–21, 23, 32 and 43.
    let lost = [10, 19, 20, 21, 23, 32, 43];
    let mut r = Ccid4.receiver(&CcConfig {
        rtt: Some(RTT),
        ..config()
    });
    for seq in (0..=44).filter(|seq| !lost.contains(seq)) {
        r.on_packet(&data(at(10 * seq), seq, (seq * 5 / 8 % 16) as u8));
    }
    // The most that CCID 3 needs, and nine counts of drops.
    assert_eq!(r.ack_options_len(at(440)), 96 + 2 + 9 * 3);
    let (told, _) = feedback_of(r.as_mut(), at(440));
    let lossy: Vec<_> = told.iter().map(|&(loss, drops, _)| (loss, drops)).collect();
    assert_eq!(lossy, [(1, 1), (5, 4), (1, 1), (0, 0)]);
}

#[test]
fn a_marked_packet_is_among_the_drops() {
    // 5622-6.1-1: a mark counts as a loss does.
    let mut r = Ccid4.receiver(&config());
    for seq in 0..20 {
        let ecn = if [8, 10].contains(&seq) {
            Ecn::Ce
        } else {
            Ecn::Ect0
        };
        r.on_packet(&Arrival {
            ecn,
            ..data(at(10 * seq), seq, 0)
        });
    }
    let (told, _) = feedback_of(r.as_mut(), at(200));
    assert_eq!(told[0], (3, 2, 12));
}

#[test]
fn a_receiver_knows_short_intervals_by_the_window_counter() {
    // 5622-8.4-1, 4828-3-1: packets 10 and 12 are lost, and 30. The counter stands at `ticks` more before the
    // second event than before the first. The open interval is long: 4 packets per tick.
    let rate = |ticks: u64| {
        let mut r = Ccid4.receiver(&CcConfig {
            rtt: Some(RTT),
            ..config()
        });
        r.on_feature(192, 1);
        for seq in (0..=90).filter(|seq| ![10, 12, 30].contains(seq)) {
            let counter = match seq {
                0..=9 => 0,
                10..=29 => ticks * (seq - 9) / 20,
                _ => ticks + 5 + (seq - 30) / 4,
            };
            r.on_packet(&data(at(10 * seq), seq, (counter % 16) as u8));
        }
        let (told, rate) = feedback_of(r.as_mut(), at(900));
        assert_eq!(told[1], (3, 2, 20));
        let first = f64::from(told[2].2);
        // Open 61, then N or N/K.
        (rate.unwrap_or_default(), first)
    };
    let expect = |length: f64, first: f64| {
        let with_open = f64::midpoint(61.0, length);
        with_open.max(f64::midpoint(length, first)).ceil()
    };
    for (ticks, length) in [(6, 10.0), (8, 10.0), (9, 20.0)] {
        let (inverse, first) = rate(ticks);
        assert_near(f64::from(inverse), expect(length, first));
    }
}

#[test]
fn the_first_interval_is_that_of_the_rate_before() {
    // 5348-6.3.1-1, 5622-5-1: 100 packets/s of 1000 bytes, round trip 100 ms, one lost after a second.
    let mut net = Net::new(
        4,
        &CcConfig {
            rtt: Some(RTT),
            mps: 1444,
            ..config()
        },
    );
    net.delay = ms(50);
    net.fate = Box::new(|n| if n == 120 { Fate::Lost } else { Fate::Arrives });
    net.run(at(1700), |_| ());
    let p = net.sender.snapshot().loss_event_rate.unwrap_or_default();
    let rate = small_packets(false).rate(1000.0, 0.1, p);
    assert!((95_000.0..=105_000.0).contains(&rate), "{rate}");
}

#[test]
fn the_rate_settles_where_the_equation_has_it() {
    // 5622-5-1: every 20th packet is lost, 200 ms: the equation gives 27 packets/s of 1000 bytes.
    let mut net = Net::new(
        4,
        &CcConfig {
            rtt: Some(ms(200)),
            mps: 1444,
            ..config()
        },
    );
    net.delay = ms(100);
    net.fate = Box::new(|n| {
        if n % 20 == 19 {
            Fate::Lost
        } else {
            Fate::Arrives
        }
    });
    net.run(at(60_000), |_| ());
    let before = net.log.len();
    net.run(at(120_000), |_| ());
    let per_s = f64::from(u32::try_from(net.log.len() - before).expect("few")) / 60.0;
    let expected = small_packets(false).rate(1000.0, 0.2, 0.05) / 1000.0;
    assert!((per_s / expected - 1.0).abs() < 0.03, "{per_s} {expected}");
}
