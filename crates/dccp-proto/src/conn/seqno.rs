//! Sequence number variables and validity windows (RFC 4340 §7).
//!
//! - `iss`, `isr`: first sequence number sent, received.
//! - `gss`: greatest sequence number sent.
//! - `gsr`: greatest sequence number received on an acknowledgeable packet.
//! - `gar`: greatest Acknowledgement Number received, except on Syncs.
//! - `osr`: sequence number of the packet that moved this end to OPEN.
//! - SWL, SWH: valid sequence numbers, `gsr` + 1 − ⌊W/4⌋ … `gsr` + ⌈3W/4⌉. W is the peer's
//!   Sequence Window.
//! - AWL, AWH: valid Acknowledgement Numbers, `gss` + 1 − W′ … `gss`. W′ is our own Sequence
//!   Window.

use super::replay::Replay;
use super::stats::DropReason;
use crate::seq::Seq;
use crate::wire::features::Feature;
use crate::wire::{Packet, PacketType};

/// No window reaches further back than this. The initial numbers count until that many packets later,
/// because a Sequence Window may grow at any time, and not for ever, because half of the space later they
/// lie ahead.
const WINDOW_MAX: u64 = Feature::SequenceWindow.info().max;

/// The variables of RFC 4340 §7.1 with both Sequence Windows.
#[derive(Clone, Debug, Hash)]
pub(crate) struct SeqNos {
    pub(crate) iss: Seq,
    pub(crate) isr: Seq,
    pub(crate) gss: Seq,
    pub(crate) gsr: Seq,
    pub(crate) gar: Seq,
    pub(crate) osr: Option<Seq>,
    /// Our Sequence Window feature, W′.
    pub(crate) local_window: u64,
    /// The peer's Sequence Window feature, W.
    pub(crate) remote_window: u64,
    /// The windows may still reach back to the initial numbers (4340-7.5.1-2).
    is_swl_clamped: bool,
    is_awl_clamped: bool,
    replay: Replay,
}

impl SeqNos {
    /// Before the first packet: `iss` is the number that it will have.
    pub(crate) fn new(iss: Seq, local_window: u64, remote_window: u64) -> Self {
        Self {
            iss,
            isr: Seq::ZERO,
            gss: iss.minus(1),
            gsr: Seq::ZERO,
            gar: iss,
            osr: None,
            local_window,
            remote_window,
            is_swl_clamped: true,
            is_awl_clamped: true,
            replay: Replay::default(),
        }
    }

    /// The peer's first packet: step 3 or 4 of §8.5.
    pub(crate) fn start_receiving(&mut self, isr: Seq) {
        self.isr = isr;
        self.gsr = isr;
        self.is_swl_clamped = true;
        self.replay = Replay::new(isr);
    }

    /// Takes the next sequence number (4340-5.1-7, 4340-7-1).
    pub(crate) fn next_to_send(&mut self) -> Seq {
        self.gss = self.gss.next();
        if self.is_awl_clamped && self.gss.steps_from(self.iss) >= WINDOW_MAX {
            self.is_awl_clamped = false;
        }
        self.gss
    }

    /// 4340-7.5.1-1, 4340-7.5.1-2
    pub(crate) fn swl(&self) -> Seq {
        let swl = self.plain_swl();
        if self.is_swl_clamped && swl.is_before(self.isr) {
            self.isr
        } else {
            swl
        }
    }

    /// 4340-7.5.1-1
    pub(crate) fn swh(&self) -> Seq {
        self.gsr.plus((3 * self.remote_window).div_ceil(4))
    }

    /// 4340-7.5.1-1, 4340-7.5.1-2
    pub(crate) fn awl(&self) -> Seq {
        let awl = self.plain_awl();
        if self.is_awl_clamped && awl.is_before(self.iss) {
            self.iss
        } else {
            awl
        }
    }

    /// 4340-7.5.1-1
    pub(crate) fn awh(&self) -> Seq {
        self.gss
    }

    /// Whether `ack` names a packet that the peer may acknowledge.
    pub(crate) fn is_ack_valid(&self, ack: Seq) -> bool {
        self.has_left(self.awl(), ack)
    }

    /// Whether `ack` names a packet from `low` on that has left. While none has, GSS lies before ISS,
    /// and no number is right.
    pub(crate) fn has_left(&self, low: Seq, ack: Seq) -> bool {
        !(self.is_awl_clamped && self.has_not_begun()) && ack.is_within(low, self.awh())
    }

