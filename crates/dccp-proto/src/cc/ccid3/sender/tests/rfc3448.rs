//! Slow start as RFC 3448 has it.

use super::*;
use crate::cc::ccid3::variant::{Counted, SlowStart};

/// TFRC with the slow start of RFC 3448.
#[derive(Debug, Default)]
struct Rfc3448;

impl Variant for Rfc3448 {
    type Meter = ();
    const CCID: u8 = 3;
    const SPACING: Duration = Duration::ZERO;
    const TELLS_DROPS: bool = false;
    const SLOW_START: SlowStart = SlowStart::Rfc3448;

    fn rate(&self, s: f64, r: f64, p: f64) -> f64 {
        Tfrc.rate(s, r, p)
    }

    fn loss_event_rate(&self, s: f64, r: f64, x: f64) -> f64 {
        Tfrc.loss_event_rate(s, r, x)
    }

    fn length(interval: &Counted) -> f64 {
        Tfrc::length(interval)
    }
}

fn x_inst<V: Variant>(s: &Sender<V>) -> f64 {
    let inner = s.snapshot().inner;
    inner.iter().find(|(name, _)| *name == "x_inst").unwrap().1
}

fn new<V: Variant>() -> Sender<V> {
    let config = CcConfig {
        rtt: Some(RTT),
        ..config()
    };
    let mut s = Sender::new(&config);
    s.on_rtt_hint(START, RTT);
    s
}

/// A sender after the first packet and its feedback, which says 0.
fn started<V: Variant>() -> Sender<V> {
    let mut s = new();
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

fn told<V: Variant>(s: &mut Sender<V>, now: u64, x_recv: u32, change: fn(&mut Feedback<'_>)) {
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
fn it_begins_with_one_packet_per_round_trip_and_knows_none_before_feedback() {
    let mut s = new::<Rfc3448>();
    assert_eq!(s.rtt(), None);
    send(&mut s, START, true);
    assert_near(s.x, 1000.0);
    // One packet of 1000 bytes in 100 ms; four with RFC 5348's window, and twice that since the handshake.
    assert_near(started::<Rfc3448>().x, 10_000.0);
    assert_near(started::<Tfrc>().x, 80_000.0);
}

#[test]
fn the_last_receive_rate_alone_limits_it() {
    fn check<V: Variant>(second: f64, last: f64) {
        let mut s = started::<V>();
        told(&mut s, 200, 10_000, |_| {});
        assert_near(s.x, second);
        told(&mut s, 300, 10_000, |_| {});
        told(&mut s, 400, 10_000, |_| {});
        told(&mut s, 500, 7_000, |_| {});
        assert_near(s.x, last);
    }
    check::<Rfc3448>(20_000.0, 14_000.0);
    check::<Tfrc>(160_000.0, 40_000.0);
}

#[test]
fn nothing_damps_it_before_the_first_loss() {
    fn slower(fb: &mut Feedback<'_>) {
        fb.rtt = Some(ms(400));
    }
    fn check<V: Variant>(damping: f64) {
        let mut s = started::<V>();
        told(&mut s, 200, 10_000, slower);
        assert_near(x_inst(&s) / s.x, damping);
    }
    // R_sqmean after 0.1 and 0.4: 0.9 · 0.31623 + 0.1 · 0.63246 = 0.34785, of 0.63246 0.55.
    check::<Rfc3448>(1.0);
    check::<Tfrc>(0.55);
    let mut s = started::<Rfc3448>();
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
