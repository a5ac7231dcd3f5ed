//! A server that a service manager starts: it passes sockets, and waits for messages.

use crate::support::{PROGRAM, client, free_port, read};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// Starts the program as a service manager does, with at most two descriptors. Its output goes to its standard error.
fn manager(descriptors: Vec<OwnedFd>, arguments: &[&str]) -> Command {
    let count = descriptors.len();
    let mut descriptors = descriptors.into_iter();
    let mut shell = Command::new("sh");
    let mut script = String::new();
    if let Some(first) = descriptors.next() {
        shell.stdin(first);
        script += "exec 3<&0\n";
    }
    if let Some(second) = descriptors.next() {
        shell.stdout(second);
        script += "exec 4<&1\n";
    }
    assert!(descriptors.next().is_none());
    script += "exec </dev/null >&2\n";
    script += "export LISTEN_PID=$$ LISTEN_FDS\nexec \"$0\" \"$@\"\n";
    shell
        .args(["-c", &script, PROGRAM, "serve"])
        .args(arguments);
    shell.env("LISTEN_FDS", count.to_string());
    shell.stderr(Stdio::piped());
    shell
}

/// A server; ended when dropped.
struct Server {
    child: Child,
    output: BufReader<ChildStderr>,
    banner: String,
}

impl Server {
    /// Starts a server and waits until it serves.
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stderr.take().unwrap());
        let mut banner = String::new();
        output.read_line(&mut banner).unwrap();
        assert!(banner.starts_with("dccpmon "), "{banner}");
        Self {
            child,
            output,
            banner,
        }
    }

    /// Waits until it has ended. Returns its exit code and the rest of its output.
    fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A socket of the service manager, which holds it while the server runs.
fn bound(at: &str) -> (UdpSocket, OwnedFd) {
    let held = UdpSocket::bind(at).unwrap();
    let passed = held.try_clone().unwrap();
    (held, passed.into())
}

fn port(socket: &UdpSocket) -> String {
    socket.local_addr().unwrap().port().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn assert_measured(output: &Output) {
    let document = read(output);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let totals = &document["summary"]["flows"][0];
    assert!(totals["received_bytes"].as_u64() > Some(0), "{totals:#}");
}

/// The service manager starts the server when the first client asks, and that client is served.
#[test]
fn request_that_waits_in_the_passed_socket_is_served() {
    let (held, passed) = bound("127.0.0.1:0");
    held.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut early = client(&port(&held), &["-t", "0.3", "-b", "1M", "-J"]);
    let early = early.stdout(Stdio::piped()).spawn().unwrap();
    held.peek_from(&mut [0; 100]).expect("the Request waits");

    let server = manager(vec![passed], &["-1", "--over", "udp"]);
    let server = Server::start(server);
    let serving = format!("serving DCCP-over-UDP on 127.0.0.1:{} of the", port(&held));
    assert!(server.banner.contains(&serving), "{}", server.banner);
    assert_measured(&early.wait_with_output().unwrap());
    assert_eq!(server.end().0, Some(0));
    // Errors of earlier datagrams would end the service manager's wait for the next client.
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr();
    held.send_to(b"x", closed.unwrap()).unwrap();
    assert!(held.take_error().unwrap().is_none());
}

/// Tests over UDP and TCP use the port of the passed sockets, too.
#[test]
fn sockets_of_both_ip_versions_are_served() {
    let (v4, first) = bound(&format!("127.0.0.1:{}", free_port()));
    let at_v6 = format!("[::1]:{}", port(&v4));
    let one_each = vec![first, bound(&at_v6).1];
    let (both, first) = bound(&format!("[::]:{}", free_port()));
    for (port, descriptors) in [(port(&v4), one_each), (port(&both), vec![first])] {
        let server = Server::start(manager(descriptors, &["--over", "udp"]));
        for host in ["127.0.0.1", "::1"] {
            for transport in ["dccp", "udp", "tcp"] {
                let output = Command::new(PROGRAM)
                    .args([host, "-p", &port, "-t", "0.2", "-b", "1M", "-J"])
                    .args(["--transport", transport])
                    .output()
                    .unwrap();
                assert_measured(&output);
            }
        }
        drop(server);
    }
}

/// Runs a server that must not start. Returns its exit code and its two lines.
fn refusal(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    (output.status.code(), text(&output.stderr))
}

const USE_UDP: &str = " next: pass bound UDP sockets only: ListenDatagram= in the socket unit\n";

#[test]
fn wrong_descriptors_are_refused_with_the_reason() {
    let tcp = || OwnedFd::from(TcpListener::bind("127.0.0.1:0").unwrap());
    let file = || OwnedFd::from(fs::File::open("/dev/null").unwrap());
    let unbound = || {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None);
        OwnedFd::from(socket.unwrap())
    };
    let connected = || {
        let (socket, _) = bound("127.0.0.1:0");
        socket.connect("127.0.0.1:9").unwrap();
        OwnedFd::from(socket)
    };
    for (wrong, problem) in [
        (tcp(), "must be a UDP socket"),
        (file(), "must be a UDP socket"),
        (unbound(), "the given socket: must be bound to a port"),
        (connected(), "the given socket: must not be connected"),
    ] {
        let mut server = manager(vec![wrong], &["--over", "udp"]);
        server.env("LISTEN_FDNAMES", "dccpmon.socket");
        let expected = format!("error: descriptor 3 (dccpmon.socket): {problem}\n{USE_UDP}");
        assert_eq!(refusal(server), (Some(1), expected));
    }
    // The first one is fine.
    let (first, second) = (bound("127.0.0.1:0").1, tcp());
    let expected = format!("error: descriptor 4: must be a UDP socket\n{USE_UDP}");
    let server = manager(vec![first, second], &["--over", "udp"]);
    assert_eq!(refusal(server), (Some(1), expected));
}

