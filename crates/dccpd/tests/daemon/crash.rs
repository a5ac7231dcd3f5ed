//! Programs and daemons that are killed.

use crate::support::{Daemon, OPEN, PATIENCE, eventually, exchange, is_inside};
use dccp::packet_ring::Label;
use dccp_dev::shell::memory_mib;
use dccp_ring_ipc::{RingClient, RingError};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

#[test]
fn killed_daemon_is_noticed_and_a_new_one_serves() {
    if !is_inside("crash::killed_daemon_is_noticed_and_a_new_one_serves") {
        return;
    }
    let mut daemon = Daemon::start("killed", OPEN);
    let (mut client, _server) = daemon.pair();
    daemon.kill();
    let error = client.recv(&mut [0; 1400]).unwrap_err();
    assert_eq!(error, RingError::ServerGone);
    assert_eq!(
        error.to_string(),
        "the program that lent the ring has ended"
    );
    let begin = std::time::Instant::now();
    daemon.restart();
    let (mut client, mut server) = daemon.pair();
    println!("the first connection took {:?}", begin.elapsed());
    exchange(&mut client, &mut server);
}

/// Set for a process that connects to this socket, and then waits for its end.
const CLIENT: &str = "USRDCCP_CLIENT_OF";

/// The descriptors of a process.
fn descriptors(id: u32) -> usize {
    std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().count()
}

/// The rings that a process has mapped.
fn rings(id: u32) -> usize {
    let maps = std::fs::read_to_string(format!("/proc/{id}/maps")).unwrap();
    maps.lines().filter(|line| line.contains("memfd:")).count()
}

#[test]
fn killed_programs_leave_nothing_behind() {
    const NAME: &str = "crash::killed_programs_leave_nothing_behind";
    if let Some(socket) = std::env::var_os(CLIENT) {
        let request = dccp_ring_ipc::RingRequest::new(
            "127.0.0.1:6511/5001".parse().unwrap(),
            crate::support::SHAPE,
        );
        let mut client = RingClient::connect(socket, &request).unwrap();
        client.sender().push(b"hello", Label::default()).unwrap();
        println!("connected");
        // The test kills this process.
        std::thread::sleep(10 * PATIENCE);
        return;
    }
    if !is_inside(NAME) {
        return;
    }
    let daemon = Daemon::start("clients", OPEN);
    let mut listener = daemon.listen("127.0.0.1:0/5001").unwrap();
    let (mut lives, mut other) = {
        let client = daemon.connect("127.0.0.1:6511/5001").unwrap();
        (client, listener.accept().unwrap())
    };
    let id = daemon.id();
    let used = || (descriptors(id), rings(id));
    let mut kill_one = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([NAME, "--exact", "--nocapture"]);
        command.env(CLIENT, daemon.socket()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = output.lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("connected")));
        child.kill().unwrap();
        child.wait().unwrap();
        let mut server = listener.accept().unwrap();
        // What it pushed still arrives, and then the connection ends.
        let mut buf = [0; 1400];
        assert_eq!(server.recv(&mut buf), Ok(5));
        assert!(matches!(server.recv(&mut buf), Err(RingError::Closed(_))));
    };
    kill_one();
    eventually(|| (daemon.connections().len() == 2).then_some(()));
    // A port that rests for a connection in TIMEWAIT has a descriptor, so only rings come back to their number at once.
    let (descriptors_before, rings_before) = used();
    let memory_before = memory_mib(id, "VmRSS:").unwrap();
    for _ in 0..100 {
        kill_one();
    }
    eventually(|| (daemon.connections().len() == 2).then_some(()));
    eventually(|| (rings(id) == rings_before).then_some(()));
    let (descriptors_after, _) = used();
    assert!(
        descriptors_after <= descriptors_before + 110,
        "{descriptors_before} descriptors, then {descriptors_after}"
    );
    let memory_after = memory_mib(id, "VmRSS:").unwrap();
    println!("{memory_before} MiB, then {memory_after} MiB; {descriptors_after} descriptors");
    assert!(memory_after < memory_before + 10.0);
    exchange(&mut lives, &mut other);
}
