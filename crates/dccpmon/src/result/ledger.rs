//! Where each datagram went. The sum is exact: what left is what was delivered, plus what was lost
//! at each place, plus what cannot be placed.

use crate::schema::Ledger;
use crate::wire::figures::{RxTotal, TxTotal};

/// The ledger of one flow. `kernel_drops` are the packets of this flow that the peer's kernel dropped; `None` if it
/// does not count them.
///
/// The counters of each place say where datagrams were dropped. The network lost the rest, if both ends
/// reported and both hosts count their drops.
pub(crate) fn of_flow(
    tx: Option<&TxTotal>,
    rx: Option<&RxTotal>,
    kernel_drops: Option<u64>,
) -> Ledger {
    let heard = TxTotal {
        // The numbers on the datagrams tell how many have left at least.
        offered: rx.map_or(0, |r| r.passed),
        left: rx.map_or(0, |r| r.passed),
        ..TxTotal::default()
    };
    let is_silent = tx.is_none();
    let tx = tx.unwrap_or(&heard);
    let mut ledger = Ledger {
        offered: tx.offered,
        dropped_app: tx.refused,
        dropped_ring: tx.dropped_queue,
        sent: tx.left,
        ..Ledger::default()
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
    ledger.lost_receiver_app = place(rx.unread);
    ledger.lost_receiver_socket = place(rx.dropped_socket);
    ledger.lost_receiver_socket += place(kernel_drops.unwrap_or(0));
    ledger.lost_sender_queue = place(tx.dropped_host);
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
        let ledger = of_flow(Some(&sender), Some(&rx), Some(20));
        assert!(ledger.is_closed());
        assert_eq!(
            ledger,
            Ledger {
                offered: 1005,
                dropped_app: 2,
                dropped_ring: 3,
                sent: 1000,
                lost_sender_queue: 4,
                lost_network: 65,
                lost_receiver_socket: 30,
                lost_receiver_app: 1,
                delivered: 900,
                ..Ledger::default()
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
        let ledger = of_flow(Some(&tx(1000)), Some(&rx), Some(500));
        assert!(ledger.is_closed());
        assert_eq!((ledger.lost_receiver_socket, ledger.lost_network), (1, 0));
    }

    #[test]
    fn what_nobody_can_place_is_unknown() {
        let rx = RxTotal {
            delivered: 990,
            ..RxTotal::default()
        };
        let silent_kernel = of_flow(Some(&tx(1000)), Some(&rx), None);
        assert_eq!((silent_kernel.unknown, silent_kernel.lost_network), (10, 0));
        assert!(silent_kernel.is_closed());
        let sender = TxTotal {
            acked: 600,
            marked: 1,
            ..tx(1000)
        };
        let silent_peer = of_flow(Some(&sender), None, None);
        assert_eq!((silent_peer.delivered, silent_peer.unknown), (601, 399));
        assert!(silent_peer.is_closed());
    }

    #[test]
    fn what_the_kernel_dropped_merged_is_not_blamed_on_the_network() {
        let rx = RxTotal {
            delivered: 900,
            is_dropped_kernel_least: true,
            ..RxTotal::default()
        };
        let dropped = of_flow(Some(&tx(1000)), Some(&rx), Some(4));
        assert!(dropped.is_closed());
        assert_eq!((dropped.lost_receiver_socket, dropped.unknown), (4, 96));
        let none = of_flow(Some(&tx(1000)), Some(&rx), Some(0));
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
        let ledger = of_flow(None, Some(&rx), Some(2));
        assert!(ledger.is_closed());
        assert_eq!((ledger.sent, ledger.delivered), (1000, 990));
        assert_eq!((ledger.lost_receiver_socket, ledger.lost_network), (5, 0));
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
