//! Turns a command line into a plan: looks names up and sets the options.

use crate::cli::{Bulk, Family};
use crate::limits::{LENGTH, RECV_BYTES, RECV_PACKETS, SEND_PACKETS};
use crate::load::shape::Shape;
use crate::schema::Transport;
use crate::transport::tcp::has_congestion;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use dccp::proto::cc::Ccid;
use dccp::proto::cc::registry::Ccids;
use dccp::proto::number::to_f64;
use dccp::proto::time::nanos;
use dccp::{Encapsulation, Options};
use dccp_cli::Failure;
use std::net::ToSocketAddrs;

/// The Service Code of measurements.
pub(crate) const SERVICE: [u8; 4] = *b"DMON";
/// The default size of a block of TCP in bytes.
const BLOCK: usize = 64_000;
/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// A bulk test, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) asked: Bulk,
    /// Where the server may be.
    pub(crate) remotes: Vec<SocketAddr>,
    /// Of the control connection.
    pub(crate) control: Options,
    /// Of all data connections: their congestion control is added.
    pub(crate) data: Options,
}

impl Plan {
    /// Looks the host up and makes the options.
    pub(crate) fn new(asked: Bulk) -> Result<Self, Failure> {
        let remotes = look_up(&asked.host, asked.udp_port, asked.family)?;
        Self::to(asked, remotes)
    }

    /// Makes the options for a server that is at one of these addresses.
    pub(crate) fn to(asked: Bulk, remotes: Vec<SocketAddr>) -> Result<Self, Failure> {
        check_congestion(&asked)?;
        let common = Options::new()
            .service_code(SERVICE)
            .encapsulation(asked.over)
            .connect_timeout(ANSWER);
        let data = data_options(common.clone());
        Ok(Self {
            remotes,
            control: common.ccid(2),
            data,
            asked,
        })
    }

    /// A plan that is only shown, because another host runs the test.
    pub(crate) fn of_another(asked: Bulk) -> Self {
        Self {
            asked,
            remotes: Vec::new(),
            control: Options::new(),
            data: Options::new(),
        }
    }

    /// The options of a data connection, counted from 0.
    pub(crate) fn data_of(&self, flow: u32) -> Options {
        let values = self.asked.values_of(flow);
        let data = self.data.clone().ccid(values.ccid);
        let data = if self.asked.is_one_connection {
            data.recv_ccids(&[self.asked.server_ccid.unwrap_or(values.ccid)])
        } else {
            data
        };
        if values.ccid == 2 {
            data.law(values.law.config)
        } else {
            data
        }
    }

    /// The transport and its congestion control in words.
    fn carrier(&self) -> String {
        if !self.asked.own.is_empty() {
            return "DCCP, each flow with its own values".into();
        }
        match self.asked.transport {
            Transport::Udp => return "UDP without congestion control".into(),
            Transport::Tcp => {
                let cc = self.asked.cc(0).map(|cc| format!(" (cc={cc})"));
                return format!("TCP of the system{}", cc.unwrap_or_default());
            }
            Transport::Dccp => {}
        }
        let name = |ccid| Ccids::default().find(ccid).map_or("?", Ccid::name);
        let ccid = self.asked.ccid;
        let law = self.asked.cc(0).map(|law| format!("cc={law}"));
        let law = law.unwrap_or_else(|| name(ccid).into());
        let of_server = self
            .asked
            .server_ccid
            .map(|ccid| format!(", from the server CCID {ccid} ({})", name(ccid)));
        format!("DCCP CCID {ccid} ({law}){}", of_server.unwrap_or_default())
    }

    /// Bytes of a datagram on a path that bears `mps` bytes.
    pub(crate) fn length(&self, mps: usize) -> Result<usize, Failure> {
        match self.asked.length {
            Some(length) if length > mps && self.asked.transport == Transport::Dccp => {
                Err(Failure::run(
                    format!(
                        "-l {length}: a packet to {} holds {mps} bytes at most",
                        self.asked.host
                    ),
                    format!("write -l {mps}, or leave it out"),
                ))
            }
            Some(length) => Ok(length),
            None if self.asked.transport == Transport::Tcp => Ok(BLOCK),
            None => Ok(LENGTH.min(mps)),
        }
    }
}

/// Bytes of a datagram on a path that bears them, or of a block of TCP, if the user names none.
pub(crate) fn usual_length(transport: Transport) -> usize {
    match transport {
        Transport::Tcp => BLOCK,
        Transport::Dccp | Transport::Udp => LENGTH,
    }
}

/// Checks that this system has the congestion control that its sender is to take.
fn check_congestion(asked: &Bulk) -> Result<(), Failure> {
    let name = asked.congestion.as_deref().filter(|_| !asked.is_reverse);
    match name.filter(|name| !has_congestion(name)) {
        None => Ok(()),
        Some(name) => Err(Failure::run(
            format!("--congestion {name}: this system's TCP does not offer it"),
            "choose one that `sysctl net.ipv4.tcp_allowed_congestion_control` prints",
        )),
    }
}

