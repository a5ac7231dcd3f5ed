//! Forged packets that are close to what a connection expects.

use super::end::Seen;
use super::input::{Input, SERVICE};
use dccp_proto::path::Flow;
use dccp_proto::wire::ccid_options::{LossInterval, push_loss_intervals};
use dccp_proto::wire::{
    self, CcidOpt, Elapsed, FeatureOpt, Kind, Opt, OptionWriter, Options, Packet, Payload,
    ResetCode, ServiceCode,
};
use dccp_proto::{Instant, Seq};

/// Length of the longest payload in bytes.
const PAYLOAD_MAX: usize = 1000;

/// The sources of plausible fields.
pub(super) struct Forge<'f> {
    pub(super) now: Instant,
    /// The connection that gets the packet.
    pub(super) flow: Flow,
    pub(super) seen: Seen,
    /// Options of a real packet.
    pub(super) real: &'f [u8],
}

impl Forge<'_> {
    /// A packet to the connection, possibly with the next sequence number and the last Acknowledgement Number.
    ///
    /// It replaces `bytes`, which stay empty if it cannot be built. `options` is memory for its options.
    pub(super) fn packet(
        &self,
        input: &mut Input<'_>,
        bytes: &mut Vec<u8>,
        options: &mut OptionWriter,
    ) {
        let seq = near(self.seen.ackno.next(), input);
        let ack = near(self.seen.gss, input);
        let kind = Self::kind(ack, input);
        options.reset(900);
        for _ in 0..input.below(5) {
            // Options that do not fit are left out.
            let _ = self.push_option(input, options);
        }
        let header = input.byte();
        let len = input.pick(&[0, 0, 1, 4, 100, PAYLOAD_MAX]);
        let payload = &[header; PAYLOAD_MAX][..len];
        let is_short = header & 0x80 != 0 && kind.packet_type().may_be_short();
        let packet = Packet {
            source_port: self.flow.remote_port,
            dest_port: self.flow.local_port,
            ccval: header & 0xF,
            cscov: input.pick(&[0, 0, 0, 1, 2, 15]),
            is_short,
            seq: if is_short {
                Seq::new(seq.low_24().into())
            } else {
                seq
            },
            kind: if is_short {
                kind.with_ack(Seq::new(ack.low_24().into()))
            } else {
                kind
            },
            options: Options(options.as_slice()),
            payload: Payload::Bytes(payload),
        };
        let rule = self.flow.path.reversed().checksum_rule();
        bytes.clear();
        if wire::build(bytes, &packet, rule).is_err() {
            bytes.clear();
        }
    }

    fn kind(ack: Seq, input: &mut Input<'_>) -> Kind {
        match input.below(16) {
            0 => Kind::Request { service: SERVICE },
            1 => Kind::Response {
                ack,
                service: SERVICE,
            },
            2..=4 => Kind::Data,
            5..=7 => Kind::Ack { ack },
            8 | 9 => Kind::DataAck { ack },
            10 => Kind::CloseReq { ack },
            11 => Kind::Close { ack },
            12 => Kind::Reset {
                ack,
                code: ResetCode(input.byte()),
                data: [1, 2, 3],
            },
            13 => Kind::Sync { ack },
            14 => Kind::SyncAck { ack },
            _ => Kind::Listen {
                service: input.pick(&[SERVICE, ServiceCode(9)]),
            },
        }
    }

    fn push_option(
        &self,
        input: &mut Input<'_>,
        w: &mut OptionWriter,
    ) -> Result<(), wire::NoSpace> {
        let (nonce, mut memory) = (false, [0; CELLS_MAX]);
        match input.below(18) {
            0..=2 => {
                let cells = cells(input, &mut memory);
                w.push(&Opt::AckVector { nonce, cells })
            }
            3 => w.push(&Opt::DataDropped(cells(input, &mut memory))),
            4..=6 => push_feature(input, w),
            7 => w.push(&Opt::Timestamp(self.now.timestamp())),
            8 => w.push(&Opt::TimestampEcho {
                echo: near_timestamp(self.now, input),
                elapsed: elapsed(input),
            }),
            9 | 10 => w.push(&Opt::ElapsedTime(elapsed(input))),
            11 => w.push(&Opt::ndp_count(input.pick(&[
                0,
                1,
                3,
                100,
                1 << 20,
                (1 << 48) - 1,
            ]))),
            12 => w.push(&Opt::SlowReceiver),
            13 => w.push(&Opt::Mandatory),
            14 => {
                let width = input.pick(&[253, 1, 100]);
                w.push(&Opt::InitCookie(&[7; 253][..width]))
            }
            15 => push_feedback(input, w),
            16 => w.push_all(Options(self.real)),
            _ => {
                let kind = input.byte().max(32);
                let len = input.below(12);
                w.push_raw(kind, input.take(len))
            }
        }
    }
}

