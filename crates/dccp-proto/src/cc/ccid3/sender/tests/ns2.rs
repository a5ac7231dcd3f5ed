//! Slow start as ns-2 has it.

use super::*;
use crate::cc::ccid3::rules::Rules;

fn x_inst(s: &Sender) -> f64 {
    let inner = s.snapshot().inner;
    inner.iter().find(|(name, _)| *name == "x_inst").unwrap().1
}

/// A sender with this start, after the first packet and its feedback, which says 0.
fn started(old_start: bool) -> Sender {
    let rules = Rules {
        old_start,
        ..Rules::default()
    };
    let mut s = Sender::new(&CcConfig {
        rtt: Some(RTT),
        tfrc: rules,
        ..config()
    });
    s.on_rtt_hint(START, RTT);
    send_all(&mut s, 0, 1, true);
    let x_recv = 0;
    tell(
        &mut s,
        at(100),
        &Told {
            x_recv,
            ..Told::default()
        },
    );
    s
}

fn told(s: &mut Sender, now: u64, x_recv: u32, change: fn(&mut Feedback<'_>)) {
    send_all(s, now - 100, now, true);
    let data = &[0];
    tell(
        s,
        at(now),
        &Told {
            x_recv,
            data,
            change,
        },
    );
}

#[test]
fn ns2_sender_begins_with_one_packet_per_round_trip() {
    let mut s = Sender::new(&CcConfig {
        rtt: Some(RTT),
        tfrc: "old_start=yes".parse().unwrap(),
        ..config()
    });
    s.on_rtt_hint(START, RTT);
    assert_eq!(s.rtt(), None);
    send(&mut s, START, true);
    assert_near(s.x, 1000.0);
    // One packet of 1000 bytes in 100 ms; four with the RFC's window, and twice that since the handshake.
    assert_near(started(true).x, 10_000.0);
    assert_near(started(false).x, 80_000.0);
}

#[test]
fn the_last_receive_rate_alone_limits_it() {
    for (old_start, second, last) in [(true, 20_000.0, 14_000.0), (false, 160_000.0, 40_000.0)] {
        let mut s = started(old_start);
        told(&mut s, 200, 10_000, |_| {});
        assert_near(s.x, second);
        told(&mut s, 300, 10_000, |_| {});
        told(&mut s, 400, 10_000, |_| {});
        told(&mut s, 500, 7_000, |_| {});
        assert_near(s.x, last);
    }
}

#[test]
fn nothing_damps_it_before_the_first_loss() {
    // R_sqmean after 0.1 and 0.4: 0.9 · 0.31623 + 0.1 · 0.63246 = 0.34785, of 0.63246 0.55.
    let slower = |fb: &mut Feedback<'_>| fb.rtt = Some(ms(400));
    for (old_start, damping) in [(true, 1.0), (false, 0.55)] {
        let mut s = started(old_start);
        told(&mut s, 200, 10_000, slower);
        assert_near(x_inst(&s) / s.x, damping);
    }
    let mut s = started(true);
    let (x_recv, data) = (10_000, &[50, 50][..]);
    tell(
        &mut s,
        at(200),
        &Told {
            x_recv,
            data,
            change: slower,
        },
    );
    assert_near(x_inst(&s) / s.x, 0.55);
}
