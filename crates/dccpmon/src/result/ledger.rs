//! Where each datagram went. The sum is exact: what left is what was delivered, plus what was lost
//! at each place, plus what cannot be placed.

use crate::schema::Ledger;
use crate::wire::figures::{Host, RxTotal, TxTotal};
use dccp::proto::number::to_f64;

/// The test causes the drops that a host counts for all its traffic if it has this share of the packets.
const OURS: f64 = 0.8;

/// A ledger with packets that have no place yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Open {
    ledger: Ledger,
    missing: u64,
    /// Both ends reported, and no counter of this flow was unknown or only a lower bound.
    is_known: bool,
}

/// Places what the counters of one flow show. `kernel_drops` are the packets of this flow that the peer's kernel
/// dropped; `None` if it does not count them.
pub(crate) fn open(tx: Option<&TxTotal>, rx: Option<&RxTotal>, kernel_drops: Option<u64>) -> Open {
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
        dropped_ccid: tx.dropped_ccid,
        sent: tx.left,
        ..Ledger::default()
    };
    let Some(rx) = rx else {
        // Only the acknowledgements tell something.
        let mut missing = tx.left;
        ledger.delivered = take(&mut missing, tx.acked + tx.marked);
        ledger.lost_receiver_socket = take(&mut missing, tx.rx_dropped);
        ledger.in_flight = take(&mut missing, tx.unreported);
        return Open {
            ledger,
            missing,
            is_known: false,
        };
    };
    let mut missing = tx.left;
    ledger.delivered = take(&mut missing, rx.delivered);
    ledger.lost_receiver_app = take(&mut missing, rx.unread);
    ledger.lost_receiver_socket = take(&mut missing, rx.dropped_socket);
    ledger.lost_receiver_socket += take(&mut missing, kernel_drops.unwrap_or(0));
    ledger.lost_sender_queue = take(&mut missing, tx.dropped_host);
    let has_told = match kernel_drops {
        None => false,
        Some(drops) => drops == 0 || !rx.is_dropped_kernel_least,
    };
    Open {
        ledger,
        missing,
        is_known: has_told && !is_silent,
    }
}

/// Moves up to `count` packets to a place.
fn take(missing: &mut u64, count: u64) -> u64 {
    let placed = count.min(*missing);
    *missing -= placed;
    placed
}

/// The drops at one place that a host counts for all its traffic together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counter {
    /// The host has no such counter, or did not report.
    Unread,
    /// Its drops during the test.
    Read {
        dropped: u64,
        /// Most of the traffic was the test's.
        is_ours: bool,
        /// The place merges packets, and counts the loss of a merged packet once.
        is_least: bool,
    },
}

impl Counter {
    /// Of a place that handled `all` packets, `ours` of them of this test.
    fn new(dropped: u64, all: u64, ours: u64) -> Self {
        Self::Read {
            dropped,
            is_ours: to_f64(ours) >= to_f64(all) * OURS,
            is_least: all < ours,
        }
    }

    /// The drops; 0 if they are not known.
    fn dropped(self) -> u64 {
        match self {
            Self::Unread => 0,
            Self::Read { dropped, .. } => dropped,
        }
    }

    /// Without the drops that another counter has too.
    fn without(self, other: Self) -> Self {
        match self {
            Self::Unread => self,
            Self::Read {
                dropped,
                is_ours,
                is_least,
            } => Self::Read {
                dropped: dropped.saturating_sub(other.dropped()),
                is_ours,
                is_least,
            },
        }
    }
}

/// The counters of both hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HostCounters {
    receiver_softnet: Counter,
    receiver_interface: Counter,
    sender_interface: Counter,
    /// Drops that both the receiver's backlog and the sender's interface can have counted, so that their number is not
    /// known.
    twice: u64,
}

/// The packets of a test that hosts handled, of all flows together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handled {
    /// Data that left the sender.
    pub(crate) sent: u64,
    /// Data that the receiver's socket or buffer saw.
    pub(crate) arrived: u64,
    /// Packets of the receiver.
    pub(crate) answers: u64,
}

