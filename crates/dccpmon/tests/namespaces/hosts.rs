//! A client and a server in network namespaces.

use crate::support::{PROGRAM, read};
use core::time::Duration;
use dccp_emu::tun::{End, Tunnel};
use dccp_netns::{Namespace, veth};
use dccp_sim::{LinkConfig, Seed};
use dccpmon::schema::Ledger;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The server's address.
pub(crate) const SERVER: &str = "10.82.0.2";
/// The client's address.
pub(crate) const CLIENT: &str = "10.82.0.1";

/// Of a tunnel between the hosts: the server's address, and the client's.
pub(crate) const FAR: [&str; 2] = ["10.83.0.2", "10.83.0.1"];

/// Some tests count drops of the whole machine: no other of this program runs beside them.
static MACHINE: RwLock<()> = RwLock::new(());

/// The part of the machine that a test needs.
pub(crate) enum Turn {
    Shared {
        _guard: RwLockReadGuard<'static, ()>,
    },
    Alone {
        _guard: RwLockWriteGuard<'static, ()>,
    },
}

/// Two hosts.
pub(crate) struct Hosts {
    pub(crate) client: Namespace,
    pub(crate) server: Namespace,
    /// A command that runs the program that is named after it.
    pub(crate) runner: &'static [&'static str],
    /// The server's address that tests use.
    pub(crate) address: &'static str,
    _turn: Turn,
}

impl Hosts {
    /// Two hosts without a link; `None`, after a line that says so, where the system does not permit namespaces.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let guard = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        Self::make(test, Turn::Shared { _guard: guard })
    }

    /// The same, while no other test of this program runs.
    pub(crate) fn alone(test: &str) -> Option<Self> {
        let guard = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
        Self::make(test, Turn::Alone { _guard: guard })
    }

    fn make(test: &str, turn: Turn) -> Option<Self> {
        let made = Namespace::new("client").and_then(|client| {
            Ok(Self {
                client,
                server: Namespace::new("server")?,
                runner: &[],
                address: SERVER,
                _turn: turn,
            })
        });
        made.inspect_err(|e| println!("SKIP {test}: needs root and network namespaces: {e}"))
            .ok()
    }

    /// Connects the hosts by a cable.
    pub(crate) fn connect(&self) {
        veth(&self.client, &self.server, "eth0").unwrap();
        let ends = [(&self.client, CLIENT), (&self.server, SERVER)];
        for (host, address) in ends {
            host.add_address("eth0", &format!("{address}/24")).unwrap();
        }
    }

    /// Connects the hosts by a tunnel over the cable, which tests use from now on.
    pub(crate) fn tunnel(&mut self) {
        let ends = [
            (&self.client, CLIENT, SERVER),
            (&self.server, SERVER, CLIENT),
        ];
        for ((host, local, remote), address) in ends.into_iter().zip([FAR[1], FAR[0]]) {
            let words =
                format!("link add vx0 type vxlan id 7 dstport 4789 local {local} remote {remote}");
            let words: Vec<&str> = words.split(' ').collect();
            host.ip(&words).unwrap();
            host.add_address("vx0", &format!("{address}/24")).unwrap();
        }
        self.address = FAR[0];
    }

    /// Connects the hosts by an emulated link, with these properties in each direction.
    pub(crate) fn emulate(&self, link: &LinkConfig) -> Tunnel {
        let end = |host: &Namespace, address: &str| End {
            namespace: Some(host.name().to_owned()),
            device: "tun0".into(),
            addresses: vec![(address.parse().unwrap(), 24)],
        };
        let ends = [end(&self.client, CLIENT), end(&self.server, SERVER)];
        let links = [link.clone(), link.clone()];
        Tunnel::start(ends, links, Seed(1), Duration::ZERO).unwrap()
    }

    /// Starts a server.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Server {
        let words = [self.runner, &[PROGRAM, "serve", "-4"], arguments].concat();
        let mut command = self.server.command(&words);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut banner = String::new();
        output.read_line(&mut banner).unwrap();
        assert!(banner.starts_with("dccpmon "), "{banner}");
        Server {
            child,
            _output: output,
        }
    }

    /// A test against the server.
    pub(crate) fn test(&self, arguments: &[&str]) -> Command {
        let words = [self.runner, &[PROGRAM, self.address, "-J"], arguments].concat();
        self.client.command(&words)
    }

    /// The document of a whole test.
    pub(crate) fn document(&self, arguments: &[&str]) -> Value {
        whole(&self.test(arguments).output().unwrap())
    }

    /// The document of a test; `None` if it broke off.
    pub(crate) fn try_document(&self, arguments: &[&str]) -> Option<Value> {
        let output = self.test(arguments).output().unwrap();
        if !output.status.success() {
            println!("{}: {output:?}", arguments.join(" "));
            return None;
        }
        Some(whole(&output))
    }
}

/// Makes a device take about 0.1 ms for each received packet: the kernel compares it with filters that never match.
pub(crate) fn slow_down(host: &Namespace, device: &str) {
    const FILTERS: usize = 4000;
    let always = "match u32 0 0 at 0 ".repeat(16);
    let never = "match u32 0xffffffff 0xffffffff at 12 flowid 1:1";
    let filter =
        format!("filter add dev {device} parent ffff: protocol ip prio 1 u32 {always}{never}\n");
    let lines = format!("qdisc add dev {device} ingress\n") + &filter.repeat(FILTERS);
    let mut command = host.command(&["tc", "-batch", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success(), "tc does not take filters");
}

/// Writes to a file below `/sys/class/net` of a host.
pub(crate) fn set(host: &Namespace, file: &str, value: &str) {
    let words = format!("echo {value} > /sys/class/net/{file}");
    let output = host.command(&["sh", "-c", &words]).output().unwrap();
    assert!(output.status.success(), "{words}: {output:?}");
}

/// The packets that a device dropped: received ones, and those to be sent.
pub(crate) fn drops(host: &Namespace, device: &str) -> [u64; 2] {
    let words = ["ip", "-s", "-j", "link", "show", device];
    let output = host.command(&words).output().unwrap();
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let counters = &list[0]["stats64"];
    ["rx", "tx"].map(|way| counters[way]["dropped"].as_u64().unwrap())
}

/// The document of a test that ended well.
pub(crate) fn whole(output: &Output) -> Value {
    let document = read(output);
    assert_eq!(document["status"], "complete", "{document:#}");
    for flow in document["summary"]["flows"].as_array().unwrap() {
        // TCP has none.
        let ledger: Option<Ledger> = serde_json::from_value(flow["ledger"].clone()).unwrap();
        assert!(ledger.is_none_or(|ledger| ledger.is_closed()), "{flow:#}");
    }
    document
}

/// A server; ended when dropped. `ip netns exec` becomes the program, so that the child is the server itself.
pub(crate) struct Server {
    pub(crate) child: Child,
    /// Its output; a closed one would end it.
    _output: BufReader<ChildStdout>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
