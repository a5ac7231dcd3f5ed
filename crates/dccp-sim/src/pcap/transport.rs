//! TCP segments and UDP datagrams as bytes.

use super::ip_header;
use crate::frame::Frame;
use crate::frame::UdpDatagram;
use crate::frame::segment::{Flags, Segment};
use dccp_capture::ip::{
    PROTOCOL_TCP, PROTOCOL_UDP, checksum, fill_udp_checksum, pseudo_header, saturated_u16,
    write_udp_header,
};
use dccp_proto::path::Path;

const OPTION_NOP: u8 = 1;
const OPTION_MSS: u8 = 2;
const OPTION_WINDOW_SCALE: u8 = 3;
const OPTION_SACK_PERMITTED: u8 = 4;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;

/// Appends the IP packet of a segment. Its data are zeros.
pub(super) fn write_tcp(frame: &Frame, s: &Segment, out: &mut Vec<u8>) {
    let tos = frame.ecn as u8;
    ip_header(&frame.path, PROTOCOL_TCP, tos, frame.may_fragment).write(s.wire_len(), out);
    let start = out.len();
    for port in [s.source_port, s.dest_port] {
        out.extend_from_slice(&port.to_be_bytes());
    }
    out.extend_from_slice(&s.seq.to_be_bytes());
    let ack = if s.flags.has(Flags::ACK) { s.ack } else { 0 };
    out.extend_from_slice(&ack.to_be_bytes());
    // The window of a SYN is not scaled (RFC 7323 §2.2).
    let scale = if s.is_syn() { 0 } else { s.window_scale };
    let window = u16::try_from(s.window >> scale).unwrap_or(u16::MAX);
    let offset = saturated_u16(s.header_len() / 4) << 12;
    for field in [offset | u16::from(s.flags.byte()), window, 0, 0] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    write_options(s, out);
    out.resize(out.len() + usize::from(s.len), 0);
    let Path { local, remote, .. } = frame.path;
    let pseudo = pseudo_header(local, remote, PROTOCOL_TCP, s.wire_len());
    let sum = checksum(pseudo, &out[start..]).to_be_bytes();
    out[start + 16..start + 18].copy_from_slice(&sum);
}

fn write_options(s: &Segment, out: &mut Vec<u8>) {
    if s.is_syn() {
        let [high, low] = s.mss.to_be_bytes();
        out.extend_from_slice(&[OPTION_MSS, 4, high, low, OPTION_SACK_PERMITTED, 2]);
    }
    if let Some(t) = s.timestamps {
        if !s.is_syn() {
            out.extend_from_slice(&[OPTION_NOP; 2]);
        }
        out.extend_from_slice(&[OPTION_TIMESTAMPS, 10]);
        out.extend_from_slice(&t.value.to_be_bytes());
        out.extend_from_slice(&t.echo.to_be_bytes());
    } else if s.is_syn() {
        out.extend_from_slice(&[OPTION_NOP; 2]);
    }
    if s.is_syn() {
        out.extend_from_slice(&[OPTION_NOP, OPTION_WINDOW_SCALE, 3, s.window_scale]);
    }
    let blocks = s.sack.blocks();
    if !s.is_syn() && !blocks.is_empty() {
        let len = u8::try_from(2 + 8 * blocks.len()).unwrap_or(u8::MAX);
        out.extend_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_SACK, len]);
        for (from, to) in blocks {
            out.extend_from_slice(&from.to_be_bytes());
            out.extend_from_slice(&to.to_be_bytes());
        }
    }
}

/// Appends the IP packet of a datagram of UDP. Its data are zeros.
pub(super) fn write_udp(frame: &Frame, d: &UdpDatagram, out: &mut Vec<u8>) {
    let len = d.wire_len();
    let tos = frame.ecn as u8;
    ip_header(&frame.path, PROTOCOL_UDP, tos, frame.may_fragment).write(len, out);
    let start = out.len();
    write_udp_header(d.source_port, d.dest_port, len - 8, 0, out);
    out.resize(start + len, 0);
    let Path { local, remote, .. } = frame.path;
    fill_udp_checksum(local, remote, &mut out[start..]);
}
