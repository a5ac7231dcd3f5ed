//! The sender's cost of an acknowledgement, by the number of packets in flight and their losses.

use super::figures_of;
use super::pair::{Exchange, Pair, UDP};
use crate::run::outcome::Figures;
use core::time::Duration;
use dccp_proto::cc::law::{Ack, Congestion, Law, LawSettings, Window};
use dccp_proto::number::to_f64;
use dccp_proto::{Config, Instant};
use dccp_sim::Seed;

/// Bytes of data of a packet: as few as possible, because data are not measured.
const SIZE: usize = 8;
/// The receiver acknowledges two packets at a time, whatever the window: otherwise an acknowledgement would report more
/// packets in some windows than in others.
const ACK_RATIO: u8 = 2;

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
        group: ACK_RATIO.into(),
        encap: UDP,
        config: Config {
            law: Steady(cwnd).into(),
            ack_ratio: Some(ACK_RATIO.into()),
            sequence_window: 10 * window.max(100),
            audit: false,
            ..Config::default()
        },
    })?;
    pair.warm_up(3 * window)?;
    let work = pair.measure(time)?;
    let taking = work.taking.as_secs_f64();
    let all = taking + work.sending.as_secs_f64();
    Ok(Figures {
        cost_share: Some(taking / all),
        packet_cost_ns: Some(all / to_f64(work.packets) * 1e9),
        ..figures_of(work.acks, taking)
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
