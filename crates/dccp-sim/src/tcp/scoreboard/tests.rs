use super::*;
use dccp_proto::cc::delivery::DeliveryRate;
use proptest::prelude::*;

const LEN: u64 = 100;

fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for n in 0..segments {
        push(&mut board, n * LEN);
    }
    board
}

fn push(board: &mut Scoreboard, start: u64) {
    let stamp = Some(DeliveryRate::default().on_send(Instant::ZERO, true));
    board.push(Instant::ZERO, stamp, start, 100, false);
}

fn resend(board: &mut Scoreboard, position: u64) {
    let stamp = Some(DeliveryRate::default().on_send(Instant::ZERO, true));
    board.resend(Instant::ZERO, stamp, position);
}

/// Blocks of segments as blocks of bytes.
fn blocks(segments: &[(u64, u64)]) -> Vec<(u64, u64)> {
    segments.iter().map(|(a, b)| (a * LEN, b * LEN)).collect()
}

#[test]
fn three_later_segments_show_a_loss() {
    // RFC 6675 §4, IsLost
    let mut b = board(10);
    for (sacked, lost, pipe) in [(2, 0, 9), (3, 0, 8), (4, 1, 6), (5, 1, 5)] {
        let news = b.update(0, &blocks(&[(1, sacked)]));
        assert_eq!(news.packets, 1);
        assert_eq!((b.lost(), b.pipe()), (lost, pipe));
    }
}

#[test]
fn segments_between_blocks_are_lost_if_three_later_ones_arrived() {
    let mut b = board(10);
    b.update(0, &blocks(&[(1, 2), (3, 4), (5, 6)]));
    // 0 is below three; 2 below two, 4 below one.
    assert_eq!((b.lost(), b.next_lost()), (1, Some(0)));
    resend(&mut b, 0);
    assert_eq!((b.pipe(), b.next_lost()), (7, None));
    assert_eq!(b.next_doubtful(), Some(2));
}

#[test]
fn an_acknowledgement_of_part_of_a_segment_acknowledges_none() {
    let mut b = board(3);
    let news = b.update(150, &[]);
    assert_eq!((news.packets, news.bytes, b.una()), (1, 100, 1));
    let news = b.update(150, &[(200, 250)]);
    assert_eq!(
        news.packets, 1,
        "a block that ends inside takes the segment"
    );
    assert!(!b.update(150, &[]).is_advance);
}

#[test]
fn a_timeout_takes_all_for_lost_but_what_arrived() {
    // RFC 6675 §5.1
    let mut b = board(6);
    b.update(0, &blocks(&[(2, 5)]));
    resend(&mut b, 0);
    b.on_timeout();
    assert_eq!((b.lost(), b.pipe()), (3, 0));
    for position in [0, 1, 5] {
        assert_eq!(b.next_lost(), Some(position));
        resend(&mut b, position);
    }
    assert_eq!((b.next_lost(), b.pipe()), (None, 3));
}

#[test]
fn the_highest_open_segment_is_the_last_or_before_the_last_block() {
    // RFC 6675 §4, NextSeg rule 4
    let mut b = board(6);
    assert_eq!(b.last_open(), Some(5));
    b.update(0, &blocks(&[(2, 4)]));
    assert_eq!(b.last_open(), Some(5));
    b.update(0, &blocks(&[(4, 6), (2, 4)]));
    assert_eq!(b.last_open(), Some(1));
    b.update(600, &[]);
    assert!(b.is_empty());
    assert_eq!(b.last_open(), None);
}

#[test]
fn a_retransmission_gives_no_sample_of_its_own() {
    // Karn
    let mut b = board(2);
    resend(&mut b, 0);
    let news = b.update(100, &[]);
    assert_eq!(news.newest_once, None);
    assert!(b.take_newest().is_some());
    assert!(b.update(200, &[]).newest_once.is_some());
}

/// A model of RFC 6675: searches lists of segments.
#[derive(Default)]
struct Model {
    sacked: Vec<bool>,
    again: Vec<bool>,
    una: usize,
    timed_out: usize,
}

impl Model {
    fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (self.una..self.sacked.len()).filter(|n| !self.sacked[*n])
    }

    fn is_lost(&self, n: usize) -> bool {
        n < self.timed_out || self.sacked[n..].iter().filter(|s| **s).count() >= DUP_THRESH
    }

    fn pipe(&self) -> u32 {
        self.open()
            .map(|n| u32::from(!self.is_lost(n)) + u32::from(self.again[n]))
            .sum()
    }

    fn lost(&self) -> usize {
        self.open().filter(|n| self.is_lost(*n)).count()
    }

    fn next_lost(&self) -> Option<u64> {
        let next = self.open().find(|n| self.is_lost(*n) && !self.again[*n]);
        next.map(|n| n as u64)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send(usize),
    Sack(usize, usize),
    Ack(usize),
    Retransmit,
    Timeout,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..8_usize).prop_map(Step::Send),
        6 => (0..60_usize, 1..6_usize).prop_map(|(at, n)| Step::Sack(at, n)),
        2 => (0..8_usize).prop_map(Step::Ack),
        4 => Just(Step::Retransmit),
        1 => Just(Step::Timeout),
    ]
}

proptest! {
    #[test]
    fn its_marks_say_what_a_search_would(steps in proptest::collection::vec(step(), 0..60)) {
        let mut b = Scoreboard::default();
        let mut m = Model::default();
        for step in steps {
            match step {
                Step::Send(n) => for _ in 0..n {
                    push(&mut b, m.sacked.len() as u64 * LEN);
                    m.sacked.push(false);
                    m.again.push(false);
                },
                Step::Sack(at, n) => {
                    // A receiver never SACKs what it could acknowledge.
                    let (from, to) = ((m.una + 1 + at).min(m.sacked.len()), (m.una + 1 + at + n).min(m.sacked.len()));
                    let new = m.sacked[from..to].iter().filter(|s| !**s).count();
                    m.sacked[from..to].fill(true);
                    let news = b.update(m.una as u64 * LEN, &blocks(&[(from as u64, to as u64)]));
                    prop_assert_eq!(news.packets as usize, new);
                }
                Step::Ack(n) => {
                    m.una = (m.una + n).min(m.sacked.len());
                    while m.sacked.get(m.una) == Some(&true) {
                        m.una += 1;
                    }
                    b.update(m.una as u64 * LEN, &[]);
                }
                Step::Retransmit => {
                    prop_assert_eq!(b.next_lost(), m.next_lost());
                    if let Some(position) = m.next_lost() {
                        resend(&mut b, position);
                        m.again[usize::try_from(position).unwrap()] = true;
                    }
                }
                Step::Timeout => {
                    b.on_timeout();
                    m.timed_out = m.sacked.len();
                    m.again.fill(false);
                }
            }
            prop_assert_eq!(b.una(), m.una as u64);
            prop_assert_eq!(b.lost() as usize, m.lost());
            prop_assert_eq!(b.pipe(), m.pipe());
            prop_assert_eq!(b.check(), Ok(()));
        }
    }
}
