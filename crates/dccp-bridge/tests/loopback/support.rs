//! The two sides of a bridge, and applications.

use core::net::SocketAddr;
use core::time::Duration;
use dccp_dev::openmetrics;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_dccp-bridge");
/// A wait that only a broken program needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// One side of a bridge; killed when dropped.
pub(crate) struct Side {
    child: Child,
    lines: Receiver<String>,
    /// The first line of its log.
    pub(crate) banner: String,
}

impl Side {
    /// Starts one side with these words.
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(words);
        Self::spawn(command)
    }

    /// The same with a command that runs the program.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                println!("  {line}");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let banner = lines.recv_timeout(PATIENCE).unwrap();
        assert!(banner.starts_with("dccp-bridge "), "{banner}");
        Self {
            child,
            lines,
            banner,
        }
    }

    /// The word of the banner after `before`.
    fn word(&self, before: &str) -> String {
        let (_, rest) = self.banner.split_once(before).unwrap();
        rest.split([' ', ',']).next().unwrap().to_owned()
    }

    /// Where the listening side listens.
    pub(crate) fn place(&self) -> String {
        self.word("listens at ")
    }

    /// Where applications send to.
    pub(crate) fn udp(&self) -> SocketAddr {
        self.word("takes UDP at ").parse().unwrap()
    }

    /// The next line of the log that contains `part`.
    pub(crate) fn wait_for(&self, part: &str) -> String {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(part) => return line,
                Ok(_) => {}
                Err(e) => panic!("no line with {part:?}: {e}"),
            }
        }
    }

    /// The lines so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match self.lines.recv_timeout(Duration::from_millis(10)) {
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return lines,
            }
        }
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The metrics that it offers, if it was started with `--metrics 127.0.0.1:0`.
    pub(crate) fn metrics_address(&self) -> SocketAddr {
        let line = self.wait_for("  metrics: http://");
        let at = line.trim().strip_prefix("metrics: http://").unwrap();
        at.strip_suffix("/metrics").unwrap().parse().unwrap()
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A bridge from applications to a program that sends each datagram back.
pub(crate) struct Bridge {
    pub(crate) listen: Side,
    pub(crate) connect: Side,
}

impl Bridge {
    /// Starts both sides with more words each.
    pub(crate) fn start(target: SocketAddr, listen: &[&str], connect: &[&str]) -> Self {
        let ip = if target.is_ipv4() {
            "127.0.0.1"
        } else {
            "[::1]"
        };
        let at = format!("{ip}:0/0");
        let target = target.to_string();
        let words = ["listen", "--at", &at, "--udp", &target];
        let listen = Side::start(&[&words, listen].concat());
        let connect = start_connect(&format!("{ip}:0"), &listen.place(), connect);
        Self { listen, connect }
    }
}

/// Starts the connecting side.
pub(crate) fn start_connect(udp: &str, peer: &str, more: &[&str]) -> Side {
    let words = ["connect", "--udp", udp, "--peer", peer];
    Side::start(&[&words, more].concat())
}

/// A socket of an application on loopback.
pub(crate) fn app(ip: &str) -> UdpSocket {
    let socket = UdpSocket::bind(format!("{ip}:0")).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// A program that sends each datagram back to its sender. It ends with the test's process.
pub(crate) fn echo(ip: &str) -> SocketAddr {
    let socket = UdpSocket::bind(format!("{ip}:0")).unwrap();
    let at = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buf = [0; 4096];
        loop {
            // Errors are those of applications that have ended.
            if let Ok((len, from)) = socket.recv_from(&mut buf) {
                let _ = socket.send_to(&buf[..len], from);
            }
        }
    });
    at
}

/// Sends a datagram until an answer arrives. Returns the answer.
pub(crate) fn ask(socket: &UdpSocket, at: SocketAddr, question: &[u8]) -> Vec<u8> {
    socket
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let mut buf = vec![0; 65_536];
    for _ in 0..300 {
        socket.send_to(question, at).unwrap();
        if let Ok((len, from)) = socket.recv_from(&mut buf) {
            assert_eq!(from, at, "answers come from the address that was asked");
            buf.truncate(len);
            return buf;
        }
    }
    panic!("no answer to 300 datagrams in 30 s");
}

/// Discards the answers that still come.
pub(crate) fn settle(socket: &UdpSocket) {
    socket
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    while socket.recv(&mut [0; 2048]).is_ok() {}
}

/// The metrics that a program offers at `at`.
pub(crate) fn scrape(at: SocketAddr) -> Vec<openmetrics::Family> {
    let mut stream = TcpStream::connect(at).unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    openmetrics::parse(body).unwrap()
}

/// The value of a metric once it is at least `least`.
pub(crate) fn metric(at: SocketAddr, name: &str, label: (&str, &str), least: f64) -> f64 {
    let name = format!("dccp_bridge_{name}");
    for _ in 0..300 {
        let value = openmetrics::value(&scrape(at), &name, &[label]);
        if let Some(value) = value.filter(|value| *value >= least) {
            return value;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{name} {label:?} does not reach {least}");
}
