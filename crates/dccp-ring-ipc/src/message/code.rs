//! The reports of CCID 248 between processes.
//!
//! ```text
//! | kind u8 | fields |    rates: u64 bit/s, times: u64 ns of the engine's clock, all little-endian
//! 0 Sent · 1 Info: info u8 · 2 HostWarning: rate, host u8 · 3 Congestion: advised, X_tfrc, loss u32 (10^-9), deadline
//! 4 Limited: rate · 5 Dropped: rate, count u64 · 6 Refused: time, cause u8 · 7 NotListening · 8 Blocked
//! Shortfall: declared, received, is_over u8
//! info, host and cause are places in the lists below: new entries come last.
//! ```

use super::Reader;
use dccp_proto::Instant;
use dccp_proto::cc::safeudp::{Cause, Info, SendCode, Shortfall, Side};

const INFOS: [Info; 4] = [
    Info::Transient,
    Info::WithinShare,
    Info::Complied,
    Info::Cleared,
];
const SIDES: [Side; 2] = [Side::Sender, Side::Receiver];

/// The bytes of a code; `None`: this version knows no form of it.
pub(super) fn build(code: &SendCode) -> Option<Vec<u8>> {
    let kind_and = |kind: u8, number: u64| [&[kind], &number.to_le_bytes()[..]].concat();
    Some(match *code {
        SendCode::Sent => vec![0],
        SendCode::Info(info) => vec![1, place(&INFOS, &info)?],
        SendCode::HostWarning { host, bits_per_s } => {
            [kind_and(2, bits_per_s), vec![place(&SIDES, &host)?]].concat()
        }
        SendCode::Congestion {
            advised_bits_per_s,
            tfrc_bits_per_s,
            loss_per_billion,
            deadline,
        } => [
            &kind_and(3, advised_bits_per_s),
            &tfrc_bits_per_s.to_le_bytes()[..],
            &loss_per_billion.to_le_bytes(),
            &deadline.as_nanos().to_le_bytes(),
        ]
        .concat(),
        SendCode::Limited { bits_per_s } => kind_and(4, bits_per_s),
        SendCode::Dropped {
            bits_per_s,
            dropped,
        } => [kind_and(5, bits_per_s), dropped.to_le_bytes().into()].concat(),
        SendCode::Refused { cause, not_before } => [
            kind_and(6, not_before.as_nanos()),
            vec![place(&Cause::ALL, &cause)?],
        ]
        .concat(),
        SendCode::NotListening => vec![7],
        SendCode::Blocked => vec![8],
        _ => return None,
    })
}

/// The code of these bytes, all of them.
pub(super) fn parse(bytes: &[u8]) -> Option<SendCode> {
    let mut rest = Reader(bytes);
    let [kind] = rest.take()?;
    let code = match kind {
        0 => SendCode::Sent,
        1 => SendCode::Info(*at(&INFOS, &mut rest)?),
        2 => SendCode::HostWarning {
            bits_per_s: long(&mut rest)?,
            host: *at(&SIDES, &mut rest)?,
        },
        3 => SendCode::Congestion {
            advised_bits_per_s: long(&mut rest)?,
            tfrc_bits_per_s: long(&mut rest)?,
            loss_per_billion: rest.take().map(u32::from_le_bytes)?,
            deadline: time(&mut rest)?,
        },
        4 => SendCode::Limited {
            bits_per_s: long(&mut rest)?,
        },
        5 => SendCode::Dropped {
            bits_per_s: long(&mut rest)?,
            dropped: long(&mut rest)?,
        },
        6 => SendCode::Refused {
            not_before: time(&mut rest)?,
            cause: *at(&Cause::ALL, &mut rest)?,
        },
        7 => SendCode::NotListening,
        8 => SendCode::Blocked,
        _ => return None,
    };
    Some(code).filter(|_| rest.0.is_empty())
}

/// The bytes of a notice.
pub(super) fn build_shortfall(shortfall: &Shortfall) -> Vec<u8> {
    let Shortfall {
        declared_bits_per_s,
        received_bits_per_s,
        is_over,
    } = shortfall;
    let rates = [declared_bits_per_s, received_bits_per_s].map(|rate| rate.to_le_bytes());
    [rates.as_flattened(), &[u8::from(*is_over)]].concat()
}

/// The notice of these bytes, all of them.
pub(super) fn parse_shortfall(bytes: &[u8]) -> Option<Shortfall> {
    let mut rest = Reader(bytes);
    let shortfall = Shortfall {
        declared_bits_per_s: long(&mut rest)?,
        received_bits_per_s: long(&mut rest)?,
        is_over: match rest.take()? {
            [0] => false,
            [1] => true,
            _ => return None,
        },
    };
    Some(shortfall).filter(|_| rest.0.is_empty())
}

fn place<T: PartialEq>(all: &[T], one: &T) -> Option<u8> {
    let place = all.iter().position(|other| other == one)?;
    u8::try_from(place).ok()
}

fn at<'a, T>(all: &'a [T], rest: &mut Reader<'_>) -> Option<&'a T> {
    let [place] = rest.take()?;
    all.get(usize::from(place))
}

fn long(rest: &mut Reader<'_>) -> Option<u64> {
    rest.take().map(u64::from_le_bytes)
}

fn time(rest: &mut Reader<'_>) -> Option<Instant> {
    long(rest).map(Instant::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_comes_back_and_no_cut_one_does() {
        let time = Instant::from_nanos(0x0102_0304_0506_0708);
        let mut codes = vec![
            SendCode::Sent,
            SendCode::Congestion {
                advised_bits_per_s: 1 << 40,
                tfrc_bits_per_s: u64::MAX,
                loss_per_billion: 1 << 20,
                deadline: time,
            },
            SendCode::Limited { bits_per_s: 5 },
            SendCode::Dropped {
                bits_per_s: 6,
                dropped: 1 << 50,
            },
            SendCode::NotListening,
            SendCode::Blocked,
        ];
        codes.extend(INFOS.map(SendCode::Info));
        codes.extend(SIDES.map(|host| SendCode::HostWarning {
            host,
            bits_per_s: 7,
        }));
        codes.extend(Cause::ALL.map(|cause| SendCode::Refused {
            cause,
            not_before: time,
        }));
        for code in codes {
            let bytes = build(&code).expect("a form");
            assert_eq!(parse(&bytes), Some(code));
            assert_eq!(parse(&bytes[..bytes.len() - 1]), None, "{code:?}");
            assert_eq!(parse(&[&bytes[..], &[0]].concat()), None, "{code:?}");
        }
        let shortfall = Shortfall {
            declared_bits_per_s: 1 << 40,
            received_bits_per_s: 3,
            is_over: true,
        };
        let bytes = build_shortfall(&shortfall);
        assert_eq!(parse_shortfall(&bytes), Some(shortfall));
        assert_eq!(parse_shortfall(&bytes[1..]), None);
        assert_eq!(parse(&[1, 4]), None);
        assert_eq!(parse(&[9]), None);
    }
}
