//! A lying receiver: a node beside an honest host that rewrites its acknowledgements.

use core::net::IpAddr;
use core::time::Duration;
use dccp_proto::path::Path;
use dccp_proto::wire::ccid_options::{CcidOpt, LossInterval};
use dccp_proto::wire::options::Elapsed;
use dccp_proto::wire::{
    AckCell, AckState, Datagram, DropBlock, DropCode, Ecn, Kind, Opt, OptionWriter, Options,
    Packet, Payload, build, parse,
};
use dccp_proto::{Instant, Seq};
use dccp_sim::{Context, Departure, FrameId, Node};
use std::collections::VecDeque;

/// The lies of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a receiver can tell several lies at once"
)]
pub(crate) struct Lies {
    /// Its Ack Vectors report everything as received.
    pub(crate) hides_losses: bool,
    /// They report bursts of losses as received, lone losses as lost.
    pub(crate) hides_bursts: bool,
    /// They report everything as received, and Data Dropped says that its host dropped what was lost.
    pub(crate) blames_its_host: bool,
    /// It acknowledges packets before they arrive: as many as arrived in the last round trip.
    pub(crate) is_early: bool,
    /// It sends an acknowledgement for each packet, whatever the Ack Ratio is.
    pub(crate) divides: bool,
    /// It reports marked packets as unmarked.
    pub(crate) hides_marks: bool,
    /// It reports the greatest receive rate (CCID 3, CCID 4).
    pub(crate) inflates_rate: bool,
    /// It reports no loss event (CCID 3, CCID 4).
    pub(crate) hides_events: bool,
    /// Its Elapsed Time leaves a round-trip time of a millisecond.
    pub(crate) shrinks_rtt: bool,
}

/// Passes frames between the hosts, and rewrites acknowledgements of the host with the address `server`.
pub(crate) struct Liar {
    lies: Lies,
    ccid: u8,
    server: IpAddr,
    /// Numbers of the sender's packets that arrived in the last round trip, with their times.
    arrived: VecDeque<Instant>,
    first_data: Option<Seq>,
    last_named: Option<Seq>,
    /// The number of the first acknowledgement, and the honest number of each since then.
    sent: (Option<Seq>, Vec<Seq>),
}

/// Round-trip time of the path.
pub(crate) const RTT: Duration = Duration::from_millis(50);
/// The shortest round-trip time that the liar claims.
const CLAIMED_RTT: Duration = Duration::from_millis(1);
/// Bytes of options in a rewritten acknowledgement at most.
const OPTIONS_MAX: usize = 900;

impl Liar {
    pub(crate) fn new(lies: Lies, ccid: u8, server: IpAddr) -> Self {
        Self {
            lies,
            ccid,
            server,
            arrived: VecDeque::new(),
            first_data: None,
            last_named: None,
            sent: (None, Vec::new()),
        }
    }

    /// A packet of the sender passes: returns the ECN field and the acknowledgement number that the host sees.
    fn read(&mut self, now: Instant, packet: &Packet<'_>, ecn: Ecn) -> (Ecn, Option<Seq>) {
        if packet.packet_type().is_data() {
            self.first_data.get_or_insert(packet.seq);
        }
        self.arrived.push_back(now);
        while self.arrived.front().is_some_and(|&at| now - at > RTT) {
            self.arrived.pop_front();
        }
        let is_hidden = self.lies.hides_marks && ecn == Ecn::Ce;
        let ecn = if is_hidden { Ecn::Ect0 } else { ecn };
        (ecn, packet.ack().map(|ack| self.honest_number(ack)))
    }

    /// The host's own number of a packet that left with the number `ack`.
    fn honest_number(&self, ack: Seq) -> Seq {
        let (Some(first), numbers) = &self.sent else {
            return ack;
        };
        let index = usize::try_from(ack.distance(*first)).ok();
        index.and_then(|i| numbers.get(i).copied()).unwrap_or(ack)
    }

    /// Gives a packet of the host the next number.
    fn number(&mut self, honest: Seq) -> Seq {
        let first = *self.sent.0.get_or_insert(honest);
        self.sent.1.push(honest);
        first.plus(self.sent.1.len() as u64 - 1)
    }