    /// The test of step 5: a Sync or `SyncAck` moves the window forward as far as it likes, unless
    /// the connection is active (4340-7.5.3-2).
    pub(crate) fn is_sync_valid(&self, seq: Seq, ack: Seq, is_active: bool) -> bool {
        let is_seq_valid = if is_active {
            seq.is_within(self.swl(), self.swh())
        } else {
            !seq.is_before(self.swl())
        };
        is_seq_valid && self.is_ack_valid(ack)
    }

    /// The test of step 6 (4340-7.5.3-1, 4340-8.5-6): why the packet is sequence-invalid, if it is.
    /// Its numbers are 48 bits long.
    pub(crate) fn fault(&self, p: &Packet<'_>) -> Option<DropReason> {
        let ends = matches!(
            p.packet_type(),
            PacketType::CloseReq | PacketType::Close | PacketType::Reset
        );
        let next = self.gsr.next();
        let seq_low = || if ends { next } else { self.swl() };
        let ack_low = || if ends { self.gar } else { self.awl() };
        // The next number lies in any window.
        if p.seq != next && !p.seq.is_within(seq_low(), self.swh()) {
            Some(DropReason::SeqnoOutOfWindow)
        } else if p.ack().is_some_and(|ack| !self.has_left(ack_low(), ack)) {
            Some(DropReason::AcknoOutOfWindow)
        } else {
            None
        }
    }

    /// Whether the number lies before GSR, by the peer's window at most.
    pub(crate) fn is_just_behind(&self, seq: Seq) -> bool {
        let behind = self.gsr.distance(seq);
        behind > 0 && behind.unsigned_abs() <= self.remote_window
    }

    /// A valid packet with this number arrived: GSR only grows (4340-8.5-6). Returns whether it is the greatest.
    pub(crate) fn on_received(&mut self, seq: Seq) -> bool {
        let is_greatest = seq.is_after(self.gsr);
        if is_greatest {
            self.gsr = seq;
        }
        if self.is_swl_clamped && self.gsr.steps_from(self.isr) >= WINDOW_MAX {
            self.is_swl_clamped = false;
        }
        is_greatest
    }

    /// The peer has sent nothing after `newest`: GSR returns there (4340-7.5.4-10).
    pub(crate) fn roll_back(&mut self, newest: Seq) {
        self.gsr = newest;
        self.replay.roll_back(newest);
    }

    /// Counts a packet as received. Returns whether it had been before (4340-18-6).
    #[inline]
    pub(crate) fn note_arrival(&mut self, seq: Seq) -> bool {
        self.replay.on_packet(seq, self.remote_window)
    }

    /// A valid packet that is not a Sync acknowledged this number: GAR only grows (4340-8.5-6).
    pub(crate) fn on_acked(&mut self, ack: Seq) {
        self.gar = self.gar.max(ack);
    }

    /// Whether no packet has left.
    fn has_not_begun(&self) -> bool {
        self.gss.next() == self.iss
    }

    fn plain_swl(&self) -> Seq {
        self.gsr.next().minus(self.remote_window / 4)
    }

    fn plain_awl(&self) -> Seq {
        self.gss.next().minus(self.local_window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Kind, Options, Payload};

    fn seqnos(gss: u64, gsr: u64, window: u64) -> SeqNos {
        let mut s = SeqNos::new(Seq::new(gss).minus(1_000_000), window, window);
        s.start_receiving(Seq::new(gsr).minus(1_000_000));
        s.gss = Seq::new(gss).minus(1);
        s.next_to_send();
        s.on_received(Seq::new(gsr));
        s
    }

    fn packet(kind: Kind, seq: u64) -> Packet<'static> {
        Packet {
            source_port: 1,
            dest_port: 2,
            ccval: 0,
            cscov: 0,
            is_short: false,
            seq: Seq::new(seq),
            kind,
            options: Options::EMPTY,
            payload: Payload::EMPTY,
        }
    }

    #[test]
    fn windows_follow_the_formulas() {
        // 4340-7.5.1-1
        let s = seqnos(500, 1000, 100);
        assert_eq!((s.swl().value(), s.swh().value()), (976, 1075));
        assert_eq!((s.awl().value(), s.awh().value()), (401, 500));
        let s = seqnos(500, 1000, 33);
        assert_eq!((s.swl().value(), s.swh().value()), (993, 1025));
    }

    #[test]
    fn nothing_is_acknowledged_before_the_first_packet_has_left() {
        // 4340-7.5.1-1
        let mut s = SeqNos::new(Seq::new(10), 100, 100);
        s.start_receiving(Seq::new(20));
        let close = |n| Kind::Close { ack: Seq::new(n) };
        for ack in [0, 8, 9, 10, 11, 1 << 47] {
            assert!(!s.is_ack_valid(Seq::new(ack)), "{ack}");
            let fault = s.fault(&packet(close(ack), 21));
            assert_eq!(fault, Some(DropReason::AcknoOutOfWindow), "{ack}");
        }
        s.next_to_send();
        assert!(s.is_ack_valid(Seq::new(10)));
        assert!(!s.is_ack_valid(Seq::new(11)));
        assert_eq!(s.fault(&packet(close(10), 21)), None);
    }

