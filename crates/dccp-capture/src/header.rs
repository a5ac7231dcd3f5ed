//! The DCCP header of a datagram that was captured in part.

use dccp_proto::wire::{ChecksumRule, Datagram, Packet, parse};

/// Returns how many bytes at the front of `datagram` to capture: `snap`, but the whole header, so that
/// [`read`] succeeds. A header has at most 1,020 bytes.
pub fn capture_len(datagram: &[u8], snap: usize) -> usize {
    snap.max(header_len(datagram)).min(datagram.len())
}

/// Returns the length that the Data Offset field states; 0 if the field is missing.
fn header_len(datagram: &[u8]) -> usize {
    datagram.get(4).map_or(0, |&words| usize::from(words) * 4)
}

/// Reads the header of a datagram of `len` bytes that begins with `captured`. The payload of the result has the
/// right length; its bytes count as zeros. Checksums are not verified.
///
/// Returns `None` if no whole and valid header was captured.
pub fn read(captured: &[u8], len: usize) -> Option<Packet<'_>> {
    let bytes = captured.get(..header_len(captured))?;
    let datagram = Datagram {
        bytes,
        zeros: len.checked_sub(bytes.len())?,
    };
    parse(&datagram, ChecksumRule::Udp).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::Seq;
    use dccp_proto::wire::{Kind, Opt, OptionWriter, Payload, build};
    use proptest::prelude::*;

    /// A `DataAck` packet with one option and 100 bytes of data, ports 5001 → 6001.
    fn datagram() -> Vec<u8> {
        let mut options = OptionWriter::new(100);
        options.push(&Opt::ndp_count(7)).expect("room");
        let packet = Packet {
            source_port: 5001,
            dest_port: 6001,
            ccval: 3,
            cscov: 0,
            is_short: false,
            seq: Seq::new(1_000),
            kind: Kind::DataAck {
                ack: Seq::new(2_000),
            },
            options: options.options(),
            payload: Payload::Bytes(&[0x55; 100]),
        };
        let mut bytes = Vec::new();
        build(&mut bytes, &packet, ChecksumRule::Udp).expect("valid");
        bytes
    }

    #[test]
    fn header_of_a_cut_datagram_is_read_in_full() {
        let whole = datagram();
        let captured = &whole[..capture_len(&whole, 5)];
        assert_eq!(captured.len(), 28, "24 bytes and one option");
        let packet = read(captured, whole.len()).expect("the header is whole");
        assert_eq!(packet.seq, Seq::new(1_000));
        assert_eq!(packet.ack(), Some(Seq::new(2_000)));
        assert_eq!(packet.ccval, 3);
        assert_eq!(packet.options.iter().next(), Some(Opt::ndp_count(7)));
        assert_eq!(packet.payload.len(), 100);
    }

    #[test]
    fn datagram_without_whole_header_is_not_read() {
        let whole = datagram();
        assert_eq!(read(&whole[..27], whole.len()), None);
        assert_eq!(read(&[], 0), None);
        assert_eq!(read(&whole, 20), None, "more was captured than there was");
    }

    #[test]
    fn capture_is_never_longer_than_the_datagram() {
        let whole = datagram();
        assert_eq!(capture_len(&whole, 40), 40);
        assert_eq!(capture_len(&whole, 10_000), whole.len());
        assert_eq!(capture_len(&[0, 0, 0, 0, 255], 0), 5);
        assert_eq!(capture_len(&[], 128), 0);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), len in 0..2_000_usize) {
            if let Some(packet) = read(&bytes, len) {
                prop_assert!(packet.payload.len() <= len);
            }
        }
    }
}