    /// The acknowledgement numbers to send in place of `named`. `states` are those of the honest Ack Vector.
    fn names(&mut self, named: Seq, states: &[AckState]) -> Vec<Seq> {
        let newest = if self.lies.is_early {
            named.plus(self.arrived.len() as u64)
        } else {
            named
        };
        let last = self.last_named.unwrap_or(newest);
        self.last_named = Some(newest);
        let steps = u64::try_from(newest.distance(last)).unwrap_or(0);
        if !self.lies.divides || !(2..=64).contains(&steps) {
            return vec![newest];
        }
        let has_arrived = |&seq: &Seq| {
            let place = usize::try_from(named.distance(seq)).ok();
            let state = place.and_then(|place| states.get(place));
            seq == newest || state.is_none_or(|&s| s == AckState::Received)
        };
        let numbers = (1..=steps).map(|n| last.plus(n));
        numbers.filter(has_arrived).collect()
    }

    /// The options of an acknowledgement that names `ack`, where the honest one named `named`, had those of `from` and
    /// an Ack Vector of `states`.
    fn options(
        &self,
        from: Options<'_>,
        states: &[AckState],
        named: Seq,
        ack: Seq,
    ) -> OptionWriter {
        let mut w = OptionWriter::new(OPTIONS_MAX);
        let push = |w: &mut OptionWriter, opt: &Opt<'_>| w.push(opt).expect("room for an option");
        for opt in from {
            match opt {
                Opt::Padding | Opt::AckVector { .. } => {}
                Opt::DataDropped(_) if self.lies.blames_its_host => {}
                Opt::ElapsedTime(_) if self.lies.shrinks_rtt => {}
                Opt::CcidSpecific { kind, data } if kind >= 192 && self.ccid > 2 => {
                    self.ccid_option(&CcidOpt::decode(self.ccid, kind, data), ack, &mut w);
                }
                _ => push(&mut w, &opt),
            }
        }
        if self.lies.shrinks_rtt {
            let elapsed = Elapsed::from_duration(RTT.saturating_sub(CLAIMED_RTT));
            push(&mut w, &Opt::ElapsedTime(elapsed));
        }
        if !states.is_empty() {
            let (vector, drops) = self.vector(states, ack.distance(named));
            for cells in vector.chunks(250) {
                let nonce = false;
                push(&mut w, &Opt::AckVector { nonce, cells });
            }
            for blocks in drops.chunks(250) {
                push(&mut w, &Opt::DataDropped(blocks));
            }
        }
        w
    }

    /// The lying form of an Ack Vector that is `ahead` of the honest one, and Data Dropped blocks for it.
    fn vector(&self, states: &[AckState], ahead: i64) -> (Vec<u8>, Vec<u8>) {
        let mut lies = vec![AckState::Received; usize::try_from(ahead).unwrap_or(0)];
        // An acknowledgement of an older packet begins there.
        let skipped = usize::try_from(-ahead).unwrap_or(0).min(states.len());
        lies.extend_from_slice(&states[skipped..]);
        let mut drops = Vec::new();
        if self.lies.blames_its_host && lies.contains(&AckState::NotReceived) {
            let was_lost = lies.iter().map(|&s| s == AckState::NotReceived);
            drops.extend(runs(was_lost, 16).map(|(is_lost, len)| {
                let code = is_lost.then_some(DropCode::RECEIVE_BUFFER);
                DropBlock { code, len }.to_byte()
            }));
        }
        let cells = runs(lies.into_iter(), AckCell::LEN_MAX).map(|(state, len)| {
            let is_hidden = match state {
                AckState::NotReceived => {
                    self.lies.hides_losses
                        || self.lies.blames_its_host
                        || self.lies.hides_bursts && len > 1
                }
                AckState::Marked => self.lies.hides_marks,
                _ => false,
            };
            let state = if is_hidden { AckState::Received } else { state };
            AckCell { state, len }.to_byte()
        });
        (cells.collect(), drops)
    }

