//! Fates as they stand in a ring.

use dccp_proto::Instant;
use dccp_proto::queue::Fate;
use dccp_ring::Report;

/// The fate of a datagram that went through a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingFate {
    /// Its tag.
    pub tag: u64,
    /// The fate.
    pub fate: Fate,
    /// When that was known.
    pub at: Instant,
}

impl RingFate {
    /// Its form in the ring: the fate's place in [`Fate::ALL`], and a drop code in the next byte.
    pub(crate) fn report(self) -> Report {
        let detail = match self.fate {
            Fate::RxDropped(code) => code,
            _ => 0,
        };
        Report {
            tag: self.tag,
            fate: u64::from(self.fate.index()) | u64::from(detail) << 8,
            at_ns: self.at.as_nanos(),
        }
    }

    /// Reads the form in the ring; `None` if it is no fate.
    pub(crate) fn of(report: Report) -> Option<Self> {
        let [number, detail, ..] = report.fate.to_le_bytes();
        let fate = match Fate::ALL.get(usize::from(number))? {
            Fate::RxDropped(_) => Fate::RxDropped(detail),
            fate => *fate,
        };
        Some(Self {
            tag: report.tag,
            fate,
            at: Instant::from_nanos(report.at_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fate_comes_back() {
        for fate in Fate::ALL.into_iter().chain([Fate::RxDropped(255)]) {
            let told = RingFate {
                tag: 7,
                fate,
                at: Instant::from_nanos(9),
            };
            assert_eq!(RingFate::of(told.report()), Some(told));
        }
        let foreign = Report {
            tag: 7,
            fate: 11,
            at_ns: 9,
        };
        assert_eq!(RingFate::of(foreign), None);
    }
}
