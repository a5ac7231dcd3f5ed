//! Two ends and what travels between them.

mod agreement;
mod exchange;
mod timing;
mod validity;

use super::receive::Refusal;
use super::{Features, Side};
use crate::cc::registry::Ccids;
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::features::Feature;
use crate::wire::{Opt, OptionWriter, Options, PacketType};
use core::time::Duration;

const CCID: Feature = Feature::CongestionControlId;
const WINDOW: Feature = Feature::SequenceWindow;
const RATIO: Feature = Feature::AckRatio;
const NDP: Feature = Feature::SendNdpCount;
const LOSS_RATE: Feature = Feature::SendLossEventRate;

/// A connection reduced to its negotiation.
pub(super) struct End {
    pub(super) f: Features,
    pub(super) now: Instant,
    pub(super) gss: Seq,
    pub(super) gsr: Seq,
}

/// A packet on its way.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) seq: Seq,
    pub(super) ack: Option<Seq>,
    pub(super) bytes: Vec<u8>,
}

impl End {
    /// A client of `iss` 1000 and a server of 5000 that have received each other's packets.
    pub(super) fn pair() -> (Self, Self) {
        (Self::new(false, 1000, 5000), Self::new(true, 5000, 1000))
    }

    pub(super) fn client() -> Self {
        Self::pair().0
    }

    pub(super) fn server() -> Self {
        Self::pair().1
    }

    fn new(is_server: bool, iss: u64, isr: u64) -> Self {
        let mut f = Features::new(is_server, Seq::new(iss), Ccids::default());
        f.set_isr(Seq::new(isr));
        Self {
            f,
            now: Instant::from_nanos(1_000_000_000),
            gss: Seq::new(iss - 1),
            gsr: Seq::new(isr),
        }
    }

    pub(super) fn wait(&mut self, time: Duration) {
        self.now += time;
    }

    /// Waits for one nanosecond less than `time`.
    pub(super) fn wait_almost(&mut self, time: Duration) {
        self.now = self.now + time - Duration::from_nanos(1);
    }

    pub(super) fn send(&mut self, packet_type: PacketType) -> Sent {
        self.send_within(packet_type, 1008)
    }

    pub(super) fn send_within(&mut self, packet_type: PacketType, limit: usize) -> Sent {
        let mut w = OptionWriter::new(limit);
        self.gss = self.gss.next();
        let ack = packet_type.has_ack().then_some(self.gsr);
        self.f.write(self.now, packet_type, self.gss, ack, &mut w);
        Sent {
            seq: self.gss,
            ack,
            bytes: w.as_slice().to_vec(),
        }
    }

    /// The options of an Ack that leaves now.
    pub(super) fn ack(&mut self) -> Vec<u8> {
        self.send(PacketType::Ack).bytes
    }

    pub(super) fn recv(&mut self, p: &Sent) -> Result<(), Refusal> {
        self.gsr = self.gsr.max(p.seq);
        let mut is_mandatory = false;
        for option in Options(&p.bytes) {
            if option == Opt::Mandatory {
                is_mandatory = true;
                continue;
            }
            self.f.on_option(&option, is_mandatory, p.seq, p.ack)?;
            is_mandatory = false;
        }
        self.f.after_packet(self.gsr, self.gss);
        Ok(())
    }

    /// Receives the next packet of the peer, which acknowledges all that we sent.
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let seq = self.gsr.next();
        self.hear_as(seq, bytes)
    }

    pub(super) fn hear_as(&mut self, seq: Seq, bytes: &[u8]) -> Result<(), Refusal> {
        let p = Sent {
            seq,
            ack: Some(self.gss),
            bytes: bytes.to_vec(),
        };
        self.recv(&p)
    }

    pub(super) fn values(&self, feature: Feature) -> [u64; 2] {
        [
            self.f.value(Side::Local, feature),
            self.f.value(Side::Remote, feature),
        ]
    }

    pub(super) fn changes(&mut self) -> Vec<(Side, Feature, u64)> {
        core::iter::from_fn(|| self.f.poll_changed()).collect()
    }
}
