//! Where transfers happen: two hosts of our own and a cable, or this host's loopback.

use anyhow::Result;
use core::fmt;
use std::process::Command;

use dccp_dev::shell::{self, command};
use dccp_netns::{Namespace, veth};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Loopback,
    /// Two namespaces joined by a veth pair.
    Veth {
        mtu: u32,
        /// Whether the pair takes packets that are yet to be cut, or merged.
        has_offloads: bool,
    },
}

/// The two ends of a place.
pub(super) struct Hosts {
    /// Sender and sink; none on the loopback.
    hosts: Option<(Namespace, Namespace)>,
}

const DEVICE: &str = "bench0";
const CLIENT: &str = "10.35.0.1";
const SERVER: &str = "10.35.0.2";

impl Place {
    pub(super) fn veth(mtu: u32, has_offloads: bool) -> Self {
        Self::Veth { mtu, has_offloads }
    }

    pub(super) fn mtu(self) -> u32 {
        match self {
            Self::Loopback => 1500,
            Self::Veth { mtu, .. } => mtu,
        }
    }

    pub(super) fn build(self) -> Result<Hosts> {
        let Self::Veth { mtu, has_offloads } = self else {
            return Ok(Hosts { hosts: None });
        };
        let (client, server) = (Namespace::new("client")?, Namespace::new("server")?);
        veth(&client, &server, DEVICE)?;
        for (host, address) in [(&client, CLIENT), (&server, SERVER)] {
            host.ip(&["link", "set", DEVICE, "mtu", &mtu.to_string()])?;
            host.add_address(DEVICE, &format!("{address}/24"))?;
            if !has_offloads {
                let words = "ethtool -K bench0 gso off gro off tso off tx-udp-segmentation off";
                let words: Vec<_> = words.split(' ').collect();
                shell::output(&mut host.command(&words))?;
            }
        }
        Ok(Hosts {
            hosts: Some((client, server)),
        })
    }
}

impl Hosts {
    /// The sink's address.
    pub(super) fn server(&self) -> &'static str {
        match self.hosts {
            Some(_) => SERVER,
            None => "127.0.0.1",
        }
    }

    /// A command on the sender's host, on a core of its own.
    pub(super) fn sender(&self, line: &str) -> Command {
        Self::on(self.hosts.as_ref().map(|(client, _)| client), "0", line)
    }

    /// A command on the sink's host, on a core of its own.
    pub(super) fn sink(&self, line: &str) -> Command {
        Self::on(self.hosts.as_ref().map(|(_, server)| server), "1", line)
    }

    fn on(host: Option<&Namespace>, core: &str, line: &str) -> Command {
        let words = ["taskset", "--cpu-list", core].into_iter();
        let words: Vec<_> = words.chain(line.split_whitespace()).collect();
        match host {
            Some(host) => host.command(&words),
            None => command(&words),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback => f.write_str("loopback"),
            Self::Veth { mtu, has_offloads } => {
                let offloads = if *has_offloads {
                    ""
                } else {
                    " without offloads"
                };
                write!(f, "veth {mtu}{offloads}")
            }
        }
    }
}
