//! The host survives broken and hostile programs, and forgets killed ones.

use crate::support::{Running, Server, client, dccprun, eventually, free_port, server, word};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The name of a program's host. While the program executes another, it has none for a short time.
fn host_of(pid: u32) -> String {
    let mut host = None;
    eventually("the program has a host", || {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
        let text = String::from_utf8_lossy(&environment).into_owned();
        let value = text
            .split('\0')
            .find_map(|word| word.strip_prefix("DCCPRUN_HOST="));
        host = value.and_then(|value| Some(value.split(':').next()?.to_owned()));
        host.is_some()
    });
    host.unwrap()
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let list = std::fs::read_to_string(path).unwrap();
    list.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .count()
}

fn threads(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .count()
}

/// Opens a connection to one of the host's sockets.
fn connect(host: &str, role: &str) -> OwnedFd {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    let name = format!("dccprun/{host}/{role}");
    let place = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
    rustix::net::connect(&socket, &place).unwrap();
    socket
}

/// Sends a message as a request, and returns the answer; it is empty if the host closes.
fn request(host: &str, message: &[u8]) -> Vec<u8> {
    let socket = connect(host, "control");
    rustix::net::send(&socket, message, SendFlags::NOSIGNAL).unwrap();
    let mut buffer = [0; 512];
    let received = rustix::net::recv(&socket, &mut buffer, RecvFlags::empty());
    buffer[..received.map_or(0, |(len, _)| len)].to_vec()
}

/// A host whose program waits.
fn idle_host() -> (Running, String) {
    idle_host_with(&[])
}

fn idle_host_with(options: &[&str]) -> (Running, String) {
    let program = ["sh", "-c", "echo ready; exec sleep 1000"];
    let running = Running::start(dccprun(&[options, &program].concat()));
    running.wait_for("ready");
    let program = children(running.id())[0];
    let host = host_of(program);
    (running, host)
}

#[test]
fn killed_program_leaves_nothing_behind() {
    let server = Server::start("127.0.0.1", 2);
    // The shell stays, so that the host stays.
    let script = format!(
        "{} 127.0.0.1 5001 killed; echo killed; exec sleep 1000",
        word(client())
    );
    let words = ["--remote-udp-port", &server.udp_port, "sh", "-c", &script];
    let running = Running::start(dccprun(&words));
    running.wait_for("ready");
    let host = running.id();
    let shell = children(host)[0];
    // Two connections with two threads and two descriptors each, and a listener.
    assert!(threads(host) >= 7, "{}", threads(host));
    kill(children(shell)[0]);
    running.wait_for("killed");
    // The main thread, the one for requests and the engine stay.
    eventually("threads end", || threads(host) == 3);
    let (fresh, _) = idle_host();
    // The UDP ports of both connections rest for as long as packets of theirs may be on their way (RFC 4340 §8.3).
    eventually("descriptors are closed", || {
        descriptors(host) <= descriptors(fresh.id()) + 2
    });
    // The peer's connections have ended too.
    assert_eq!(server.running.end(), Some(0));
}

#[test]
fn descendants_of_a_killed_program_do_not_keep_the_host() {
    let script = format!("{} 127.0.0.1 5001 1 - & wait", word(server()));
    let port = free_port();
    let running = Running::start(dccprun(&["--udp-port", &port, "sh", "-c", &script]));
    running.wait_for("ready");
    let shell = children(running.id())[0];
    let listener = children(shell)[0];
    kill(shell);
    // The listener would wait for ever.
    assert_eq!(running.end(), Some(128 + 9));
    kill(listener);
}

