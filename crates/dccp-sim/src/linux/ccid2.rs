//! CCID 2 as in Linux 6.1: window sender, and a receiver without a delayed-ack timer.

use core::time::Duration;
use dccp_proto::wire::{AckCell, AckState, Opt, Packet};
use dccp_proto::{Instant, Seq};
use std::collections::VecDeque;

const RTO_FIRST: Duration = Duration::from_secs(3);
const RTO_MIN: Duration = Duration::from_millis(200);
const RTO_MAX: Duration = Duration::from_mins(2);
const DUPLICATES: usize = 3;

/// The sending half.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    cwnd: u32,
    ssthresh: u32,
    pipe: u32,
    /// Data packets from the oldest whose fate is open on.
    sent: VecDeque<Sent>,
    acked_in_round: u32,
    srtt: Option<(Duration, Duration)>,
    rto: Duration,
    timeout: Option<Instant>,
    last_congestion: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: Seq,
    at: Instant,
    acked: bool,
}

impl Sender {
    /// The first window is that of RFC 3390 for this packet size.
    pub(super) fn new(mss: usize) -> Self {
        Self {
            cwnd: u32::try_from(4380 / mss.max(1)).unwrap_or(4).clamp(2, 4),
            ssthresh: u32::MAX,
            pipe: 0,
            sent: VecDeque::new(),
            acked_in_round: 0,
            srtt: None,
            rto: RTO_FIRST,
            timeout: None,
            last_congestion: None,
        }
    }

    pub(super) fn may_send(&self) -> bool {
        self.pipe < self.cwnd
    }

    pub(super) fn cwnd(&self) -> u32 {
        self.cwnd
    }

    pub(super) fn on_send(&mut self, now: Instant, seq: Seq) {
        self.pipe += 1;
        self.sent.push_back(Sent {
            seq,
            at: now,
            acked: false,
        });
        self.timeout.get_or_insert(now + self.rto);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.timeout
    }

    /// All in flight is taken for lost; the window is one packet.
    pub(super) fn on_timeout(&mut self) {
        self.timeout = None;
        self.rto = (self.rto * 2).min(RTO_MAX);
        self.ssthresh = (self.cwnd / 2).max(2);
        self.cwnd = 1;
        self.pipe = 0;
        self.sent.clear();
        self.acked_in_round = 0;
    }

    /// Takes the Ack Vectors of a packet. Returns whether data was acknowledged.
    pub(super) fn on_packet(&mut self, now: Instant, packet: &Packet<'_>) -> bool {
        let Some(mut head) = packet.ack() else {
            return false;
        };
        let mut newly: Option<Instant> = None;
        for option in packet.options {
            let Opt::AckVector { cells, .. } = option else {
                continue;
            };
            for &byte in cells {
                let cell = AckCell::from_byte(byte);
                let tail = head.minus(u64::from(cell.len) - 1);
                if cell.state != AckState::NotReceived {
                    newly = self.acknowledge(tail, head).or(newly);
                }
                head = tail.minus(1);
            }
        }
        if let Some(sent_at) = newly {
            self.sample(now - sent_at);
        }
        self.find_lost(now);
        if newly.is_some() {
            self.timeout = (self.pipe > 0).then(|| now + self.rto);
        }
        newly.is_some()
    }

    /// Marks packets as received. Returns when the newest of those that were not was sent.
    fn acknowledge(&mut self, from: Seq, to: Seq) -> Option<Instant> {
        let mut newest = None;
        for index in 0..self.sent.len() {
            let sent = &mut self.sent[index];
            if !sent.acked && sent.seq.is_within(from, to) {
                sent.acked = true;
                newest = Some(sent.at);
                self.pipe = self.pipe.saturating_sub(1);
                self.grow();
            }
        }
        newest
    }

    fn grow(&mut self) {
        self.acked_in_round += 1;
        // Two packets make the window one larger in slow start, a window of them later.
        let needed = if self.cwnd < self.ssthresh {
            2
        } else {
            self.cwnd
        };
        if self.acked_in_round >= needed {
            self.acked_in_round = 0;
            self.cwnd += 1;
        }
    }

    /// Whatever has three received packets behind it, and is not received, is lost.
    fn find_lost(&mut self, now: Instant) {
        let mut received = 0;
        let Some(edge) = self.sent.iter().rposition(|s| {
            received += usize::from(s.acked);
            received == DUPLICATES
        }) else {
            return;
        };
        let lost: Vec<Instant> = self
            .sent
            .range(..edge)
            .filter(|s| !s.acked)
            .map(|s| s.at)
            .collect();
        self.sent.drain(..edge);
        for sent_at in lost {
            self.pipe = self.pipe.saturating_sub(1);
            if self.last_congestion.is_none_or(|last| sent_at >= last) {
                self.last_congestion = Some(now);
                self.cwnd = (self.cwnd / 2).max(1);
                self.ssthresh = self.cwnd.max(2);
            }
        }
    }

    fn sample(&mut self, rtt: Duration) {
        let (srtt, var) = match self.srtt {
            None => (rtt, rtt / 2),
            Some((srtt, var)) => {
                let error = srtt.abs_diff(rtt);
                ((srtt * 7 + rtt) / 8, (var * 3 + error) / 4)
            }
        };
        self.srtt = Some((srtt, var));
        self.rto = (srtt + var * 4).clamp(RTO_MIN, RTO_MAX);
    }
}

/// The receiving half: one Ack per Ack Ratio of data packets, and none in between.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Receiver {
    data_packets: u64,
}

impl Receiver {
    /// Returns whether an Ack is due at this Ack Ratio. LINUX-10: no timer helps a lone packet.
    pub(super) fn on_data(&mut self, ack_ratio: u64) -> bool {
        self.data_packets += 1;
        let is_due = self.data_packets >= ack_ratio;
        if is_due {
            self.data_packets = 0;
        }
        is_due
    }
}
