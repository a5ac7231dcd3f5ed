//! A service manager: its messages, and the sockets that it passes.

use crate::support::{Daemon, OPEN, PATIENCE, exchange, is_inside};
use dccp_ring_ipc::{RingListenRequest, RingListener, RingRequest};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Command, Stdio};

fn message(manager: &UnixDatagram) -> String {
    let mut buf = [0; 200];
    let len = manager.recv(&mut buf).unwrap();
    String::from_utf8_lossy(&buf[..len]).trim().to_owned()
}

#[test]
fn manager_passes_sockets_and_hears_that_the_daemon_works() {
    if !is_inside("manager::manager_passes_sockets_and_hears_that_the_daemon_works") {
        return;
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("manager");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let rings = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    );
    let rings = rings.unwrap();
    let path = folder.join("socket");
    rustix::net::bind(&rings, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&rings, 16).unwrap();
    let admin = UnixListener::bind(folder.join("admin")).unwrap();
    let manager = UnixDatagram::bind(folder.join("notify")).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let policy = folder.join("policy.toml");
    std::fs::write(&policy, OPEN).unwrap();

    let script =
        "exec 3<&0 4<&1 </dev/null >&2\nexport LISTEN_PID=$$ WATCHDOG_PID=$$\nexec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_dccpd"), "--policy"])
        .arg(&policy);
    command
        .env("LISTEN_FDS", "2")
        .env("WATCHDOG_USEC", "300000");
    command.env("NOTIFY_SOCKET", folder.join("notify"));
    command
        .stdin(rings)
        .stdout(std::os::fd::OwnedFd::from(admin))
        .stderr(Stdio::null());
    let mut daemon = command.spawn().unwrap();
    assert_eq!(message(&manager), "READY=1");
    assert_eq!(message(&manager), "WATCHDOG=1");

    let shape = crate::support::SHAPE;
    let listen = RingListenRequest::new("127.0.0.1:0/5001".parse().unwrap(), shape);
    let mut listener = RingListener::bind(&path, &listen).unwrap();
    let connect = RingRequest::new("127.0.0.1:6511/5001".parse().unwrap(), shape);
    let mut client = dccp_ring_ipc::RingClient::connect(&path, &connect).unwrap();
    exchange(&mut client, &mut listener.accept().unwrap());
    let mut control = Command::new(env!("CARGO_BIN_EXE_dccpctl"));
    control.arg("--admin-socket").arg(folder.join("admin"));
    assert!(
        control
            .arg("connections")
            .output()
            .unwrap()
            .status
            .success()
    );

    let kill = Command::new("kill")
        .args(["-TERM", &daemon.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    while message(&manager) != "STOPPING=1" {}
    assert!(daemon.wait().unwrap().success());
    assert!(path.exists(), "the manager's socket stays");
}

#[test]
fn second_daemon_is_told_that_the_port_is_taken() {
    if !is_inside("manager::second_daemon_is_told_that_the_port_is_taken") {
        return;
    }
    let first = Daemon::start("first", OPEN);
    let mut second = Command::new(env!("CARGO_BIN_EXE_dccpd"));
    let output = second.arg("--policy").arg(first.policy()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.starts_with("error: UDP port 6511 cannot be opened: "),
        "{error}"
    );
    assert!(
        error.contains("\n next: stop the program that has it"),
        "{error}"
    );
    let (mut client, mut server) = first.pair();
    exchange(&mut client, &mut server);
}
