//! A record of each datagram of a source and its fate, beside the network. It serves transports whose packets carry no
//! stamp of the application, and datagrams that never leave.
//!
//! ```text
//!   source ─ offered: 0 1 2 3 … ─→ sender: dropped, or left at a time ─→ network ─→ arrivals: 0 2 …
//! ```
//! [`endings`] compares the records of both ends.

use super::Datagram;
use dccp_proto::Instant;

/// A datagram that a source offered to its transport. Its number is its place in the record, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offered {
    /// When the application made it, by the clock of its host.
    pub made: Instant,
    /// Bytes.
    pub len: usize,
    /// Of what kind it is: 0 is ordinary, the greater the more important.
    pub class: u8,
    /// The number of the picture that it belongs to; of other sources the number of the datagram.
    pub picture: u64,
    /// Its state at the sender.
    pub state: AtSender,
}

/// The state of a datagram at its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtSender {
    /// It waits, or waited when the flow ended.
    Waiting,
    /// It was dropped: there was no room for it, its deadline came, or it was too big.
    Dropped,
    /// It left at this time, by the clock of its host. In TCP: the socket took it.
    Left(Instant),
}

/// A datagram, or bytes of a stream, that an application received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When it arrived, by the clock of its host.
    pub at: Instant,
    /// The datagram or the bytes.
    pub what: Arrived,
}

/// The content of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrived {
    /// The datagram with this number.
    Datagram(u64),
    /// More of a stream, which has this many bytes so far.
    Stream(u64),
}

/// How a datagram ended. Each datagram has exactly one ending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The receiving application got it at this time, by the clock of its host; of a stream, its last byte.
    Delivered(Instant),
    /// The sender dropped it before it left.
    Dropped,
    /// It left, it did not arrive, and one that left after it did.
    Lost,
    /// None of these: it waits, or is on the path, or the flow ended before.
    Open,
}

/// The record of one end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    is_on: bool,
    offered: Vec<Offered>,
    arrivals: Vec<Arrival>,
    /// Bytes of a stream so far.
    bytes: u64,
}

impl Log {
    /// A record that stays empty unless `is_on`.
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            ..Self::default()
        }
    }

    /// The application at this end becomes known.
    pub(crate) fn switch(&mut self, is_on: bool) {
        self.is_on = is_on;
    }

    /// The source offers its next datagram.
    pub(crate) fn offer(&mut self, datagram: &Datagram, state: AtSender) {
        if self.is_on {
            self.offered.push(Offered {
                made: datagram.made,
                len: datagram.message.len(),
                class: datagram.class,
                picture: datagram.picture,
                state,
            });
        }
    }

    /// The state of the datagram with this number changes.
    pub(crate) fn set(&mut self, number: u64, state: AtSender) {
        let place = usize::try_from(number).ok();
        if let Some(offered) = place.and_then(|place| self.offered.get_mut(place)) {
            offered.state = state;
        }
    }

    /// The datagram with this number arrived.
    pub(crate) fn arrive(&mut self, at: Instant, number: u64) {
        if self.is_on {
            let what = Arrived::Datagram(number);
            self.arrivals.push(Arrival { at, what });
        }
    }

    /// Bytes of a stream arrived.
    pub(crate) fn arrive_bytes(&mut self, at: Instant, bytes: u64) {
        if self.is_on {
            self.bytes += bytes;
            let what = Arrived::Stream(self.bytes);
            self.arrivals.push(Arrival { at, what });
        }
    }

    pub(crate) fn offered(&self) -> &[Offered] {
        &self.offered
    }

    pub(crate) fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }
}

