//! The command line.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use dccp::{Encapsulation, Options, ServiceCode};

#[derive(Parser)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Wait for connections
    Listen {
        /// DCCP port
        port: u16,
        #[command(flatten)]
        settings: Settings,
    },
    /// Make a connection
    Connect {
        /// Numeric address
        host: IpAddr,
        /// DCCP port
        port: u16,
        #[command(flatten)]
        settings: Settings,
    },
}

/// The carrier of DCCP packets.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Carrier {
    /// IP protocol 33
    Ip,
    /// UDP
    Udp,
}

#[derive(clap::Args)]
pub(crate) struct Settings {
    /// Service Code: SC:VIDE, SC=x56494445, or a number
    #[arg(long, default_value = "0", value_parser = service)]
    pub(crate) service: ServiceCode,
    /// CCID of both directions
    #[arg(long, default_value_t = 2)]
    pub(crate) ccid: u8,
    /// Checksum Coverage of what is sent
    #[arg(long, default_value_t = 0)]
    pub(crate) cscov: u8,
    /// Least Checksum Coverage accepted
    #[arg(long, default_value_t = 0)]
    pub(crate) min_cscov: u8,
    /// Local address
    #[arg(long)]
    bind: Option<IpAddr>,
    /// IP protocol 33, or UDP
    #[arg(long, value_enum, default_value = "ip")]
    over: Carrier,
    /// UDP port of the listener, with --over udp
    #[arg(long, default_value_t = dccp::DEFAULT_UDP_PORT)]
    pub(crate) udp_port: u16,
    /// Messages to send
    #[arg(long)]
    pub(crate) count: Option<u32>,
    /// Bytes of a message
    #[arg(long, default_value_t = 200)]
    pub(crate) size: usize,
    /// Messages a second; 0: as fast as the congestion control allows
    #[arg(long, default_value_t = 100.0)]
    pub(crate) rate: f64,
    /// Send for this many seconds
    #[arg(long, value_parser = seconds)]
    pub(crate) duration: Option<Duration>,
    /// Listening: send by --count or --duration, like a client
    #[arg(long)]
    pub(crate) source: bool,
    /// Listening: send every message back; connecting: expect that
    #[arg(long)]
    pub(crate) echo: bool,
    /// After the last message: close after this many seconds without a message [2 with --echo,
    /// else 0]
    #[arg(long, value_parser = seconds)]
    wait: Option<Duration>,
    /// End with a Reset instead of Close
    #[arg(long)]
    pub(crate) abort: bool,
    /// Give up after this many seconds
    #[arg(long, value_parser = seconds)]
    timeout: Option<Duration>,
    /// Listening: end after this many connections
    #[arg(long)]
    pub(crate) conns: Option<usize>,
}

impl Settings {
    pub(crate) fn options(&self) -> Options {
        let over = match self.over {
            Carrier::Ip => Encapsulation::Ip,
            Carrier::Udp => Encapsulation::Udp,
        };
        let mut options = Options::new()
            .encapsulation(over)
            .service_codes(&[self.service])
            .ccid(self.ccid)
            .checksum_coverage(self.cscov)
            .min_checksum_coverage(self.min_cscov);
        if let Some(bind) = self.bind {
            options = options.bind((bind, 0).into());
        }
        options
    }

    pub(crate) fn bind_or_any(&self) -> IpAddr {
        self.bind.unwrap_or(Ipv4Addr::UNSPECIFIED.into())
    }

    pub(crate) fn wait(&self) -> Duration {
        let default = if self.echo { 2 } else { 0 };
        self.wait.unwrap_or(Duration::from_secs(default))
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }
}

/// A Service Code in a form of RFC 5595, or a number.
fn service(text: &str) -> Result<ServiceCode, String> {
    let code = text.parse::<ServiceCode>();
    code.or_else(|e| format!("SC={text}").parse().map_err(|_| e.to_string()))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}
