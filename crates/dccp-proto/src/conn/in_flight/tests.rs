use super::*;
use crate::cc::{Count, Drops};
use crate::time::Rate;
use Fate::{Acked, AckedCe, Lost, RxDropped, Sent};

mod model;
mod reports;
mod timing;

/// A sender whose packets have numbers from 1000 on; packet `i` is sent at `i` ms and its slot is
/// `i`.
struct Flow {
    flight: InFlight,
    iss: u64,
    sent: u64,
    fates: Vec<(u32, Fate)>,
}

/// The packet number of [`Flow::ack`]'s acknowledgements: who carries them does not matter here.
const ACK_SEQ: Seq = Seq::new(77);

const LEN: usize = 100;

fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

impl Flow {
    /// Expects vectors; has sent `kinds`: `d` for data, `.` for none.
    fn new(kinds: &str) -> Self {
        Self::starting_at(1000, kinds)
    }

    fn starting_at(iss: u64, kinds: &str) -> Self {
        let mut flow = Self {
            flight: InFlight::new(Seq::new(iss)),
            iss,
            sent: 0,
            fates: Vec::new(),
        };
        flow.flight.expect_vectors(true);
        flow.send(kinds);
        flow
    }

    fn send(&mut self, kinds: &str) {
        for kind in kinds.chars() {
            self.send_one(ms(self.sent), kind == 'd', LEN);
        }
    }

    /// Counts a number as sent, with no packet. Returns it.
    fn withhold(&mut self) -> Seq {
        let seq = self.seq(self.sent);
        let packet = SentPacket {
            now: ms(self.sent),
            seq,
            ccval: 0,
            has_vector: false,
            data: None,
        };
        let record = self.flight.record(&packet).withheld();
        self.flight.push(record, &mut |_, _| ());
        self.sent += 1;
        seq
    }

    fn send_one(&mut self, now: Instant, is_data: bool, len: usize) {
        let slot = Slot(u32::try_from(self.sent).unwrap());
        let packet = SentPacket {
            now,
            seq: self.seq(self.sent),
            ccval: (self.sent % 16) as u8,
            has_vector: !is_data,
            data: is_data.then_some(SentData { slot, len }),
        };
        let fates = &mut self.fates;
        let record = self.flight.record(&packet);
        self.flight
            .push(record, &mut |slot, fate| fates.push((slot.0, fate)));
        self.sent += 1;
    }

    fn seq(&self, i: u64) -> Seq {
        Seq::new(self.iss).plus(i)
    }

    fn index(&self, seq: Seq) -> u64 {
        seq.steps_from(Seq::new(self.iss))
    }

    /// The peer acknowledges packet `i` at `now`.
    fn ack_at(
        &mut self,
        now: Instant,
        i: u64,
        elapsed: Option<Duration>,
        options: &[u8],
    ) -> Feedback<'static> {
        let ack = Ack {
            seq: ACK_SEQ,
            names: self.seq(i),
            elapsed,
            is_prompt: false,
            slow_receiver: false,
            acks_lost: 0,
            options: Options(options.to_vec().leak()),
        };
        let fates = &mut self.fates;
        self.flight
            .on_ack(now, &ack, &mut |slot, fate| fates.push((slot.0, fate)))
            .unwrap()
    }

    /// The peer acknowledges packet `i`, a second after the start, with these options.
    fn ack(&mut self, i: u64, options: &[u8]) -> Feedback<'static> {
        self.ack_at(ms(1000), i, None, options)
    }

    fn close(&mut self) {
        let fates = &mut self.fates;
        self.flight
            .on_close(&mut |slot, fate| fates.push((slot.0, fate)));
    }

    fn take_fates(&mut self) -> Vec<(u32, Fate)> {
        self.fates.sort_by_key(|&(slot, _)| slot);
        core::mem::take(&mut self.fates)
    }
}

/// An Ack Vector with one cell per character, newest first: a state digit.
fn vector(states: &str) -> Vec<u8> {
    let cells: Vec<u8> = states.bytes().map(|s| (s - b'0') << 6).collect();
    option(38, &cells)
}

fn option(kind: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, u8::try_from(data.len() + 2).unwrap()];
    bytes.extend_from_slice(data);
    bytes
}

fn packets(n: u32) -> Count {
    Count {
        packets: n,
        bytes: u64::from(n) * LEN as u64,
    }
}

