//! Packets that no connection sends: Resets for strangers (RFC 4340 §8.3.1) and Responses with
//! Init Cookies.

use super::{Endpoint, KeyedHash};
use crate::batch::Batch;
use crate::config::bounds;
use crate::limiter::Limiter;
use crate::path::{Encap, Flow, Path};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::{self, Ecn, Kind, Options, Packet, PacketType, Payload, ResetCode};
use core::net::IpAddr;
use std::collections::VecDeque;

impl Endpoint {
    /// Never answers a Reset; limited over all flows together (4340-18-3, 4340-8.1.3-1).
    pub(super) fn answer_with_reset(
        &mut self,
        now: Instant,
        path: &Path,
        packet: &Packet<'_>,
        code: ResetCode,
    ) {
        if matches!(packet.kind, Kind::Reset { .. }) || !self.answers_strangers {
            return;
        }
        if self.stateless.push_reset(now, path, packet, code) {
            let len = wire::header_len(PacketType::Reset, false, 0);
            self.stats.on_stateless_sent(PacketType::Reset, len);
            self.resets.sent.count(code);
        } else {
            self.stats.counters.resets_limited += 1;
        }
    }
}

#[derive(Default)]
pub(super) struct Stateless {
    queue: VecDeque<(Path, Vec<u8>)>,
    resets: Limiter<{ bounds::RESETS_PER_S }>,
}

impl Stateless {
    /// Queues the Reset that answers `packet`. `false` if the rate or the queue is exhausted.
    pub(super) fn push_reset(
        &mut self,
        now: Instant,
        path: &Path,
        packet: &Packet<'_>,
        code: ResetCode,
    ) -> bool {
        if self.queue.len() >= bounds::STATELESS_QUEUE || !self.resets.grant(now) {
            return false;
        }
        let reset = reset_for(packet, code);
        let mut bytes = Vec::new();
        let built = wire::build(&mut bytes, &reset, path.checksum_rule());
        debug_assert!(built.is_ok(), "{built:?}");
        self.push(path, bytes)
    }

    /// Queues a finished packet. `false` if the queue is full.
    pub(super) fn push(&mut self, path: &Path, bytes: Vec<u8>) -> bool {
        if self.queue.len() >= bounds::STATELESS_QUEUE {
            return false;
        }
        self.queue.push_back((*path, bytes));
        true
    }

    /// Puts the oldest packet into an empty batch.
    pub(super) fn poll_transmit(&mut self, batch: &mut Batch) -> bool {
        let Some((path, bytes)) = self.queue.pop_front() else {
            return false;
        };
        batch.push_built(&path, Ecn::NotEct, true, 0, |buf| {
            buf.extend_from_slice(&bytes);
            true
        })
    }
}

/// The Reset for a packet of no connection: its numbers come from the packet (4340-8.3.1-2).
fn reset_for(packet: &Packet<'_>, code: ResetCode) -> Packet<'static> {
    let seq = packet.ack().map_or(Seq::ZERO, Seq::next);
    let seq = if packet.is_short {
        Seq::new(u64::from(seq.low_24()))
    } else {
        seq
    };
    Packet {
        source_port: packet.dest_port,
        dest_port: packet.source_port,
        ccval: 0,
        cscov: 0,
        is_short: false,
        seq,
        kind: Kind::Reset {
            ack: packet.seq,
            code,
            data: [0; 3],
        },
        options: Options::EMPTY,
        payload: Payload::EMPTY,
    }
}

/// A number that the peer cannot guess (4340-12.3-2).
#[expect(clippy::cast_possible_truncation, reason = "64 bits of it are used")]
pub(super) fn audit_seed(hash: &dyn KeyedHash, now: Instant, flow: &Flow) -> u64 {
    hash.hash(&flow_bytes(b"audit", flow)) as u64 ^ now.as_nanos()
}

/// A flow as bytes for a keyed hash; `purpose` keeps the uses of the hash apart.
pub(super) fn flow_bytes(purpose: &[u8], flow: &Flow) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend_from_slice(purpose);
    for address in [flow.path.local, flow.path.remote] {
        match address {
            IpAddr::V4(a) => {
                bytes.push(4);
                bytes.extend_from_slice(&a.octets());
            }
            IpAddr::V6(a) => {
                bytes.push(6);
                bytes.extend_from_slice(&a.octets());
            }
        }
    }
    let (local, remote) = match flow.path.encap {
        Encap::Ip => (0, 0),
        Encap::Udp {
            local_port,
            remote_port,
        } => (local_port, remote_port),
    };
    for port in [local, remote, flow.local_port, flow.remote_port] {
        bytes.extend_from_slice(&port.to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(kind: Kind, seq: u64, is_short: bool) -> Packet<'static> {
        Packet {
            source_port: 7,
            dest_port: 9,
            ccval: 0,
            cscov: 0,
            is_short,
            seq: Seq::new(seq),
            kind,
            options: Options::EMPTY,
            payload: Payload::EMPTY,
        }
    }

    #[test]
    fn a_stateless_reset_takes_its_numbers_from_the_packet() {
        // 4340-8.3.1-2
        let reset = reset_for(&packet(Kind::Data, 77, false), ResetCode::NO_CONNECTION);
        assert_eq!((reset.seq, reset.ack()), (Seq::ZERO, Some(Seq::new(77))));
        assert_eq!((reset.source_port, reset.dest_port), (9, 7));
        let short = packet(
            Kind::Ack {
                ack: Seq::new(0x12_3456),
            },
            0xAB_CDEF,
            true,
        );
        let reset = reset_for(&short, ResetCode::NO_CONNECTION);
        assert_eq!(
            (reset.seq, reset.ack()),
            (Seq::new(0x12_3457), Some(Seq::new(0xAB_CDEF)))
        );
        let short = packet(
            Kind::Ack {
                ack: Seq::new(0xFF_FFFF),
            },
            5,
            true,
        );
        assert_eq!(reset_for(&short, ResetCode::NO_CONNECTION).seq, Seq::ZERO);
        let long = packet(
            Kind::Ack {
                ack: Seq::new((1 << 48) - 1),
            },
            5,
            false,
        );
        assert_eq!(reset_for(&long, ResetCode::NO_CONNECTION).seq, Seq::ZERO);
    }
}
