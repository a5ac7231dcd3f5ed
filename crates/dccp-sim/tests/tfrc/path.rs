//! A path of a rate and a round trip, and a flow that wants all of it.

use core::time::Duration;
use dccp_proto::Rate;
use dccp_proto::number::to_f64;
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::source::App;

/// Bytes of a datagram, and of its packet over IPv4.
const DATA: usize = 1400;
const PACKET: f64 = 1436.0;
/// Packets per round trip to begin with, for datagrams of this size (5348-4.2-1: 4380 bytes).
const INITIAL_WINDOW: f64 = 3.1;

/// A path and its rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) rtt_us: u64,
    pub(crate) mbit_per_s: f64,
}

impl Cell {
    pub(crate) fn packets_per_s(self) -> f64 {
        self.mbit_per_s * 1e6 / 8.0 / PACKET
    }

    /// The capacity of the line in bytes of data per second.
    pub(crate) fn line(self) -> f64 {
        self.packets_per_s() * to_f64(DATA as u64)
    }

    /// The shortest round trip: the path's, and one packet's time on the link.
    pub(crate) fn rtt(self) -> Duration {
        Duration::from_micros(self.rtt_us) + Duration::from_secs_f64(1.0 / self.packets_per_s())
    }

    /// Packets that fill the path.
    pub(crate) fn product(self) -> f64 {
        self.packets_per_s() * self.rtt().as_secs_f64()
    }

    /// How often the rate doubles until the line is full.
    pub(crate) fn doublings(self) -> f64 {
        (self.product() / INITIAL_WINDOW).log2().max(0.0)
    }

    /// The share of the line that can be reported after a loss: Loss Event Rate has 32 bits (RFC 4342 §8.5), and one
    /// loss in 2^32 packets stands for √(1.5 · 2^32) = 80,264 packets per round trip.
    pub(crate) fn most_after_loss(self) -> f64 {
        (80_264.0 / self.product()).min(1.0)
    }

    /// The shortest time over which the receiver's rate can be measured: at least a round trip and 20 packets,
    /// because packets arrive in batches.
    pub(crate) fn span(self) -> Duration {
        let least = Duration::from_secs_f64(20.0 / self.packets_per_s());
        self.rtt().max(least)
    }

    /// A bulk flow over the path, whose queue holds as much as the path, but `queue_least` packets at least.
    pub(crate) fn pair(self, ccid: u8, queue_least: usize) -> Pair {
        self.pair_of(ccid, queue_least, App::bulk(DATA, u64::MAX))
    }

    /// The same with another application.
    pub(crate) fn pair_of(self, ccid: u8, queue_least: usize, app: App) -> Pair {
        let half = Duration::from_nanos(self.rtt_us * 500);
        let mut setup = Setup {
            client: Profile::ours().with_ccid(ccid),
            server: Profile::ours().with_ccid(ccid),
            ..Setup::default().links(|link| link.delay = half)
        };
        setup.there.rate = Some(Rate::from_bytes_per_s(self.mbit_per_s * 1e6 / 8.0));
        let queue = whole(self.product()).max(queue_least);
        setup.there.queue = QueueConfig::drop_tail(Limit::Packets(queue));
        let mut pair = Pair::untraced(setup);
        pair.listen(App::default());
        pair.connect(app);
        pair
    }
}

/// `cargo xtask soak tfrc` asks for all cells, which take minutes.
pub(crate) fn is_soak() -> bool {
    std::env::var_os("SOAK").is_some()
}

/// Runs until the connection is there.
pub(crate) fn open(pair: &mut Pair, cell: Cell) {
    while pair.connections(End::Client) == 0 || pair.report(End::Client).opened.is_none() {
        pair.run_for(cell.rtt() / 4);
    }
}

/// The allowed rate in bytes of data per second.
pub(crate) fn allowed(pair: &Pair) -> f64 {
    let snapshot = pair.world.node(pair.host(End::Client)).snapshot(0);
    snapshot
        .and_then(|s| s.tx.rate)
        .unwrap_or_default()
        .bytes_per_s()
}

#[expect(clippy::cast_precision_loss, reason = "packets of one test")]
pub(crate) fn received_in(pair: &mut Pair, span: Duration) -> f64 {
    let before = pair.report(End::Server).received;
    pair.run_for(span);
    (pair.report(End::Server).received - before) as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "packets of one path"
)]
fn whole(n: f64) -> usize {
    n as usize
}