#[test]
fn each_received_data_packet_leaves_the_pipe_once() {
    // 4341-5-1, 4341-5-2, 4341-5-4
    let mut flow = Flow::new("d.dd");
    assert_eq!((flow.flight.pipe(), flow.flight.pipe_bytes()), (3, 300));
    let options = vector("0100");
    let fb = flow.ack(3, &options);
    assert_eq!(
        (fb.acked, fb.marked, fb.lost),
        (packets(2), packets(1), packets(0))
    );
    assert_eq!((fb.pipe, fb.pipe_max), (0, 3));
    assert_eq!(flow.take_fates(), [(0, Acked), (2, AckedCe), (3, Acked)]);

    let again = flow.ack(3, &options);
    assert_eq!(
        (again.acked, again.marked, again.pipe),
        (packets(0), packets(0), 0)
    );
    assert_eq!(flow.flight.pipe_bytes(), 0);
    assert_eq!(flow.take_fates(), []);
}

#[test]
fn three_later_packets_make_a_loss_even_without_data() {
    // 4341-5-3: packet 0 is missing, and 1, 2, 3 carry no data.
    let mut flow = Flow::new("d...");
    let fb = flow.ack(2, &vector("003"));
    assert_eq!((fb.lost.packets, fb.pipe, fb.congestion), (0, 1, None));
    let fb = flow.ack(3, &vector("0003"));
    assert_eq!((fb.lost, fb.pipe), (packets(1), 0));
    assert_eq!(fb.congestion, Some(flow.seq(0)));
    assert_eq!(flow.take_fates(), [(0, Lost)]);
}

#[test]
fn the_newest_of_several_losses_dates_the_congestion() {
    let mut flow = Flow::new("ddddddd.");
    let fb = flow.ack(7, &vector("01030330"));
    assert_eq!(
        (fb.lost, fb.marked, fb.acked),
        (packets(3), packets(1), packets(3))
    );
    assert_eq!(fb.congestion.map(|s| flow.index(s)), Some(6));
    let mut flow = Flow::new("dddddd");
    let fb = flow.ack(5, &vector("000330"));
    assert_eq!(fb.congestion.map(|s| flow.index(s)), Some(2));
}

#[test]
fn a_packet_without_data_is_neither_lost_nor_acked() {
    // 4341-5-4
    let mut flow = Flow::new(".ddd");
    let fb = flow.ack(3, &vector("0003"));
    assert_eq!(
        (fb.lost.packets, fb.acked.packets, fb.congestion),
        (0, 3, None)
    );
}

#[test]
fn a_late_packet_keeps_the_fate_of_a_lost_one_and_counts_as_spurious() {
    // 4341-5-4
    let mut flow = Flow::new("ddddd");
    assert_eq!(flow.ack(3, &vector("0003")).lost.packets, 1);
    let fb = flow.ack(4, &vector("00000"));
    assert_eq!((fb.acked.packets, fb.pipe), (1, 0));
    assert_eq!(flow.flight.oddities().spurious_losses, 1);
    flow.close();
    assert_eq!(
        flow.take_fates(),
        [(0, Lost), (1, Acked), (2, Acked), (3, Acked), (4, Acked)]
    );
}

#[test]
fn a_timeout_empties_the_pipe_but_not_the_fates() {
    // 4341-5-2: what the timeout took out of the pipe is not taken out again.
    let mut flow = Flow::new("dddd");
    flow.flight.on_timeout();
    assert_eq!((flow.flight.pipe(), flow.flight.pipe_bytes()), (0, 0));
    assert_eq!(flow.take_fates(), []);
    flow.send("dd");
    let fb = flow.ack(4, &vector("00003"));
    assert_eq!((fb.acked, fb.lost, fb.pipe), (packets(4), packets(1), 1));
    assert_eq!(fb.pipe_max, 4, "of the time since the last acknowledgement");
    let fb = flow.ack(5, &vector("0"));
    assert_eq!((fb.pipe, fb.pipe_max), (0, 1));
    assert_eq!(
        flow.take_fates(),
        [
            (0, Lost),
            (1, Acked),
            (2, Acked),
            (3, Acked),
            (4, Acked),
            (5, Acked)
        ]
    );
}

#[test]
fn a_timeout_leaves_what_is_decided() {
    let mut flow = Flow::new("ddddd");
    flow.ack(3, &vector("0003"));
    flow.flight.on_timeout();
    let fb = flow.ack(4, &vector("00003"));
    assert_eq!((fb.acked.packets, fb.lost.packets), (1, 0));
}

#[test]
fn unreported_packets_are_reported_as_sent_at_the_end() {
    let mut flow = Flow::new("d.dd");
    flow.ack(2, &vector("0"));
    flow.close();
    flow.close();
    assert_eq!(flow.take_fates(), [(0, Sent), (2, Acked), (3, Sent)]);
    assert_eq!(flow.flight.pipe(), 0);
}

