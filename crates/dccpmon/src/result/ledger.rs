//! Where each datagram went. The sum is exact: what left is what was delivered, plus what was lost
//! at each place, plus what cannot be placed.

use crate::wire::figures::{RxTotal, TxTotal};
use serde::Serialize;

/// The places of a flow's datagrams, in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(crate) struct Ledger {
    /// Datagrams offered to the socket.
    pub(crate) offered: u64,
    /// Refused by the socket.
    pub(crate) lost_app: u64,
    /// Dropped in the send buffer.
    pub(crate) dropped_send_ring: u64,
    /// Datagrams that left.
    pub(crate) sent: u64,
    /// Lost in a queue of the sending host, below DCCP.
    pub(crate) lost_host: u64,
    pub(crate) lost_network: u64,
    /// Lost in the peer's socket: the kernel's buffer or ours was full.
    pub(crate) lost_peer_socket: u64,
    /// Reached the peer's socket and were not read.
    pub(crate) lost_peer_app: u64,
    pub(crate) delivered: u64,
    /// Left, did not arrive, and nothing tells where it went.
    pub(crate) unknown: u64,
}

impl Ledger {
    /// Of one flow. `kernel_drops`: what the peer's kernel dropped of this flow; `None` if it does
    /// not tell.
    ///
    /// The counters of each place say where datagrams were dropped. The network lost the rest, if both ends
    /// reported and both hosts count their drops.
    pub(crate) fn of(
        tx: Option<&TxTotal>,
        rx: Option<&RxTotal>,
        kernel_drops: Option<u64>,
    ) -> Self {
        let heard = TxTotal {
            // The numbers on the datagrams tell how many have left at least.
            offered: rx.map_or(0, |r| r.passed),
            left: rx.map_or(0, |r| r.passed),
            ..TxTotal::default()
        };
        let is_silent = tx.is_none();
        let tx = tx.unwrap_or(&heard);
        let mut ledger = Self {
            offered: tx.offered,
            lost_app: tx.refused,
            dropped_send_ring: tx.dropped_queue,
            sent: tx.left,
            ..Self::default()
        };
        let Some(rx) = rx else {
            // Only the acknowledgements tell something.
            ledger.delivered = (tx.acked + tx.marked).min(tx.left);
            ledger.unknown = tx.left - ledger.delivered;
            return ledger;
        };
        ledger.delivered = rx.delivered.min(tx.left);
        let mut missing = tx.left - ledger.delivered;
        let mut place = |count: u64| {
            let placed = count.min(missing);
            missing -= placed;
            placed
        };
        ledger.lost_peer_app = place(rx.unread);
        ledger.lost_peer_socket = place(rx.dropped_socket);
        ledger.lost_peer_socket += place(kernel_drops.unwrap_or(0));
        ledger.lost_host = place(tx.dropped_host);
        let has_told = match kernel_drops {
            None => false,
            Some(drops) => drops == 0 || !rx.is_dropped_kernel_least,
        };
        if has_told && !is_silent {
            ledger.lost_network = missing;
        } else {
            ledger.unknown = missing;
        }
        ledger
    }

    /// Datagrams that left and were not delivered.
    pub(crate) fn lost(&self) -> u64 {
        self.sent - self.delivered
    }

    /// The ledger of several flows together.
    pub(crate) fn sum<'a>(ledgers: impl Iterator<Item = &'a Self>) -> Self {
        ledgers.fold(Self::default(), |a, b| Self {
            offered: a.offered + b.offered,
            lost_app: a.lost_app + b.lost_app,
            dropped_send_ring: a.dropped_send_ring + b.dropped_send_ring,
            sent: a.sent + b.sent,
            lost_host: a.lost_host + b.lost_host,
            lost_network: a.lost_network + b.lost_network,
            lost_peer_socket: a.lost_peer_socket + b.lost_peer_socket,
            lost_peer_app: a.lost_peer_app + b.lost_peer_app,
            delivered: a.delivered + b.delivered,
            unknown: a.unknown + b.unknown,
        })
    }
}

