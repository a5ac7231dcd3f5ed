//! The sender's cost of an acknowledgement, by the number of packets in flight and their losses.

use super::figures_of;
use super::pair::{Exchange, Pair, UDP};
use super::timer::{Stopwatch, repeat_for};
use crate::run::outcome::Figures;
use core::convert::Infallible;
use core::time::Duration;
use dccp_proto::cc::law::{Ack, Congestion, Law, LawSettings, Window};
use dccp_proto::number::to_f64;
use dccp_proto::{Config, Instant};
use dccp_sim::Seed;

/// Bytes of data of a packet: as few as possible, because data are not measured.
const SIZE: usize = 8;
/// Turns between two readings of the real time.
const TURNS: u64 = 20;

/// Measures after all windows are full.
pub(super) fn measure(
    window: u64,
    loss: f64,
    seed: u64,
    time: Duration,
) -> Result<Figures, String> {
    let cwnd = u32::try_from(4 * window).unwrap_or(u32::MAX);
    let mut pair = Pair::new(Exchange {
        size: SIZE,
        window,
        loss: (loss > 0.0).then(|| (loss, Seed(seed).stream("losses"))),
        encap: UDP,
        config: Config {
            law: Steady(cwnd).into(),
            ack_ratio: Some(2),
            sequence_window: 10 * window.max(100),
            audit: false,
            ..Config::default()
        },
    })?;
    pair.warm_up(3 * window)?;
    let (mut acks, mut packets) = (0, 0);
    let (mut taking, mut sending) = (Duration::ZERO, Duration::ZERO);
    let mut watch = Stopwatch::new();
    let turns = || {
        for _ in 0..TURNS {
            watch.lap();
            acks += pair.take_acks();
            taking += watch.lap();
            packets += pair.send();
            sending += watch.lap();
            pair.receive();
        }
        Ok::<(), Infallible>(())
    };
    match repeat_for(time, turns) {
        Ok(()) if acks == 0 => return Err("no acknowledgement arrives".into()),
        Ok(()) => {}
    }
    let (taking, sending) = (taking.as_secs_f64(), sending.as_secs_f64());
    Ok(Figures {
        cost_share: Some(taking / (taking + sending)),
        packet_cost_ns: Some((taking + sending) / to_f64(packets) * 1e9),
        ..figures_of(acks, taking)
    })
}

/// A window that nothing changes, because the application limits what is in flight.
#[derive(Clone, Copy, Debug)]
struct Steady(u32);

impl Steady {
    fn set(self, window: &mut Window) {
        window.cwnd = f64::from(self.0);
        window.ssthresh = window.cwnd;
    }
}

impl LawSettings for Steady {
    fn name(&self) -> &'static str {
        "steady"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(*self)
    }
}

impl Law for Steady {
    fn name(&self) -> &'static str {
        "steady"
    }

    fn on_start(&mut self, window: &mut Window) {
        self.set(window);
    }

    fn on_ack(&mut self, window: &mut Window, _: &Ack) {
        self.set(window);
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        self.set(window);
    }

    fn on_timeout(&mut self, window: &mut Window, _: Instant) {
        self.set(window);
    }
}