    /// Writes an option of CCID 3 or 4.
    fn ccid_option(&self, opt: &CcidOpt<'_>, ack: Seq, w: &mut OptionWriter) {
        let hides = self.lies.hides_events;
        let lossless = self.first_data.map_or(1, |first| ack.distance(first) + 1);
        let lossless = u32::try_from(lossless.max(1)).unwrap_or(u32::MAX);
        let clean = LossInterval {
            lossless,
            data: lossless,
            ..LossInterval::default()
        };
        let clean = [clean.to_bytes()];
        let lie = match *opt {
            CcidOpt::ReceiveRate(_) if self.lies.inflates_rate => CcidOpt::ReceiveRate(u32::MAX),
            CcidOpt::LossEventRate(_) if hides => CcidOpt::LossEventRate(u32::MAX),
            CcidOpt::LossIntervals { .. } if hides => CcidOpt::LossIntervals {
                skip: 0,
                intervals: &clean,
            },
            CcidOpt::DroppedPackets(_) if hides => CcidOpt::DroppedPackets(&[[0; 3]]),
            opt => opt,
        };
        lie.push(w).expect("room for an option");
    }

    /// Sends lies in place of a packet of the host.
    fn rewrite(&mut self, context: &mut Context<'_>, path: Path, ecn: Ecn, packet: &Packet<'_>) {
        let Kind::Ack { ack: named } = packet.kind else {
            let seq = self.number(packet.seq);
            let packet = Packet { seq, ..*packet };
            return send(context, path, ecn, &packet);
        };
        let states = states(packet.options);
        for ack in self.names(named, &states) {
            let options = self.options(packet.options, &states, named, ack);
            let lie = Packet {
                seq: self.number(packet.seq),
                kind: Kind::Ack { ack },
                options: options.options(),
                ..*packet
            };
            send(context, path, ecn, &lie);
        }
    }
}

/// The states of the packets in all Ack Vectors, newest first.
fn states(options: Options<'_>) -> Vec<AckState> {
    let vectors = options.iter().filter_map(|opt| match opt {
        Opt::AckVector { cells, .. } => Some(cells),
        _ => None,
    });
    let cells = vectors.flatten().map(|&byte| AckCell::from_byte(byte));
    let states = cells.flat_map(|cell| core::iter::repeat_n(cell.state, cell.len.into()));
    states.collect()
}

/// Run lengths, none longer than `most`.
fn runs<T: PartialEq + Copy>(
    items: impl Iterator<Item = T>,
    most: u8,
) -> impl Iterator<Item = (T, u8)> {
    let mut runs: Vec<(T, u8)> = Vec::new();
    for item in items {
        match runs.last_mut() {
            Some((last, len)) if *last == item && *len < most => *len += 1,
            _ => runs.push((item, 1)),
        }
    }
    runs.into_iter()
}

fn send(context: &mut Context<'_>, path: Path, ecn: Ecn, packet: &Packet<'_>) {
    let mut bytes = Vec::new();
    build(&mut bytes, packet, path.checksum_rule()).expect("a packet that can be built");
    let zeros = match packet.payload {
        Payload::Zeros(n) => n,
        Payload::Bytes(_) => 0,
    };
    let datagram = Datagram {
        bytes: &bytes,
        zeros,
    };
    context.send(&Departure {
        path,
        ecn,
        may_fragment: false,
        datagram,
    });
}

impl Node for Liar {
    fn on_frame(&mut self, context: &mut Context<'_>, id: FrameId) {
        let frame = context.frame(id).clone();
        let rule = frame.path.checksum_rule();
        let Ok(packet) = parse(&frame.datagram(), rule) else {
            return context.pass_on(id);
        };
        context.deliver(id);
        if frame.path.local == self.server {
            self.rewrite(context, frame.path, frame.ecn, &packet);
        } else {
            let (ecn, ack) = self.read(context.now(), &packet, frame.ecn);
            let mut packet = packet;
            if let Some(ack) = ack {
                packet.kind = packet.kind.with_ack(ack);
            }
            send(context, frame.path, ecn, &packet);
        }
    }
}