/// Shares the drops of a kernel buffer that several flows use among them, in proportion to what
/// each misses: the kernel does not tell whose they were. Nothing is lost in the division.
pub(crate) fn share(drops: u64, missing: &[u64]) -> Vec<u64> {
    let total: u64 = missing.iter().sum();
    let drops = drops.min(total);
    let mut given = 0;
    let mut seen = 0;
    missing
        .iter()
        .map(|m| {
            seen += m;
            let upto = if total == 0 {
                0
            } else {
                u64::try_from(u128::from(drops) * u128::from(seen) / u128::from(total))
                    .unwrap_or(u64::MAX)
            };
            let part = upto - given;
            given = upto;
            part
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tx(left: u64) -> TxTotal {
        TxTotal {
            offered: left + 5,
            refused: 2,
            dropped_queue: 3,
            left,
            ..TxTotal::default()
        }
    }

    fn is_exact(l: &Ledger) -> bool {
        l.offered == l.lost_app + l.dropped_send_ring + l.sent
            && l.sent
                == l.delivered
                    + l.lost_host
                    + l.lost_network
                    + l.lost_peer_socket
                    + l.lost_peer_app
                    + l.unknown
    }

    #[test]
    fn every_datagram_has_its_place() {
        let sender = TxTotal {
            dropped_host: 4,
            ..tx(1000)
        };
        let rx = RxTotal {
            delivered: 900,
            dropped_socket: 10,
            unread: 1,
            ..RxTotal::default()
        };
        let ledger = Ledger::of(Some(&sender), Some(&rx), Some(20));
        assert!(is_exact(&ledger));
        assert_eq!(
            ledger,
            Ledger {
                offered: 1005,
                lost_app: 2,
                dropped_send_ring: 3,
                sent: 1000,
                lost_host: 4,
                lost_network: 65,
                lost_peer_socket: 30,
                lost_peer_app: 1,
                delivered: 900,
                unknown: 0,
            }
        );
    }

    #[test]
    fn counters_that_claim_too_much_place_no_more_than_is_missing() {
        // The kernel's buffer is shared: its drops can be another test's.
        let rx = RxTotal {
            delivered: 999,
            ..RxTotal::default()
        };
        let ledger = Ledger::of(Some(&tx(1000)), Some(&rx), Some(500));
        assert!(is_exact(&ledger));
        assert_eq!((ledger.lost_peer_socket, ledger.lost_network), (1, 0));
    }

    #[test]
    fn what_nobody_can_place_is_unknown() {
        let rx = RxTotal {
            delivered: 990,
            ..RxTotal::default()
        };
        let silent_kernel = Ledger::of(Some(&tx(1000)), Some(&rx), None);
        assert_eq!((silent_kernel.unknown, silent_kernel.lost_network), (10, 0));
        assert!(is_exact(&silent_kernel));
        let sender = TxTotal {
            acked: 600,
            marked: 1,
            ..tx(1000)
        };
        let silent_peer = Ledger::of(Some(&sender), None, None);
        assert_eq!((silent_peer.delivered, silent_peer.unknown), (601, 399));
        assert!(is_exact(&silent_peer));
    }

    #[test]
    fn what_the_kernel_dropped_merged_is_not_blamed_on_the_network() {
        let rx = RxTotal {
            delivered: 900,
            is_dropped_kernel_least: true,
            ..RxTotal::default()
        };
        let dropped = Ledger::of(Some(&tx(1000)), Some(&rx), Some(4));
        assert!(is_exact(&dropped));
        assert_eq!((dropped.lost_peer_socket, dropped.unknown), (4, 96));
        let none = Ledger::of(Some(&tx(1000)), Some(&rx), Some(0));
        assert_eq!((none.lost_network, none.unknown), (100, 0));
    }

    #[test]
    fn of_a_silent_sender_the_numbers_tell_how_much_left() {
        let rx = RxTotal {
            delivered: 990,
            passed: 1000,
            dropped_socket: 3,
            ..RxTotal::default()
        };
        let ledger = Ledger::of(None, Some(&rx), Some(2));
        assert!(is_exact(&ledger));
        assert_eq!((ledger.sent, ledger.delivered), (1000, 990));
        assert_eq!((ledger.lost_peer_socket, ledger.lost_network), (5, 0));
        assert_eq!(ledger.unknown, 5);
    }

    #[test]
    fn shared_drops_are_given_out_exactly() {
        assert_eq!(share(10, &[1, 1, 1]), [1, 1, 1]);
        assert_eq!(share(10, &[30, 70]), [3, 7]);
        assert_eq!(share(3, &[1, 1, 1, 1]), [0, 1, 1, 1]);
        assert_eq!(share(5, &[0, 0]), [0, 0]);
    }
}