#[test]
fn numbers_wrap_at_2_to_48() {
    let mut flow = Flow::starting_at((1 << 48) - 2, "ddddd");
    let fb = flow.ack(4, &vector("00301"));
    assert_eq!(fb.gss, Seq::new(2));
    assert_eq!(fb.ack, Seq::new(2));
    assert_eq!(fb.congestion, Some(Seq::new((1 << 48) - 2)));
    assert_eq!((fb.acked.packets, fb.marked.packets, fb.pipe), (3, 1, 1));
}

#[test]
fn acknowledgement_of_an_unsent_packet_is_ignored() {
    let mut flow = Flow::new("dd");
    for names in [flow.seq(2), Seq::new(999), Seq::new(1000 + (1 << 47))] {
        let ack = Ack {
            seq: ACK_SEQ,
            names,
            elapsed: None,
            is_prompt: false,
            slow_receiver: false,
            acks_lost: 0,
            options: Options::EMPTY,
        };
        assert_eq!(flow.flight.on_ack(ms(9), &ack, &mut |_, _| panic!()), None);
    }
    assert_eq!(flow.flight.pipe(), 2);
}

#[test]
fn feedback_passes_on_what_the_acknowledgement_says() {
    let mut flow = Flow::new("dd.");
    let options = [2, 194, 6, 0, 0, 1, 0];
    let ack = Ack {
        seq: Seq::new(5),
        names: flow.seq(1),
        elapsed: Some(Duration::from_millis(3)),
        is_prompt: false,
        slow_receiver: true,
        acks_lost: 4,
        options: Options(&options),
    };
    let fb = flow.flight.on_ack(ms(9), &ack, &mut |_, _| {}).unwrap();
    assert_eq!(
        (fb.seq, fb.ack, fb.gss),
        (Seq::new(5), flow.seq(1), flow.seq(2))
    );
    assert_eq!((fb.slow_receiver, fb.acks_lost), (true, 4));
    assert_eq!((fb.options.0, fb.elapsed), (&options[..], ack.elapsed));
    assert_eq!((fb.ack_sent_at, fb.ack_ccval), (Some(ms(1)), Some(1)));
    let fb = flow.ack(2, &[]);
    assert_eq!((fb.ack_sent_at, fb.ack_ccval), (Some(ms(2)), None));
}

#[test]
fn the_newest_acknowledged_packet_with_a_vector_is_known() {
    // 4340-A-1
    let mut flow = Flow::new("..d.d");
    assert_eq!(flow.flight.take_acked_vector(), None);
    flow.ack(2, &vector("000"));
    assert_eq!(flow.flight.take_acked_vector(), Some(flow.seq(1)));
    assert_eq!(flow.flight.take_acked_vector(), None);
    flow.ack(4, &vector("03000"));
    assert_eq!(flow.flight.take_acked_vector(), None);
    flow.ack(4, &vector("00000"));
    assert_eq!(flow.flight.take_acked_vector(), Some(flow.seq(3)));
}

#[test]
fn too_many_records_push_out_the_oldest() {
    let mut flow = Flow::new("");
    for _ in 0..IN_FLIGHT_PACKETS {
        flow.send_one(ms(0), true, 1);
    }
    assert_eq!(flow.take_fates(), []);
    flow.send_one(ms(0), true, 1);
    assert_eq!(flow.take_fates(), [(0, Sent)]);
    assert_eq!(flow.flight.pipe() as usize, IN_FLIGHT_PACKETS);
    assert_eq!(flow.flight.oddities().forgotten, 1);
    // 4340-11.4.1-3: what is forgotten is ignored.
    let fb = flow.ack(0, &vector("0"));
    assert_eq!((fb.acked.packets, fb.rtt, fb.ack_sent_at), (0, None, None));
    let fb = flow.ack(1, &vector("00"));
    assert_eq!(fb.acked.packets, 1);
    assert_eq!(flow.take_fates(), [(1, Acked)]);
}

#[test]
fn time_to_next_needs_both_packets() {
    // 4340-12.3-5
    let flow = Flow::new("d.d");
    assert_eq!(
        flow.flight.time_to_next(flow.seq(0)),
        Some(Duration::from_millis(1))
    );
    assert_eq!(
        flow.flight.time_to_next(flow.seq(1)),
        Some(Duration::from_millis(1))
    );
    assert_eq!(flow.flight.time_to_next(flow.seq(2)), None);
    assert_eq!(flow.flight.time_to_next(flow.seq(3)), None);
}
