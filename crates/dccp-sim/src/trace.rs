//! A readable account of packets, one a line, for people and for snapshots in tests.
//!
//! ```text
//!     0.000 client>server Request 0 service 42 [Timestamp 0]               20.000
//!     0.000 ...                                                            lost: queue full
//! ```
//! Time of sending in ms, way, packet with sequence numbers counted from the first of each
//! direction, and at the end how many ms it took, or why it was lost.

mod describe;

use crate::frame::{Content, Frame, IcmpError};
use crate::loss::Loss;
use core::fmt::Write as _;
use core::net::IpAddr;
use dccp_proto::wire::{ChecksumRule, Packet, PacketType, parse};
use dccp_proto::{Instant, Seq};
use std::collections::BTreeMap;

/// Packets since the trace began.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// Leaves out all other packets.
    only: Option<PacketType>,
    lines: Vec<Line>,
    first: BTreeMap<Half, Seq>,
}

/// One direction of a connection: addresses and DCCP ports of source and destination.
type Half = (IpAddr, u16, IpAddr, u16);

#[derive(Clone, Debug)]
struct Line {
    sent: Instant,
    way: String,
    what: String,
    end: End,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Open,
    Delivered(Instant),
    Lost(Loss),
}

impl Trace {
    /// A trace of the packets of one type.
    pub(crate) fn only(packet_type: PacketType) -> Self {
        Self {
            only: Some(packet_type),
            ..Self::default()
        }
    }

    pub(crate) fn sent(&mut self, frame: &mut Frame, from: &str, to: &str) {
        if self
            .only
            .is_some_and(|only| packet_type(frame) != Some(only))
        {
            frame.line = None;
            return;
        }
        let what = match frame.content {
            Content::Dccp => self.datagram(frame),
            Content::Icmp { error, .. } => match error {
                IcmpError::TooBig { mtu } => format!("ICMP too big, mtu {mtu}"),
                IcmpError::Unreachable { kind, code } => format!("ICMP type {kind} code {code}"),
            },
            Content::Tcp(segment) => describe::segment(&segment),
            Content::Udp(datagram) => format!("UDP {} {} bytes", datagram.number, datagram.len),
        };
        let ecn = match frame.ecn as u8 {
            0 => "",
            1 => " ect1",
            2 => " ect0",
            _ => " ce",
        };
        frame.line = Some(self.lines.len());
        self.lines.push(Line {
            sent: frame.sent,
            way: format!("{from}>{to}"),
            what: what + ecn,
            end: End::Open,
        });
    }

    /// A link made a second copy of a frame.
    pub(crate) fn duplicated(&mut self, copy: &mut Frame) {
        let original = copy.line.and_then(|l| self.lines.get(l)).cloned();
        if let Some(line) = original {
            copy.line = Some(self.lines.len());
            self.lines.push(Line {
                what: format!("(again) {}", line.what),
                ..line
            });
        }
    }

    pub(crate) fn delivered(&mut self, now: Instant, frame: &Frame) {
        self.end(frame, End::Delivered(now));
    }

    pub(crate) fn lost(&mut self, frame: &Frame, reason: Loss) {
        self.end(frame, End::Lost(reason));
    }

    fn end(&mut self, frame: &Frame, end: End) {
        if let Some(line) = frame.line.and_then(|l| self.lines.get_mut(l)) {
            line.end = end;
        }
    }

    /// All lines.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for Line {
            sent,
            way,
            what,
            end,
        } in &self.lines
        {
            let end = match end {
                End::Open => "on the way".to_owned(),
                End::Delivered(at) => ms(at.as_nanos() - sent.as_nanos()),
                End::Lost(reason) => format!("lost: {reason}"),
            };
            let sent = ms(sent.as_nanos());
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{sent:>10} {way} {what}  ({end})");
        }
        text
    }

    fn datagram(&mut self, frame: &Frame) -> String {
        // The checksum is the receiver's affair.
        match parse(&frame.datagram(), ChecksumRule::Udp) {
            Ok(packet) => {
                let (first, first_back) = self.origins(frame, &packet);
                describe::packet(&packet, first, first_back)
            }
            Err(error) => format!("malformed: {error}, {} bytes", frame.datagram().len()),
        }
    }

    /// From where to count sequence and acknowledgement numbers.
    fn origins(&mut self, frame: &Frame, packet: &Packet<'_>) -> (Seq, Seq) {
        let source = (frame.path.local, packet.source_port);
        let dest = (frame.path.remote, packet.dest_port);
        let first = *self
            .first
            .entry((source.0, source.1, dest.0, dest.1))
            .or_insert(packet.seq);
        let back = self.first.get(&(dest.0, dest.1, source.0, source.1));
        (first, back.copied().unwrap_or(Seq::ZERO))
    }
}

/// The type of a packet of DCCP that is not malformed.
fn packet_type(frame: &Frame) -> Option<PacketType> {
    if !matches!(frame.content, Content::Dccp) {
        return None;
    }
    let datagram = frame.datagram();
    let packet = parse(&datagram, ChecksumRule::Udp).ok()?;
    Some(packet.packet_type())
}

/// Nanoseconds as milliseconds with three digits.
fn ms(ns: u64) -> String {
    let us = ns / 1000;
    format!("{}.{:03}", us / 1000, us % 1000)
}

#[cfg(test)]
mod tests;