impl HostCounters {
    /// From the reports of both hosts; `None` for one that did not report.
    ///
    /// The counters of the backlog are those of the whole machine: of all cores and of all network namespaces. So its drops
    /// are the test's only if the test made most of the traffic of the machine. The kernel counts a drop in the backlog
    /// also as a drop of the receiving interface, which therefore keeps the rest.
    ///
    /// An interface counts its drops with packets that no protocol takes, which are no data of a test.
    ///
    /// On one machine the sender's interface is the other end of a virtual cable, and can count the drops in the backlog a
    /// third time, or not: it depends on the devices between them.
    pub(crate) fn new(sender: Option<&Host>, receiver: Option<&Host>, handled: Handled) -> Self {
        let boot_id = |host: Option<&Host>| host?.identity.boot_id.clone();
        let is_one_machine = boot_id(sender).is_some() && boot_id(sender) == boot_id(receiver);
        let answers = if is_one_machine { handled.answers } else { 0 };
        let softnet = |host: &Host| {
            let softnet = host.delta.softnet.as_ref()?;
            let ours = handled.sent + answers;
            let all = softnet.processed.saturating_add(softnet.dropped);
            Some(Counter::new(softnet.dropped, all, ours))
        };
        let receive = |host: &Host| {
            let i = host.delta.interface.as_ref()?;
            // Both directions pass the loopback interface.
            let answers = if i.name == "lo" { answers } else { 0 };
            let ours = handled.arrived + answers;
            // Some drivers count what is dropped behind them as received.
            Some(Counter::new(i.rx_drop + i.rx_fifo, i.rx_packets, ours))
        };
        let send = |host: &Host| {
            let i = host.delta.interface.as_ref()?;
            let dropped = i.tx_drop + i.tx_fifo;
            let all = i.tx_packets.saturating_add(dropped);
            Some(Counter::new(dropped, all, handled.sent))
        };
        let receiver_softnet = receiver.and_then(softnet).unwrap_or(Counter::Unread);
        let receiver_interface = receiver.and_then(receive).unwrap_or(Counter::Unread);
        let sender_interface = sender.and_then(send).unwrap_or(Counter::Unread);
        let twice = if is_one_machine {
            receiver_softnet.dropped().min(sender_interface.dropped())
        } else {
            0
        };
        Self {
            receiver_softnet,
            receiver_interface: receiver_interface.without(receiver_softnet),
            sender_interface: if is_one_machine {
                sender_interface.without(receiver_softnet)
            } else {
                sender_interface
            },
            twice,
        }
    }

    /// Each place with the name of its counter, the most trustworthy first.
    fn places(&self) -> [(Counter, Place, &'static str); 3] {
        let place: [Place; 3] = [
            |ledger| &mut ledger.lost_receiver_softnet,
            |ledger| &mut ledger.lost_receiver_interface,
            |ledger| &mut ledger.lost_sender_interface,
        ];
        [
            (
                self.receiver_softnet,
                place[0],
                "the receiving host's backlog",
            ),
            (
                self.receiver_interface,
                place[1],
                "the receiving host's interface",
            ),
            (
                self.sender_interface,
                place[2],
                "the sending host's interface",
            ),
        ]
    }
}

/// A field of the ledger.
type Place = fn(&mut Ledger) -> &mut u64;

const UNKNOWN: Place = |ledger| &mut ledger.unknown;

/// Ledgers without open packets, and notes on drops that may be the test's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Closed {
    pub(crate) ledgers: Vec<Ledger>,
    pub(crate) notes: Vec<String>,
}

