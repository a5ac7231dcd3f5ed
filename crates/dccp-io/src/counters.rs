//! Counters of a transport.

/// Counters of one transport, since it was opened.
///
/// Over IP, `received` are the datagrams given to the caller; what belongs to other programs is in
/// `foreign`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Datagrams that the kernel took.
    pub sent: u64,
    /// Calls to the system for sending.
    pub send_calls: u64,
    /// Calls that carried more than one datagram (GSO, or several in one call over IP).
    pub send_batches: u64,
    /// Times that the socket had no room.
    pub send_blocked: u64,
    /// Datagrams lost because a queue of this host was full.
    pub dropped_queue_full: u64,
    /// Datagrams refused because they were larger than the interface's MTU.
    pub dropped_too_big: u64,
    /// Datagrams refused for any other reason.
    pub dropped_other: u64,
    /// Whether the system refused segmentation offload and it was switched off.
    pub gso_refused: bool,
    /// Datagrams given to the caller.
    pub received: u64,
    /// Calls to the system for receiving that found something.
    pub recv_calls: u64,
    /// Buffers that held more than one datagram (GRO).
    pub recv_merged: u64,
    /// Datagrams that the kernel dropped because the receive buffer was full; `None` where the
    /// system does not tell. Linux also counts bad UDP checksums here, and datagrams that it had
    /// merged (GRO) once only: then it is the least.
    pub recv_overflowed: Option<u64>,
    /// Datagrams that were no whole packet (over IP: a bad IP header).
    pub recv_malformed: u64,
    /// Datagrams of other programs' DCCP ports that were passed over (over IP only).
    pub foreign: u64,
    /// ICMP errors read.
    pub icmp: u64,
    /// Times that reports of ICMP errors were stopped because too many arrived (4340-18-10).
    pub icmp_pauses: u64,
}

impl Counters {
    /// Datagrams that this host refused to send.
    pub fn dropped(&self) -> u64 {
        self.dropped_queue_full + self.dropped_too_big + self.dropped_other
    }

    /// Adds the counters of the transport that this one replaced.
    #[must_use]
    pub fn after(self, earlier: &Self) -> Self {
        let Self {
            sent,
            send_calls,
            send_batches,
            send_blocked,
            dropped_queue_full,
            dropped_too_big,
            dropped_other,
            gso_refused,
            received,
            recv_calls,
            recv_merged,
            recv_overflowed,
            recv_malformed,
            foreign,
            icmp,
            icmp_pauses,
        } = self;
        Self {
            sent: sent + earlier.sent,
            send_calls: send_calls + earlier.send_calls,
            send_batches: send_batches + earlier.send_batches,
            send_blocked: send_blocked + earlier.send_blocked,
            dropped_queue_full: dropped_queue_full + earlier.dropped_queue_full,
            dropped_too_big: dropped_too_big + earlier.dropped_too_big,
            dropped_other: dropped_other + earlier.dropped_other,
            gso_refused: gso_refused || earlier.gso_refused,
            received: received + earlier.received,
            recv_calls: recv_calls + earlier.recv_calls,
            recv_merged: recv_merged + earlier.recv_merged,
            recv_overflowed: match (recv_overflowed, earlier.recv_overflowed) {
                (Some(new), Some(old)) => Some(new + old),
                (known, None) | (None, known) => known,
            },
            recv_malformed: recv_malformed + earlier.recv_malformed,
            foreign: foreign + earlier.foreign,
            icmp: icmp + earlier.icmp,
            icmp_pauses: icmp_pauses + earlier.icmp_pauses,
        }
    }
}

/// Follows a counter of the system that wraps at 2^32.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wrapping {
    last: u32,
    total: u64,
}

#[cfg(target_os = "linux")]
impl Wrapping {
    /// The whole count, after the system's counter stands at `now`.
    pub(crate) fn advance_to(&mut self, now: u32) -> u64 {
        self.total += u64::from(now.wrapping_sub(self.last));
        self.last = now;
        self.total
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn counter_of_32_bits_is_followed_across_its_wrap() {
        let mut counter = Wrapping::default();
        assert_eq!(counter.advance_to(0xffff_fff0), 0xffff_fff0);
        assert_eq!(counter.advance_to(0x10), 0x1_0000_0010);
        assert_eq!(counter.advance_to(0x10), 0x1_0000_0010);
    }
}