/// How each offered datagram ended. Of a datagram that arrived twice the first arrival counts.
pub fn endings(offered: &[Offered], arrivals: &[Arrival]) -> Vec<Ending> {
    let arrived = arrived_at(offered, arrivals);
    let left = |o: &Offered| match o.state {
        AtSender::Left(at) => Some(at),
        AtSender::Waiting | AtSender::Dropped => None,
    };
    let delivered = offered.iter().zip(&arrived).filter(|(_, at)| at.is_some());
    let newest = delivered.filter_map(|(o, _)| left(o)).max();
    let ending = |(o, at): (&Offered, &Option<Instant>)| match (o.state, at) {
        (_, Some(at)) => Ending::Delivered(*at),
        (AtSender::Dropped, None) => Ending::Dropped,
        (AtSender::Left(at), None) if Some(at) < newest => Ending::Lost,
        (AtSender::Left(_) | AtSender::Waiting, None) => Ending::Open,
    };
    offered.iter().zip(&arrived).map(ending).collect()
}

/// When each offered datagram arrived.
fn arrived_at(offered: &[Offered], arrivals: &[Arrival]) -> Vec<Option<Instant>> {
    let mut at = vec![None; offered.len()];
    // A stream delivers what the socket took, in order.
    let taken = (0..offered.len()).filter(|n| matches!(offered[*n].state, AtSender::Left(_)));
    let mut taken = taken.peekable();
    let mut end = 0;
    for arrival in arrivals {
        match arrival.what {
            Arrived::Datagram(number) => {
                let place = usize::try_from(number).ok();
                if let Some(first) = place.and_then(|place| at.get_mut(place)) {
                    first.get_or_insert(arrival.at);
                }
            }
            Arrived::Stream(bytes) => {
                while let Some(&n) = taken.peek()
                    && end + offered[n].len as u64 <= bytes
                {
                    end += offered[n].len as u64;
                    at[n] = Some(arrival.at);
                    taken.next();
                }
            }
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    /// Datagrams of 100 bytes with these states.
    fn offered(states: &[AtSender]) -> Vec<Offered> {
        let one = |(n, state): (usize, &AtSender)| Offered {
            made: at(n as u64),
            len: 100,
            class: 0,
            picture: n as u64,
            state: *state,
        };
        states.iter().enumerate().map(one).collect()
    }

    #[test]
    fn datagram_that_a_later_one_overtook_is_lost_and_the_last_is_open() {
        let left = |ns| AtSender::Left(at(ns));
        // The fourth overtakes the third: it leaves before.
        let states = [left(10), left(20), left(40), left(30), AtSender::Dropped];
        let states = [&states[..], &[left(50), AtSender::Waiting]].concat();
        let arrivals = [(15, 0), (45, 2), (46, 2)].map(|(ns, number)| Arrival {
            at: at(ns),
            what: Arrived::Datagram(number),
        });
        let expected = [
            Ending::Delivered(at(15)),
            Ending::Lost,
            Ending::Delivered(at(45)),
            Ending::Lost,
            Ending::Dropped,
            Ending::Open,
            Ending::Open,
        ];
        assert_eq!(endings(&offered(&states), &arrivals), expected);
    }

    #[test]
    fn datagram_of_a_stream_arrives_with_its_last_byte() {
        let left = AtSender::Left(at(1));
        let states = [left, left, AtSender::Dropped, left, left];
        let arrivals = [(10, 99), (20, 250), (30, 300)].map(|(ns, bytes)| Arrival {
            at: at(ns),
            what: Arrived::Stream(bytes),
        });
        let expected = [
            Ending::Delivered(at(20)),
            Ending::Delivered(at(20)),
            Ending::Dropped,
            Ending::Delivered(at(30)),
            Ending::Open,
        ];
        assert_eq!(endings(&offered(&states), &arrivals), expected);
    }

    #[test]
    fn record_that_is_off_stays_empty() {
        let datagram = Datagram {
            message: super::super::Message::Zeros(1),
            number: 0,
            made: at(0),
            class: 0,
            picture: 0,
        };
        for is_on in [false, true] {
            let mut log = Log::new(is_on);
            log.offer(&datagram, AtSender::Waiting);
            log.set(0, AtSender::Dropped);
            log.arrive(at(1), 0);
            let n = usize::from(is_on);
            assert_eq!((log.offered().len(), log.arrivals().len()), (n, n));
        }
    }
}
