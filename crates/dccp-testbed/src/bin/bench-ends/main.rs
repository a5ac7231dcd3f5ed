//! The programs that `cargo xtask bench` runs beside each other.
//!
//! Most are one end of a transfer: a sink, which says `ready` and then waits, or a sender, which sends as
//! fast as it can for some seconds. At its end each prints a [`report::Report`] as one line of JSON.

mod checksum;
mod dccp_ends;
mod handshake;
mod media;
mod paced;
mod quic;
mod raw;
mod report;
mod sizes;
mod spin;
mod udp;

use anyhow::Result;
use clap::{Parser, Subcommand};
use serde::Serialize;

#[derive(Parser)]
#[command(about = "Programs that `cargo xtask bench` runs beside each other")]
struct Cli {
    #[command(subcommand)]
    end: End,
}

#[derive(Subcommand)]
enum End {
    /// Times the header checksum beside a copy
    Checksum(checksum::ChecksumArgs),
    /// Waits for one moment after the other, and says how late it sees them
    Spin(spin::SpinArgs),
    /// Receives plain UDP, with GRO
    UdpSink(udp::SinkArgs),
    /// Sends plain UDP
    UdpSend(udp::SendArgs),
    /// Sends plain UDP at a rate
    UdpPaced(paced::PacedArgs),
    /// Sends plain UDP back
    UdpEcho(paced::EchoArgs),
    /// Measures round trips over plain UDP
    UdpPing(paced::PingArgs),
    /// Receives IP packets of an experimental protocol
    RawSink(raw::SinkArgs),
    /// Sends IP packets of an experimental protocol by sendmmsg
    RawSend(raw::SendArgs),
    /// Receives QUIC datagrams
    QuicSink(quic::SinkArgs),
    /// Sends QUIC datagrams
    QuicSend(quic::SendArgs),
    /// Receives over DCCP
    DccpSink(dccp_ends::SinkArgs),
    /// Sends over DCCP
    DccpSend(dccp_ends::SendArgs),
    /// Receives frames of a constant-rate source
    MediaSink(media::SinkArgs),
    /// Sends frames at a constant rate, every tenth important
    MediaSend(media::SendArgs),
    /// Accepts connections
    Accept(handshake::AcceptArgs),
    /// Makes connections and ends them
    Connect(handshake::ConnectArgs),
    /// Sends Requests and forgets them
    Flood(handshake::FloodArgs),
}

fn main() -> Result<()> {
    let report = match Cli::parse().end {
        End::Checksum(args) => return print(&checksum::measure(&args)?),
        End::Spin(args) => return print(&spin::measure(&args)),
        End::MediaSink(args) => return print(&media::sink(&args)?),
        End::MediaSend(args) => return print(&media::send(&args)?),
        End::Flood(args) => return print(&handshake::flood(&args)?),
        End::UdpEcho(args) => return paced::echo(&args),
        End::UdpPing(args) => return print(&paced::ping(&args)?),
        End::Accept(args) => handshake::accept(&args),
        End::Connect(args) => handshake::connect(&args),
        End::UdpSink(args) => udp::sink(&args),
        End::UdpSend(args) => udp::send(&args),
        End::UdpPaced(args) => paced::send(&args),
        End::RawSink(args) => raw::sink(&args),
        End::RawSend(args) => raw::send(&args),
        End::QuicSink(args) => quic::sink(&args),
        End::QuicSend(args) => quic::send(&args),
        End::DccpSink(args) => dccp_ends::sink(&args),
        End::DccpSend(args) => dccp_ends::send(&args),
    };
    print(&report?)
}

fn print(result: &impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string(result)?);
    Ok(())
}