#[test]
fn sockets_that_do_not_fit_together_are_refused() {
    let [(a, first), (b, second)] = ["127.0.0.1:0"; 2].map(bound);
    let expected = format!(
        "error: descriptor 3 and descriptor 4: must have the same UDP port, not {} and {}\n \
         next: give all ListenDatagram= of the socket unit the same port\n",
        port(&a),
        port(&b)
    );
    let server = manager(vec![first, second], &[]);
    assert_eq!(refusal(server), (Some(1), expected));

    let (_held, same) = bound("127.0.0.1:0");
    let twice = vec![same.try_clone().unwrap(), same];
    let (code, lines) = refusal(manager(twice, &["--over", "udp"]));
    assert_eq!(code, Some(1));
    let taken = "error: descriptor 4: the UDP port is taken: ";
    assert!(lines.starts_with(taken), "{lines}");

    let expected = "error: LISTEN_FDS=9: must be at most 8 sockets\n \
         next: pass one socket for each address: ListenDatagram= in the socket unit\n";
    let mut server = manager(vec![bound("127.0.0.1:0").1], &[]);
    server.env("LISTEN_FDS", "9");
    assert_eq!(refusal(server), (Some(1), expected.to_owned()));
}

#[test]
fn options_that_contradict_the_sockets_are_refused() {
    let refused = |arguments: &[&str]| refusal(manager(vec![bound("[::1]:0").1], arguments));
    for (arguments, problem) in [
        (
            ["--over", "ip"],
            "error: --over ip: must not be given with ",
        ),
        (
            ["-4", "-1"],
            "error: -4: must not be given with descriptor 3 at [::1]:",
        ),
        (["-p", "9"], "error: --port 9: must be "),
    ] {
        let (code, lines) = refused(&arguments);
        assert_eq!(code, Some(2), "{lines}");
        assert!(lines.starts_with(problem), "{lines}");
        assert_eq!(lines.lines().count(), 2, "{lines}");
    }
}

/// The variables are those of an earlier program.
#[test]
fn sockets_of_another_process_are_left_alone() {
    let port = free_port();
    for (name, value) in [("LISTEN_PID", "1"), ("LISTEN_FDNAMES", "a")] {
        let mut server = Command::new(PROGRAM);
        server.args(["serve", "-4", "--over", "udp", "-p", &port]);
        server.env("LISTEN_FDS", "1").env(name, value);
        server.stderr(Stdio::piped()).stdout(Stdio::piped());
        let mut child = server.spawn().unwrap();
        let mut banner = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut banner).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let expected = format!("serving DCCP-over-UDP on 0.0.0.0:{port}, ");
        assert!(banner.contains(&expected), "{banner}");
    }
}

/// A socket for messages to the service manager.
fn messages(name: &str) -> (UnixDatagram, PathBuf) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    (socket, path)
}

fn message(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 200];
    let length = socket.recv(&mut buffer).expect("a message");
    text(&buffer[..length])
}

#[test]
fn service_manager_learns_when_the_server_is_ready_and_when_it_ends() {
    let (socket, path) = messages("notify");
    let (held, passed) = bound("127.0.0.1:0");
    let mut command = manager(vec![passed], &["--over", "udp"]);
    command.env("NOTIFY_SOCKET", &path);
    let server = Server::start(command);
    assert_eq!(message(&socket), "READY=1\n");
    let output = client(&port(&held), &["-t", "0.2", "-b", "1M", "-J"]).output();
    assert_measured(&output.unwrap());
    let pid = server.child.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(killed.unwrap().success());
    assert_eq!(message(&socket), "STOPPING=1\n");
    assert_eq!(server.end().0, Some(130));
}

#[test]
fn server_without_a_listening_service_manager_works_and_says_so() {
    let (held, passed) = bound("127.0.0.1:0");
    let mut command = manager(vec![passed], &["-1", "--over", "udp"]);
    command.env("NOTIFY_SOCKET", "/nowhere/notify");
    let server = Server::start(command);
    let output = client(&port(&held), &["-t", "0.2", "-b", "1M", "-J"]).output();
    assert_measured(&output.unwrap());
    let (code, rest) = server.end();
    assert_eq!(code, Some(0));
    assert!(rest.contains("\ndccpmon: NOTIFY_SOCKET: "), "{rest}");
}

/// The real thing: systemd's program listens, and starts the server when the client's Request arrives.
#[test]
fn systemd_starts_the_server_when_a_client_asks() {
    let port = free_port();
    let at: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    let systemd = Command::new("systemd-socket-activate")
        .args(["--datagram", "-l", &at.to_string(), PROGRAM])
        .args(["serve", "-1", "--over", "udp"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut systemd) = systemd else {
        println!(
            "SKIP systemd_starts_the_server_when_a_client_asks: needs systemd-socket-activate"
        );
        return;
    };
    let mut log = BufReader::new(systemd.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    assert!(line.starts_with("Listening on "), "{line}");
    let output = client(&port, &["-t", "0.3", "-b", "1M", "-J"]).output();
    assert_measured(&output.unwrap());
    assert!(systemd.wait().unwrap().success());
}