fn kill(pid: u32) {
    let mut kill = Command::new("kill");
    assert!(
        kill.args(["-KILL", &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn garbage_is_answered_or_dropped() {
    let (running, host) = idle_host();
    assert_eq!(request(&host, b"garbage"), b"");
    assert_eq!(request(&host, &[0; 511]), b"");
    assert_eq!(request(&host, &[0xff; 270]), b"");
    // Each operation, about a socket that does not exist, with bodies of all kinds.
    for op in 0..9 {
        for body in [&[][..], &[0xff; 22], &[0; 256]] {
            let head = [&[op, 4][..], &[7; 8], &[0xff; 4]].concat();
            let answer = request(&host, &[&head[..], body].concat());
            assert!(answer.len() >= 4, "operation {op}: {answer:?}");
        }
    }
    // It still works.
    let mps = [
        &[1, 4][..],
        &[9; 8],
        &5_i32.to_le_bytes(),
        &4_i32.to_le_bytes(),
    ]
    .concat();
    assert_eq!(
        request(&host, &mps),
        [&[0; 4][..], &536_u32.to_le_bytes()].concat()
    );
    drop(running);
}

#[test]
fn silent_requests_do_not_delay_others() {
    let (running, host) = idle_host();
    let silent: Vec<OwnedFd> = (0..300).map(|_| connect(&host, "control")).collect();
    let unclaimed: Vec<OwnedFd> = (0..300).map(|_| connect(&host, "data")).collect();
    let mps = [
        &[1, 4][..],
        &[9; 8],
        &5_i32.to_le_bytes(),
        &4_i32.to_le_bytes(),
    ]
    .concat();
    assert_eq!(request(&host, &mps).len(), 8);
    drop((silent, unclaimed, running));
}

#[test]
fn listener_that_is_being_opened_does_not_delay_others() {
    // A daemon that does not answer.
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("silent-daemon");
    let _ = std::fs::remove_file(&path);
    let daemon = rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    rustix::net::bind(&daemon, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&daemon, 8).unwrap();
    let (running, host) = idle_host_with(&[&format!("--daemon={}", word(&path))]);
    let head = |op: u8| [&[op, 4][..], &[7; 8], &5_i32.to_le_bytes()].concat();
    let (listen, bind) = (head(5), [&head(2)[..], &[0; 22]].concat());
    let opening = connect(&host, "control");
    rustix::net::send(&opening, &listen, SendFlags::NOSIGNAL).unwrap();
    let again = connect(&host, "control");
    rustix::net::send(&again, &listen, SendFlags::NOSIGNAL).unwrap();
    // Each is answered before the listener is.
    assert_eq!(request(&host, &bind), libc::EINVAL.to_le_bytes());
    let mps = [&head(1)[..], &4_i32.to_le_bytes()].concat();
    assert_eq!(request(&host, &mps).len(), 8);
    for waiting in [&opening, &again] {
        let answer = rustix::net::recv(waiting, &mut [0; 8], RecvFlags::DONTWAIT);
        assert_eq!(answer.unwrap_err(), rustix::io::Errno::AGAIN);
    }
    // Both get the same answer.
    drop(daemon);
    for waiting in [&opening, &again] {
        let mut answer = [0; 8];
        let (len, _) = rustix::net::recv(waiting, &mut answer, RecvFlags::empty()).unwrap();
        assert_eq!(answer[..len], libc::ETIMEDOUT.to_le_bytes());
    }
    drop(running);
}

#[test]
fn thousands_of_sockets_are_forgotten_once_they_are_closed() {
    let (running, host) = idle_host();
    // Settings of sockets that no program has: option 10 is the Checksum Coverage.
    let before = memory(running.id());
    for number in 0..5_000_u64 {
        let head = [&[0, 4][..], &number.to_le_bytes(), &10_i32.to_le_bytes()].concat();
        let answer = request(&host, &[&head[..], &3_i32.to_le_bytes()].concat());
        assert_eq!(answer, [0; 4]);
    }
    let coverage = |number: u64| {
        let head = [&[1, 4][..], &number.to_le_bytes(), &10_i32.to_le_bytes()].concat();
        request(&host, &[&head[..], &4_i32.to_le_bytes()].concat())[4]
    };
    // The sweeps of a quiet host forget them.
    eventually("sockets are forgotten", || {
        std::thread::sleep(Duration::from_secs(2));
        [0, 2_500, 4_999]
            .into_iter()
            .all(|number| coverage(number) == 0)
    });
    let grown = memory(running.id()).saturating_sub(before);
    assert!(grown < 8 << 20, "{grown} bytes");
}

/// Resident memory of a process in bytes.
fn memory(pid: u32) -> u64 {
    let path: PathBuf = ["/proc", &pid.to_string(), "status"].iter().collect();
    let status = std::fs::read_to_string(path).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes << 10
}
