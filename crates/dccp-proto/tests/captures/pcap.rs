//! A reader of classic pcap files with Ethernet frames, as much as the captures need.

use std::net::IpAddr;
use std::path::Path;

/// A DCCP packet with the addresses of its IP header.
pub(crate) struct Captured {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) dccp: Vec<u8>,
}

/// The DCCP packets of a capture file; anything else in it is an error.
pub(crate) fn read(path: &Path) -> Vec<Captured> {
    let file = std::fs::read(path).expect("the capture is in the repository");
    let (header, mut rest) = file.split_at(24);
    assert_eq!(
        header[..4],
        [0xD4, 0xC3, 0xB2, 0xA1],
        "little-endian, microseconds"
    );
    assert_eq!(header[20..], [1, 0, 0, 0], "Ethernet");
    let mut packets = Vec::new();
    while let Some((record, after)) = rest.split_at_checked(16) {
        let length = |at: usize| -> [u8; 4] { record[at..at + 4].try_into().expect("four bytes") };
        assert_eq!(length(8), length(12), "frames are complete");
        let (frame, after) = after.split_at(u32::from_le_bytes(length(8)) as usize);
        packets.push(decapsulate(frame));
        rest = after;
    }
    assert!(rest.is_empty(), "{} ends within a record", path.display());
    packets
}

/// The DCCP packet in an Ethernet frame, without the padding of a short frame.
fn decapsulate(frame: &[u8]) -> Captured {
    let (ethernet, ip) = frame.split_at(14);
    let word = |at: usize| usize::from(u16::from_be_bytes([ip[at], ip[at + 1]]));
    match ethernet[12..] {
        [0x08, 0x00] => {
            assert_eq!((ip[0], ip[9]), (0x45, 33), "IPv4 without options, DCCP");
            Captured {
                source: <[u8; 4]>::try_from(&ip[12..16]).expect("four bytes").into(),
                destination: <[u8; 4]>::try_from(&ip[16..20]).expect("four bytes").into(),
                dccp: ip[20..word(2)].to_vec(),
            }
        }
        [0x86, 0xDD] => {
            assert_eq!(
                (ip[0] >> 4, ip[6]),
                (6, 33),
                "IPv6 without extensions, DCCP"
            );
            Captured {
                source: <[u8; 16]>::try_from(&ip[8..24]).expect("16 bytes").into(),
                destination: <[u8; 16]>::try_from(&ip[24..40]).expect("16 bytes").into(),
                dccp: ip[40..40 + word(4)].to_vec(),
            }
        }
        _ => panic!("neither IPv4 nor IPv6"),
    }
}
