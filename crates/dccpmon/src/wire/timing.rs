//! The bodies of probes of the delay and the clocks.
//!
//! ```text
//! probe   sent_ns
//! answer  sent_ns (as in the probe), arrived_ns, replied_ns
//! ```
//!
//! All are big-endian and count nanoseconds of a monotonic clock: `sent_ns` that of the end that asks, the others that of
//! the end that answers.

use dccp_stats::Probe;

/// The body of a probe.
pub(super) fn question(sent_ns: u64) -> [u8; 8] {
    sent_ns.to_be_bytes()
}

/// Reads the body of a probe; `None` if it has another length.
pub(super) fn read_question(body: &[u8]) -> Option<u64> {
    body.try_into().ok().map(u64::from_be_bytes)
}

/// The body of an answer.
pub(super) fn answer(sent_ns: u64, arrived_ns: u64, replied_ns: u64) -> [u8; 24] {
    let mut body = [0; 24];
    let times = [sent_ns, arrived_ns, replied_ns];
    for (bytes, time) in body.chunks_exact_mut(8).zip(times) {
        bytes.copy_from_slice(&time.to_be_bytes());
    }
    body
}

/// Reads the body of an answer that arrived at `returned_ns`; `None` if it has another length.
pub(super) fn read_answer(body: &[u8], returned_ns: u64) -> Option<Probe> {
    let (sent, rest) = body.split_first_chunk()?;
    let (arrived, rest) = rest.split_first_chunk()?;
    let replied: &[u8; 8] = rest.try_into().ok()?;
    Some(Probe {
        sent_ns: u64::from_be_bytes(*sent),
        arrived_ns: u64::from_be_bytes(*arrived),
        replied_ns: u64::from_be_bytes(*replied),
        returned_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_times_are_read_back() {
        assert_eq!(read_question(&question(u64::MAX - 3)), Some(u64::MAX - 3));
        let found = read_answer(&answer(1, 1 << 40, 1 << 41), 9);
        let expected = Probe {
            sent_ns: 1,
            arrived_ns: 1 << 40,
            replied_ns: 1 << 41,
            returned_ns: 9,
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn bodies_of_other_lengths_are_not_read() {
        for length in (0..30).filter(|&length| length != 8) {
            assert_eq!(read_question(&vec![0; length]), None);
        }
        for length in (0..30).filter(|&length| length != 24) {
            assert_eq!(read_answer(&vec![0; length], 1), None);
        }
    }
}