/// Places the rest by the counters of the hosts. The network lost what no host dropped, if all counters are known.
pub(crate) fn close(mut flows: Vec<Open>, hosts: &HostCounters) -> Closed {
    let mut notes = Vec::new();
    let mut is_known = true;
    for (counter, place, name) in hosts.places() {
        match counter {
            Counter::Unread => is_known = false,
            Counter::Read { dropped: 0, .. } => {}
            Counter::Read {
                dropped,
                is_ours,
                is_least,
            } => {
                let missing: Vec<u64> = flows.iter().map(|flow| flow.missing).collect();
                if missing.iter().all(|missing| *missing == 0) {
                    continue;
                }
                is_known &= !(is_least && is_ours);
                if !is_ours {
                    notes.push(format!(
                        "{dropped} packets of all traffic dropped in {name}"
                    ));
                }
                for (flow, part) in flows.iter_mut().zip(share(dropped, &missing)) {
                    let place = if is_ours { place } else { UNKNOWN };
                    *place(&mut flow.ledger) += take(&mut flow.missing, part);
                }
            }
        }
    }
    let missing: Vec<u64> = flows.iter().map(|flow| flow.missing).collect();
    for (flow, part) in flows.iter_mut().zip(share(hosts.twice, &missing)) {
        flow.ledger.unknown += take(&mut flow.missing, part);
    }
    let ledgers = flows.into_iter().map(|flow| {
        let mut ledger = flow.ledger;
        if is_known && flow.is_known {
            ledger.lost_network = flow.missing;
        } else {
            ledger.unknown += flow.missing;
        }
        debug_assert!(ledger.is_closed(), "{ledger:?}");
        ledger
    });
    Closed {
        ledgers: ledgers.collect(),
        notes,
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
    use dccp_host::{Delta, Identity, Interface, Softnet};

    /// The ledger of a flow between two hosts that dropped nothing else.
    fn of_flow(tx: Option<&TxTotal>, rx: Option<&RxTotal>, kernel_drops: Option<u64>) -> Ledger {
        let none = Counter::new(0, 0, 0);
        let hosts = HostCounters {
            receiver_softnet: none,
            receiver_interface: none,
            sender_interface: none,
            twice: 0,
        };
        close(vec![open(tx, rx, kernel_drops)], &hosts).ledgers[0]
    }

    /// A host that handled a thousand packets, and dropped some at each place.
    fn host(boot_id: &str, softnet: u64, receive: u64, send: u64) -> Host {
        Host {
            identity: Identity {
                boot_id: Some(boot_id.into()),
                ..Identity::default()
            },
            delta: Delta {
                softnet: Some(Softnet {
                    processed: 1000,
                    dropped: softnet,
                    time_squeeze: 0,
                }),
                interface: Some(Interface {
                    rx_packets: 1000,
                    tx_packets: 1000,
                    rx_drop: receive,
                    tx_fifo: send,
                    ..Interface::default()
                }),
                ..Delta::default()
            },
            ..Host::default()
        }
    }

    /// A thousand packets left, this many of them were delivered, and the receiver sent as many.
    fn placed(delivered: u64, sender: &Host, receiver: &Host) -> (Ledger, Vec<String>) {
        let rx = RxTotal {
            delivered,
            ..RxTotal::default()
        };
        let handled = Handled {
            sent: 1000,
            arrived: delivered,
            answers: delivered,
        };
        let hosts = HostCounters::new(Some(sender), Some(receiver), handled);
        let closed = close(vec![open(Some(&tx(1000)), Some(&rx), Some(0))], &hosts);
        (closed.ledgers[0], closed.notes)
    }

    #[test]
    fn drops_of_hosts_have_their_places() {
        let (ledger, notes) = placed(900, &host("a", 500, 500, 7), &host("b", 11, 33, 500));
        assert_eq!(ledger.lost_receiver_softnet, 11);
        // The kernel counts those of the backlog here too.
        assert_eq!(ledger.lost_receiver_interface, 22);
        assert_eq!(ledger.lost_sender_interface, 7);
        assert_eq!((ledger.lost_network, ledger.unknown), (60, 0));
        assert_eq!(notes, [""; 0]);
    }

    #[test]
    fn on_one_machine_a_drop_counts_once() {
        // The interfaces carry data in one direction and acknowledgements in the other.
        let mut receiver = host("a", 11, 0, 11);
        if let Some(softnet) = &mut receiver.delta.softnet {
            softnet.processed = 1900;
        }
        let (ledger, _) = placed(900, &host("a", 11, 0, 15), &receiver);
        assert_eq!(ledger.lost_receiver_softnet, 11);
        assert_eq!(ledger.lost_sender_interface, 4);
        // Whether the interface lost 4 or 15 is not known.
        assert_eq!((ledger.unknown, ledger.lost_network), (11, 74));
        let (ledger, _) = placed(989, &host("a", 11, 0, 11), &receiver);
        assert_eq!((ledger.lost_receiver_softnet, ledger.unknown), (11, 0));
    }

    #[test]
    fn many_drops_of_the_receiving_interface_are_placed() {
        let mut receiver = host("b", 0, 600, 0);
        if let Some(interface) = &mut receiver.delta.interface {
            interface.rx_packets = 400;
        }
        let (ledger, _) = placed(400, &host("a", 0, 0, 0), &receiver);
        assert_eq!((ledger.lost_receiver_interface, ledger.unknown), (600, 0));
    }

    #[test]
    fn drops_among_other_traffic_are_unknown() {
        let mut busy = host("b", 11, 0, 0);
        if let Some(softnet) = &mut busy.delta.softnet {
            softnet.processed = 2000;
        }
        let (ledger, notes) = placed(900, &host("a", 0, 0, 0), &busy);
        assert_eq!((ledger.lost_receiver_softnet, ledger.unknown), (0, 11));
        assert_eq!(ledger.lost_network, 89);
        assert_eq!(
            notes,
            ["11 packets of all traffic dropped in the receiving host's backlog"]
        );
    }

    #[test]
    fn without_the_counters_of_a_host_the_network_is_not_blamed() {
        let (ledger, _) = placed(900, &host("a", 0, 0, 0), &Host::default());
        assert_eq!((ledger.lost_network, ledger.unknown), (0, 100));
    }

    #[test]
    fn drops_of_merged_packets_leave_the_rest_unknown() {
        let mut merging = host("b", 0, 1, 0);
        if let Some(interface) = &mut merging.delta.interface {
            interface.rx_packets = 40;
        }
        let (ledger, _) = placed(900, &host("a", 0, 0, 0), &merging);
        assert_eq!(ledger.lost_receiver_interface, 1);
        assert_eq!((ledger.lost_network, ledger.unknown), (0, 99));
    }

    #[test]
    fn an_interrupt_leaves_packets_in_flight() {
        let sender = TxTotal {
            acked: 600,
            rx_dropped: 2,
            lost: 8,
            unreported: 390,
            ..tx(1000)
        };
        let ledger = of_flow(Some(&sender), None, None);
        assert_eq!((ledger.delivered, ledger.in_flight), (600, 390));
        assert_eq!((ledger.lost_receiver_socket, ledger.unknown), (2, 8));
    }

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
