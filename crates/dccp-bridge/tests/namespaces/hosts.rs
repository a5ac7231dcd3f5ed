//! Two hosts with a link of 50 Mbit/s between them, and a bridge over it.

use crate::support::{PROGRAM, Side};
use core::time::Duration;
use dccp_emu::tun::{End, Tunnel};
use dccp_netns::Namespace;
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::{LinkConfig, Seed};
use serde_json::Value;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;

/// The rate of the link in bit/s, IP headers included.
pub(crate) const LINK_BPS: u32 = 50_000_000;
const SENDER: &str = "10.84.0.1";
const RECEIVER: &str = "10.84.0.2";
const PLACE: &str = "10.84.0.2:14233/5002";

/// Two hosts.
pub(crate) struct Hosts {
    pub(crate) sender: Namespace,
    pub(crate) receiver: Namespace,
    _tunnel: Tunnel,
}

impl Hosts {
    /// Two hosts and their link; `None`, after a line that says so, where the system does not permit namespaces or lacks
    /// one of `programs`.
    pub(crate) fn new(test: &str, programs: &[&str]) -> Option<Self> {
        for program in programs {
            if dccp_dev::shell::find_program(program).is_none() {
                println!("SKIP {test}: needs {program}");
                return None;
            }
        }
        let made =
            Namespace::new("sender").and_then(|sender| Ok((sender, Namespace::new("receiver")?)));
        let (sender, receiver) = made
            .inspect_err(|e| println!("SKIP {test}: needs root and network namespaces: {e}"))
            .ok()?;
        let end = |host: &Namespace, address: &str| End {
            namespace: Some(host.name().to_owned()),
            device: "tun0".into(),
            addresses: vec![(address.parse().unwrap(), 24)],
        };
        let link = LinkConfig {
            rate: Some(dccp::Rate::from_bytes_per_s(f64::from(LINK_BPS) / 8.0)),
            delay: Duration::from_millis(10),
            queue: QueueConfig::drop_tail(Limit::Packets(100)),
            ..LinkConfig::default()
        };
        let ends = [end(&sender, SENDER), end(&receiver, RECEIVER)];
        let tunnel = Tunnel::start(ends, [link.clone(), link], Seed(1), Duration::ZERO).unwrap();
        Some(Self {
            sender,
            receiver,
            _tunnel: tunnel,
        })
    }

    /// Starts the listening side, whose datagrams go to a port of the receiver's loopback.
    pub(crate) fn listen(&self, port: u16) -> Side {
        self.listen_with(port, &[])
    }

    /// The same with more words.
    pub(crate) fn listen_with(&self, port: u16, more: &[&str]) -> Side {
        let udp = format!("127.0.0.1:{port}");
        let words = [PROGRAM, "listen", "--at", PLACE, "--udp", &udp];
        Side::spawn(self.receiver.command(&[&words, more].concat()))
    }

    /// Starts the connecting side, which takes datagrams at a port of the sender's loopback.
    pub(crate) fn connect(&self, port: u16, more: &[&str]) -> Side {
        let udp = format!("127.0.0.1:{port}");
        let words = [PROGRAM, "connect", "--udp", &udp, "--peer", PLACE];
        Side::spawn(self.sender.command(&[&words, more].concat()))
    }

    /// Lets TCP connections to a port of the sender's loopback end at the same port of the receiver. The control
    /// connection of iperf3 needs that.
    pub(crate) fn relay_tcp(&self, port: u16) {
        let bind = move || TcpListener::bind(("127.0.0.1", port));
        let listener = dccp_netns::inside(self.sender.name(), bind)
            .unwrap()
            .unwrap();
        let sender = self.sender.name().to_owned();
        thread::spawn(move || {
            let far: SocketAddr = format!("{RECEIVER}:{port}").parse().unwrap();
            while let Ok((near, _)) = listener.accept() {
                let connect = move || TcpStream::connect(far);
                let Ok(Ok(far)) = dccp_netns::inside(&sender, connect) else {
                    continue;
                };
                for (mut from, mut to) in [(&near, &far), (&far, &near)]
                    .map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()))
                {
                    thread::spawn(move || {
                        // A closed connection ends the copy.
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(std::net::Shutdown::Write);
                    });
                }
            }
        });
    }
}

/// A program that is killed when dropped.
pub(crate) struct Program(pub(crate) Child);

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A path below the temporary folder, which is free.
pub(crate) fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dccp-bridge-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// The allowed rate in a file of rates.
pub(crate) fn allowed_bps(file: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(file).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    document["allowed_bps"].as_u64()
}