    #[test]
    fn windows_start_at_the_initial_numbers_and_forget_them() {
        // 4340-7.5.1-2, 4340-5.1-7, 4340-7-1
        let mut s = SeqNos::new(Seq::new(10), 100, 100);
        s.start_receiving(Seq::new(20));
        assert_eq!(s.next_to_send(), Seq::new(10));
        assert_eq!((s.swl(), s.awl()), (Seq::new(20), Seq::new(10)));
        for _ in 0..99 {
            s.next_to_send();
        }
        assert_eq!(s.awl(), Seq::new(10));
        s.next_to_send();
        assert_eq!(s.awl(), Seq::new(11));
        s.on_received(Seq::new(44));
        assert_eq!(s.swl(), Seq::new(20));
        s.on_received(Seq::new(45));
        assert_eq!(s.swl(), Seq::new(21));
        // A window that grows does not reach below the initial numbers.
        (s.local_window, s.remote_window) = (1000, 1000);
        assert_eq!((s.swl(), s.awl()), (Seq::new(20), Seq::new(10)));
        (s.local_window, s.remote_window) = (100, 100);
        // Half of the space later the initial numbers are ahead again and must not matter.
        for far in [1 << 46, (1 << 47) + 100] {
            s.on_received(Seq::new(20).plus(far));
            s.gss = Seq::new(9).plus(far);
            s.next_to_send();
        }
        assert_eq!(s.swl(), s.gsr.minus(24));
        assert_eq!(s.awl(), s.gss.minus(99));
    }

    #[test]
    fn the_validity_table_holds() {
        // 4340-7.5.3-1, 4340-8.5-6: SWL 976, GSR 1000, SWH 1075; AWL 401, GAR 450, AWH 500.
        let mut s = seqnos(500, 1000, 100);
        s.gar = Seq::new(450);
        let ack = Seq::new;
        for (kind, low) in [
            (Kind::Data, 976),
            (Kind::Ack { ack: ack(401) }, 976),
            (Kind::Close { ack: ack(450) }, 1001),
        ] {
            let fault = |seq| s.fault(&packet(kind, seq));
            assert_eq!(
                fault(low - 1),
                Some(DropReason::SeqnoOutOfWindow),
                "{kind:?}"
            );
            assert_eq!(fault(low), None, "{kind:?}");
            assert_eq!(fault(1075), None, "{kind:?}");
            assert_eq!(fault(1076), Some(DropReason::SeqnoOutOfWindow), "{kind:?}");
        }
        for (kind, valid) in [
            (Kind::DataAck { ack: ack(400) }, false),
            (Kind::DataAck { ack: ack(401) }, true),
            (Kind::Ack { ack: ack(500) }, true),
            (Kind::Ack { ack: ack(501) }, false),
            (Kind::CloseReq { ack: ack(449) }, false),
            (Kind::CloseReq { ack: ack(450) }, true),
            (Kind::Close { ack: ack(500) }, true),
            (Kind::Close { ack: ack(501) }, false),
        ] {
            let fault = (!valid).then_some(DropReason::AcknoOutOfWindow);
            assert_eq!(s.fault(&packet(kind, 1001)), fault, "{kind:?}");
        }
    }

    #[test]
    fn a_sync_may_jump_far_unless_the_connection_is_active() {
        // 4340-7.5.3-2
        let s = seqnos(500, 1000, 100);
        let far = Seq::new(1000).plus(1 << 40);
        assert!(s.is_sync_valid(far, Seq::new(500), false));
        assert!(!s.is_sync_valid(far, Seq::new(500), true));
        assert!(!s.is_sync_valid(far, Seq::new(501), false));
        assert!(s.is_sync_valid(Seq::new(976), Seq::new(401), true));
        assert!(!s.is_sync_valid(Seq::new(975), Seq::new(401), false));
    }

    #[test]
    fn greatest_numbers_only_grow() {
        // 4340-8.5-6
        let mut s = seqnos(500, 1000, 100);
        s.on_received(Seq::new(990));
        assert_eq!(s.gsr, Seq::new(1000));
        s.on_acked(Seq::new(480));
        s.on_acked(Seq::new(470));
        assert_eq!(s.gar, Seq::new(480));
    }
}
