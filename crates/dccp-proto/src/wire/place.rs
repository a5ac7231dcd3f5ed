//! Where a payload is copied to.

use super::checksum::{self, ChecksumRule};

/// A payload's place in a packet. Over IP one pass fills it and sums the bytes that the checksum covers.
#[derive(Debug)]
pub struct Place<'a> {
    bytes: &'a mut [u8],
    /// Leading bytes that are summed.
    covered: usize,
    sum: Option<u64>,
}

impl<'a> Place<'a> {
    /// A place of just the payload's length, in a packet with this coverage.
    pub fn new(bytes: &'a mut [u8], cscov: u8, rule: ChecksumRule) -> Self {
        let covered = match rule {
            // 6773-3.3-2: nothing is summed.
            ChecksumRule::Udp => 0,
            ChecksumRule::Ip(_) => checksum::covered_len(0, bytes.len(), cscov).unwrap_or(0),
        };
        Self {
            bytes,
            covered,
            sum: None,
        }
    }

    /// Copies the whole payload to its place.
    ///
    /// # Panics
    /// When the payload does not have the place's length.
    pub fn fill(&mut self, payload: &[u8]) {
        assert_eq!(payload.len(), self.bytes.len(), "the payload's place");
        let (covered, rest) = self.bytes.split_at_mut(self.covered);
        let (first, others) = payload.split_at(self.covered);
        self.sum = Some(checksum::copy_and_sum(first, covered));
        rest.copy_from_slice(others);
    }

    /// The place itself, for who copies otherwise: what it holds at the end is summed then.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.sum = None;
        self.bytes
    }

    /// How long it is.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it takes nothing.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The sum of what is covered, if [`fill`](Self::fill) has made it.
    pub(crate) fn sum(&self) -> Option<u64> {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        Kind, Options, Packet, Payload, PseudoHeader, build, header_len, seal_summed,
        write_header_at,
    };
    use super::*;
    use crate::seq::Seq;
    use core::net::Ipv4Addr;
    use proptest::prelude::*;

    const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;

    fn ip() -> ChecksumRule {
        ChecksumRule::Ip(PseudoHeader::new(HOST.into(), HOST.into()))
    }

    proptest! {
        #[test]
        fn a_payload_summed_while_it_is_copied_makes_the_same_packet(
            payload in prop::collection::vec(any::<u8>(), 60..2000),
            cscov in 0..16_u8,
            is_filled in any::<bool>(),
        ) {
            // 4340-9.1-1, 4340-9.2-1
            let packet = Packet {
                source_port: 1,
                dest_port: 2,
                ccval: 0,
                cscov,
                is_short: false,
                seq: Seq::ZERO,
                kind: Kind::Data,
                options: Options(&[32, 3, 1]),
                payload: Payload::Bytes(&payload),
            };
            for rule in [ip(), ChecksumRule::Udp] {
                let mut expected = Vec::new();
                build(&mut expected, &packet, rule).unwrap();

                let mut datagram = vec![0xEE; expected.len()];
                let (header, place) =
                    datagram.split_at_mut(header_len(packet.packet_type(), false, 3));
                let mut place = Place::new(place, cscov, rule);
                prop_assert_eq!(place.len(), payload.len());
                place.fill(&payload);
                prop_assert!(place.sum().is_some());
                if !is_filled {
                    place.bytes_mut().copy_from_slice(&payload);
                    prop_assert_eq!(place.sum(), None);
                }
                let sum = place.sum();
                write_header_at(header, &packet).unwrap();
                seal_summed(&mut datagram, 0, sum, rule).unwrap();
                prop_assert_eq!(&datagram, &expected);
            }
        }
    }

    #[test]
    fn over_udp_nothing_is_summed() {
        // 6773-3.3-2
        let mut bytes = [0; 4];
        let mut place = Place::new(&mut bytes, 0, ChecksumRule::Udp);
        place.fill(&[1, 2, 3, 4]);
        assert_eq!(place.sum(), Some(0));
        let mut place = Place::new(&mut bytes, 0, ip());
        place.fill(&[1, 2, 3, 4]);
        assert_eq!(place.sum(), Some(0x0102 + 0x0304));
        let mut place = Place::new(&mut bytes, 2, ip());
        place.fill(&[5, 6, 3, 4]);
        assert_eq!(place.sum(), Some(0x0506 + 0x0304));
        let mut place = Place::new(&mut bytes, 1, ip());
        place.fill(&[5, 6, 3, 4]);
        assert_eq!(place.sum(), Some(0));
    }

    #[test]
    fn what_takes_nothing_is_empty() {
        assert!(Place::new(&mut [], 0, ip()).is_empty());
        assert!(!Place::new(&mut [0], 0, ip()).is_empty());
    }
}