/// The load of a test in words: packets of `length` bytes, and the rate of all flows together.
pub(crate) fn load(bps: Option<u64>, length: usize, duration_ns: u64) -> String {
    use dccp_cli::quantity::show as units;
    let time = units::seconds(duration_ns);
    let length = length as u64;
    let Some(bps) = bps else {
        return format!(
            "load  as fast as the path allows, {time} s, {length} B packets: the bytes are not known before"
        );
    };
    let packets_per_s = to_f64(bps) / 8.0 / to_f64(length.max(1));
    let bytes = u128::from(bps) * u128::from(duration_ns) / 8_000_000_000;
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    format!(
        "load  {} in all, {packets_per_s:.0} packets/s, {time} s: {}",
        units::rate(to_f64(bps)),
        units::bytes(bytes)
    )
}

/// The port of tests over UDP: the next one after that of DCCP over UDP.
pub(crate) fn baseline_port(udp_port: u16) -> Option<u16> {
    udp_port.checked_add(1)
}

/// The congestion controls of the tests.
pub(crate) fn ccids() -> impl Iterator<Item = (u8, &'static str)> {
    let all: Vec<_> = Ccids::default()
        .iter()
        .map(|ccid| (ccid.number(), ccid.name()))
        .collect();
    all.into_iter()
}

/// Sets buffers for the measured connections that are large enough not to limit them.
pub(crate) fn data_options(options: Options) -> Options {
    options
        .send_buffer(SEND_PACKETS)
        .recv_buffer(RECV_PACKETS)
        .recv_buffer_bytes(RECV_BYTES)
        .max_rate(None)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use dccp_cli::quantity::show as units;
        let Bulk {
            flows,
            duration,
            host,
            kind,
            udp_port,
            ..
        } = &self.asked;
        let several = if *flows == 1 { "" } else { "s" };
        let time = units::seconds(nanos(*duration));
        let is_tcp = self.asked.transport == Transport::Tcp;
        let length = self.asked.length;
        let length = length.unwrap_or_else(|| usual_length(self.asked.transport));
        let unit = if is_tcp { "blocks" } else { "packets" };
        f.write_str("plan  ")?;
        if let Some(title) = &self.asked.title {
            write!(f, "{title}: ")?;
        }
        write!(
            f,
            "{kind}, {}, {flows} flow{several}, {time} s, {length} B {unit}",
            self.carrier()
        )?;
        if let Some(packets) = self.asked.packets {
            write!(f, ", {packets} of each flow at most")?;
        }
        if let Shape::Cbr { bps } = self.asked.shape {
            #[expect(clippy::cast_precision_loss, reason = "shown to three digits")]
            let bps = bps as f64;
            write!(f, " at {} each", units::rate(bps))?;
        } else if let Shape::Trace(table) = &self.asked.shape {
            let round = units::seconds(nanos(table.round()));
            write!(
                f,
                ", {} packets in each {round} s by a trace",
                table.packets()
            )?;
        } else if self.asked.shape != Shape::Greedy {
            write!(f, ", shape {} each", self.asked.shape)?;
        }
        let direction = match (self.asked.is_reverse, self.asked.is_both) {
            (_, true) if self.asked.is_one_connection => match self.asked.connections() {
                1 => "over one connection to and from".into(),
                n => format!("over {n} connections to and from"),
            },
            (_, true) => "to and from".into(),
            (true, _) => "from".into(),
            (false, _) => "to".to_owned(),
        };
        let port = baseline_port(*udp_port).unwrap_or(0);
        match self.asked.over {
            _ if self.asked.transport == Transport::Tcp => {
                write!(f, ", {direction} {host}:{udp_port}")
            }
            _ if self.asked.transport == Transport::Udp => write!(f, ", {direction} {host}:{port}"),
            Encapsulation::Udp => write!(f, ", {direction} {host}:{udp_port} (UDP-encapsulated)"),
            Encapsulation::Ip => write!(f, ", {direction} {host} (IP protocol 33)"),
        }
    }
}

pub(crate) fn look_up(host: &str, port: u16, family: Family) -> Result<Vec<SocketAddr>, Failure> {
    // As in a URL, where an IPv6 address stands in brackets.
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let found = (bare.unwrap_or(host), port)
        .to_socket_addrs()
        .map_err(|e| {
            Failure::run(
                format!("the name {host} cannot be looked up: {e}"),
                "check the spelling, or write the address itself",
            )
        })?;
    let remotes: Vec<SocketAddr> = found
        .filter(|a| match family {
            Family::Any => true,
            Family::V4 => a.is_ipv4(),
            Family::V6 => a.is_ipv6(),
        })
        .collect();
    if remotes.is_empty() {
        return Err(Failure::run(
            format!("{host} has no address of the family that was asked for"),
            "leave out -4 or -6",
        ));
    }
    Ok(remotes)
}
