//! A sender that gets hand-made feedback.

mod departure;
mod rate;
mod rfc3448;
mod silence;

use super::*;
use crate::cc::Drops;
use crate::cc::ccid3::equation::Path;
use crate::cc::fixtures::{START, at, config, feedback, is_near, ms, single, us};
use crate::seq::Seq;
use crate::wire::Options;
use crate::wire::ccid_options::{LossInterval, push_loss_intervals};

const RTT: Duration = Duration::from_millis(100);

fn assert_near(value: f64, expected: f64) {
    assert!(is_near(value, expected), "{value} {expected}");
}

/// A sender whose handshake took `RTT`.
fn sender() -> Sender {
    Sender::new(&CcConfig {
        rtt: Some(RTT),
        ..config()
    })
}

/// Sends a packet of 1000 bytes; returns its CCVal.
fn send<V: Variant>(s: &mut Sender<V>, now: Instant, has_more: bool) -> u8 {
    send_size(s, now, has_more, 1000).0
}

fn send_size<V: Variant>(
    s: &mut Sender<V>,
    now: Instant,
    has_more: bool,
    size: usize,
) -> (u8, usize) {
    let mut options = OptionWriter::new(100);
    let expected = s.data_options_len();
    let ccval = s.prepare(now, &mut options);
    s.on_sent(&Run {
        payload_len: size,
        has_more,
        ..single(now, 0)
    });
    assert_eq!(options.len(), expected);
    (ccval, options.len())
}

/// Feedback with a receive rate and the lengths of loss intervals, newest first; the last stands for
/// the one before the first loss.
struct Told<'a> {
    x_recv: u32,
    data: &'a [u32],
    change: fn(&mut Feedback<'_>),
}

impl Default for Told<'_> {
    fn default() -> Self {
        Self {
            x_recv: u32::MAX,
            data: &[0],
            change: |_| {},
        }
    }
}

fn tell<V: Variant>(s: &mut Sender<V>, now: Instant, told: &Told<'_>) {
    let mut w = OptionWriter::new(300);
    CcidOpt::ReceiveRate(told.x_recv).push(&mut w).unwrap();
    let intervals: Vec<_> = told
        .data
        .iter()
        .enumerate()
        .map(|(i, &data)| LossInterval {
            lossless: data,
            nonce: false,
            loss: u32::from(i + 1 < told.data.len()),
            data,
        })
        .collect();
    push_loss_intervals(&mut w, 0, &intervals).unwrap();
    let mut fb = feedback();
    fb.ack = Seq::new(1_000_000);
    fb.rtt = Some(RTT);
    fb.ack_sent_at = Some(now - RTT);
    fb.elapsed = Some(ms(0));
    fb.options = Options(w.as_slice());
    (told.change)(&mut fb);
    s.on_feedback(now, &fb);
}

/// A sender that was never held back sends a packet per millisecond from `from` to `to`.
fn send_all<V: Variant>(s: &mut Sender<V>, from: u64, to: u64, has_more: bool) {
    for t in from..to {
        send(s, at(t), has_more);
    }
}

#[test]
fn rate_without_a_loss_event_is_bounded() {
    // 4340-12.3-3: 100 kB/s until the peer reports a loss event.
    let mut s: Sender = Sender::new(&CcConfig {
        max_rate: Some(Rate::from_bytes_per_s(100_000.0)),
        ..config()
    });
    for round in 0..20 {
        let from = 100 * round;
        send_all(&mut s, from, from + 100, true);
        tell(&mut s, at(from + 100), &Told::default());
    }
    assert_near(s.x, 100_000.0);
    let lossy = Told {
        data: &[1_000_000, 1_000_000],
        ..Told::default()
    };
    tell(&mut s, at(2_100), &lossy);
    assert!(s.x > 100_000.0, "{}", s.x);
}
