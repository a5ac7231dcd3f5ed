//! The counters of this machine.

#![cfg(target_os = "linux")]

use dccp_dev::rerun;
use dccp_host::{Identity, Snapshot};
use rustix::time::{ClockId, clock_gettime};
use std::net::UdpSocket;

/// Datagrams of a test.
const SENT: u64 = 3000;

fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).unsigned_abs()
}

fn snapshot() -> Snapshot {
    Snapshot::take(now_ns(), Some("lo"))
}

/// The thread runs or waits for a core all the time, however busy the machine is. The time that a hypervisor takes away
/// counts as neither.
#[test]
fn cpu_of_a_spinning_thread_is_one_core() {
    let before = snapshot();
    let begin = now_ns();
    while now_ns() < begin + 300_000_000 {}
    let delta = snapshot().since(&before);
    let threads = delta.threads.unwrap();
    assert!(threads.runnable_max_ratio > 0.5, "{threads:?}");
    let process_cpu_ns = delta.process_cpu_ns.unwrap();
    assert!(threads.cpu_max_ns > 0 && process_cpu_ns > 0);
    assert!(delta.wall_ns >= 300_000_000);
    let cores = delta.cores.unwrap();
    let busiest = delta.busiest_core.unwrap();
    let core = cores.iter().find(|core| core.core == busiest).unwrap();
    assert!(core.busy_ratio() > 0.2, "{cores:?}");
    assert_eq!(delta.interrupts_per_core.unwrap().len(), cores.len());
}

/// In a namespace of its own every packet counts. The socket's buffer overruns, because the test reads it last.
#[test]
fn received_packets_appear_in_the_interface() {
    if !rerun::is_inside("received_packets_appear_in_the_interface", "") {
        return;
    }
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    let before = snapshot();
    for _ in 0..SENT {
        sender.send(&[7; 1000]).unwrap();
    }
    receiver.set_nonblocking(true).unwrap();
    let mut buffer = [0; 2000];
    let mut arrived = 0;
    while receiver.recv(&mut buffer).is_ok() {
        arrived += 1;
    }
    let delta = snapshot().since(&before);
    let interface = delta.interface.unwrap();
    assert_eq!((interface.rx_packets, interface.tx_packets), (SENT, SENT));
    // The loopback interface counts no Ethernet head.
    assert_eq!(interface.rx_bytes, SENT * (20 + 8 + 1000));
    let udp = delta.udp.unwrap();
    assert_eq!((udp.in_datagrams, udp.out_datagrams), (arrived, SENT));
    assert!(arrived < SENT, "the buffer held all");
    assert_eq!(udp.rcvbuf_errors, SENT - arrived);
    let ip = delta.ip.unwrap();
    assert_eq!((ip.in_receives, ip.out_requests), (SENT, SENT));
    assert!(delta.softnet.unwrap().processed >= SENT);
}

#[test]
fn identity_names_the_running_kernel() {
    let identity = Identity::read();
    assert!(identity.system.starts_with("Linux "), "{identity:?}");
    assert_eq!(identity.boot_id.map(|id| id.len()), Some(36));
    assert!(identity.cores >= 1);
}