/// A number at or near another, in the window or at its edges.
pub(super) fn near(seq: Seq, input: &mut Input<'_>) -> Seq {
    match input.byte() {
        0..=127 => seq,
        n @ 128..=143 => seq.plus(u64::from(n - 128)),
        n @ 144..=159 => seq.minus(u64::from(n - 144)),
        160..=167 => seq.plus(input.pick(&[73, 74, 75, 76, 99, 100])),
        168..=175 => seq.minus(input.pick(&[23, 24, 25, 26, 99, 100])),
        176..=183 => seq.plus(1 << input.below(48)),
        184..=191 => seq.minus(1 << input.below(48)),
        192..=199 => seq.plus(3 << 44),
        200..=207 => Seq::new(input.number(6)),
        n => seq.minus(u64::from(n & 3)),
    }
}

fn near_timestamp(now: Instant, input: &mut Input<'_>) -> u32 {
    let now = now.timestamp();
    match input.below(4) {
        0 => now,
        1 => now.wrapping_add(1),
        2 => now.wrapping_sub(u32::from(input.byte())),
        _ => 77,
    }
}

fn elapsed(input: &mut Input<'_>) -> Elapsed {
    match input.below(6) {
        0 => Elapsed::None,
        1 => Elapsed::Short(0),
        2 => Elapsed::Short(input.byte().into()),
        3 => Elapsed::Short(u16::MAX),
        4 => Elapsed::Long(1 << 20),
        _ => Elapsed::Long(u32::MAX),
    }
}

/// The most runs of packets in one option.
const CELLS_MAX: usize = 252;

/// Runs of packets: many of one kind, or as the input says.
fn cells<'m, 'i: 'm>(input: &mut Input<'i>, memory: &'m mut [u8; CELLS_MAX]) -> &'m [u8] {
    let n = input.below(4);
    if n > 1 {
        return input.take(4 * n);
    }
    memory.fill(input.byte());
    let len = if n == 0 {
        input.below(CELLS_MAX + 1)
    } else {
        1
    };
    &memory[..len]
}

fn push_feature(input: &mut Input<'_>, w: &mut OptionWriter) -> Result<(), wire::NoSpace> {
    let feature = input.pick(&[1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 128, 192, 77]);
    let values: &[u8] = match (feature, input.below(6)) {
        (3, n) => [
            &[0, 0, 0, 0, 0, 32][..],
            &[0, 0, 0, 0, 0, 100],
            &[0, 0, 0, 0, 4, 0],
            &[0, 0, 0, 2, 0, 0],
            &[0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            &[0, 0, 0, 0, 0, 31],
        ][n],
        (5, n) => [&[0, 0][..], &[0, 1], &[0, 2], &[0, 9], &[0xFF, 0xFF], &[1]][n],
        (1, n) => [&[2, 2][..], &[3, 3], &[2, 3], &[3, 2], &[4], &[3, 3, 2]][n],
        (_, n) => [&[1][..], &[0], &[1, 0], &[0, 1], &[1, 1], &[0, 0, 1]][n],
    };
    let option = FeatureOpt { feature, values };
    match input.below(4) {
        0 => w.push(&Opt::ChangeL(option)),
        1 => w.push(&Opt::ConfirmL(option)),
        2 => w.push(&Opt::ChangeR(option)),
        _ => w.push(&Opt::ConfirmR(option)),
    }
}

/// Options of a CCID 3 receiver, and RTT Estimate.
fn push_feedback(input: &mut Input<'_>, w: &mut OptionWriter) -> Result<(), wire::NoSpace> {
    let rates = [0, 1, 1000, 1 << 20, u32::MAX];
    CcidOpt::ReceiveRate(input.pick(&rates)).push(w)?;
    CcidOpt::LossEventRate(input.pick(&rates)).push(w)?;
    let lengths = [0, 1, 5, 1000, 0xFF_FFFF];
    let interval = LossInterval {
        lossless: input.pick(&lengths),
        nonce: false,
        loss: input.pick(&lengths),
        data: input.pick(&lengths),
    };
    let count = input.below(10);
    push_loss_intervals(w, input.pick(&[0, 1, 3]), &[interval; 9][..count])?;
    w.push_raw(128, &[0, 0, 9][..input.below(4)])
}
