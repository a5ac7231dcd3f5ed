use super::super::tests::{START, TestSender, Waiting, ack, ack_of_last, offer, open};
use super::super::{Connection, NoApp};
use super::*;
use crate::config::Config;
use crate::queue::{self, Outbox, Slot};
use crate::wire::option_writer::OptionWriter;
use crate::wire::{Place, ServiceCode};

fn send(conn: &mut Connection, waiting: &mut Waiting, batch: &mut Batch) -> bool {
    let mut app = App {
        outbox: waiting,
        inbox: &mut NoApp,
    };
    let before = batch.len();
    conn.send_data(START, &mut app, batch) || batch.len() > before
}

/// Keeps an Init Cookie that is so long as an option.
fn keep_cookie(conn: &mut Connection, len: usize) {
    let options = OptionWriter::new(0);
    let mut response = ack(&options);
    response.kind = Kind::Response {
        ack: Seq::ZERO,
        service: ServiceCode::NONE,
    };
    conn.state = State::PartOpen;
    conn.keep_cookie(&response, &vec![9; len - 2]);
    conn.state = State::Open;
    assert_eq!(conn.cookies.len(), len);
}

#[test]
fn plain_data_shares_a_batch_as_long_as_it_fits() {
    let mut conn = open(Config::default());
    let mut waiting = Waiting::new(&[100, 100, 101]);
    let mut batch = Batch::new(8);
    assert!(send(&mut conn, &mut waiting, &mut batch));
    assert!(!send(&mut conn, &mut waiting, &mut batch));
    assert_eq!((batch.len(), batch.segment_len()), (2, 16 + 100));
}

#[test]
fn data_with_an_option_or_an_acknowledgement_opens_a_batch_of_its_own() {
    for has_ack in [false, true] {
        let mut conn = open(Config::default());
        let mut waiting = Waiting::new(&[100, 60]);
        let mut batch = Batch::new(8);
        assert!(send(&mut conn, &mut waiting, &mut batch));
        if has_ack {
            conn.due.ack = true;
        } else {
            // 4340-7.7-1
            conn.ndp.set_enabled(true);
            conn.ndp.on_sent(false);
        }
        // It is shorter, so that its length does not forbid it to join.
        assert!(!send(&mut conn, &mut waiting, &mut batch), "{has_ack}");
        batch.clear();
        assert!(send(&mut conn, &mut waiting, &mut batch));
        let header = if has_ack { 24 + 4 } else { 16 + 4 };
        assert_eq!(batch.segment_len(), header + 60, "{has_ack}");
    }
}

#[test]
fn data_wait_if_the_cookies_to_echo_do_not_fit_beside_them() {
    // 4340-8.1.4-2, 4340-8.1.5-1: also once the connection is open, and together with the NDP Count.
    const NDP: usize = 4;
    for excess in [0, 1] {
        let mut conn = open(Config::default());
        conn.ndp.set_enabled(true);
        for _ in 0..256 {
            conn.ndp.on_sent(false);
        }
        assert_eq!(conn.ndp.option_len(), NDP);
        let len = conn.mps();
        let room = conn.data_option_room(&offer(len));
        keep_cookie(&mut conn, room - NDP + excess);
        let mut batch = Batch::new(8);
        assert!(send(&mut conn, &mut Waiting::new(&[len]), &mut batch));
        // A Sync checks whether the server has them.
        assert_eq!(conn.due.sync, (excess > 0).then_some(conn.seqs.gsr));
        let echoed = batch.bytes().windows(4).any(|b| b[2..] == [9, 9]);
        assert_eq!((batch.len(), echoed), (1 - excess, excess == 0));
    }
}

#[test]
fn data_without_cookies_do_not_wait_for_room() {
    let mut conn = open(Config::default());
    let len = conn.mps();
    let options_len = conn.data_option_room(&offer(len));
    conn.tx.cc = Box::new(TestSender {
        options_len,
        ..TestSender::default()
    });
    conn.ndp.set_enabled(true);
    conn.ndp.on_sent(false);
    assert_eq!(conn.data_option_room(&offer(len)), 0);
    let mut batch = Batch::new(8);
    assert!(send(&mut conn, &mut Waiting::new(&[len]), &mut batch));
    assert_eq!((batch.len(), conn.due.sync), (1, None));
}

#[test]
fn options_of_all_data_packets_reduce_the_room_for_others() {
    // 4340-9.3-1: Data Checksum has 6 bytes.
    for (data_checksum, options_len) in [(false, 0), (true, 0), (false, 5), (true, 5)] {
        let mut conn = open(Config {
            data_checksum,
            ..Config::default()
        });
        conn.tx.cc = Box::new(TestSender {
            options_len,
            ..TestSender::default()
        });
        let all = conn.option_room(PacketType::DataAck, 1400);
        let checksum = if data_checksum { 6 } else { 0 };
        let left = all - checksum - options_len;
        assert_eq!(conn.data_option_room(&offer(1400)), left);
    }
}

#[test]
fn the_longest_header_is_as_long_as_data_offset_can_say() {
    // 4340-5.1: a byte counts its words.
    let conn = open(Config::default());
    let reset = PacketType::Reset;
    let len = wire::header_len(reset, false, conn.option_room(reset, 0));
    assert_eq!(len, 255 * 4);
}

#[test]
fn sender_without_data_is_application_limited() {
    // A full window limits it itself, whether data wait or not.
    for (permit, is_app_limited) in [
        (TestSender::default().permit, true),
        (Permit::OnFeedback, false),
    ] {
        let mut conn = open(Config::default());
        let mut batch = Batch::new(8);
        conn.tx.cc = Box::new(TestSender {
            permit,
            ..TestSender::default()
        });
        assert!(!send(&mut conn, &mut Waiting::new(&[]), &mut batch));
        conn.tx.cc = Box::new(TestSender::default());
        assert!(send(&mut conn, &mut Waiting::new(&[100]), &mut batch));
        assert_eq!(is_sample_app_limited(&mut conn), Some(is_app_limited));
    }
}

/// Returns whether the sample of the last packet's acknowledgement is application-limited.
fn is_sample_app_limited(conn: &mut Connection) -> Option<bool> {
    let ack = ack_of_last(conn);
    let feedback = conn.in_flight.on_ack(START, &ack, &mut |_, _| ());
    feedback.map(|f| f.is_app_limited)
}

/// An outbox that has looked at enough for this turn.
struct Tired;

impl Outbox for Tired {
    fn peek(&mut self, _now: Instant) -> Option<Offer> {
        None
    }

    fn waiting(&mut self, _now: Instant) -> queue::Waiting {
        queue::Waiting::OnRequest
    }

    fn claim_into(&mut self, _now: Instant, _slot: Slot, _place: &mut Place<'_>) -> bool {
        false
    }

    fn refuse(&mut self, _now: Instant, _slot: Slot, _fate: Fate) {}

    fn on_fate(&mut self, _now: Instant, _slot: Slot, _fate: Fate) {}
}

#[test]
fn outbox_that_stops_for_a_turn_is_not_application_limited() {
    let mut conn = open(Config::default());
    let mut batch = Batch::new(8);
    let mut app = App {
        outbox: &mut Tired,
        inbox: &mut NoApp,
    };
    assert!(!conn.send_data(START, &mut app, &mut batch));
    assert!(send(&mut conn, &mut Waiting::new(&[100]), &mut batch));
    assert_eq!(is_sample_app_limited(&mut conn), Some(false));

    let mut app = App {
        outbox: &mut Tired,
        inbox: &mut NoApp,
    };
    conn.close(START, &mut app);
    assert!(!conn.send_data(START, &mut app, &mut batch));
    // It closes when all has left, and not before.
    assert_eq!(conn.state, State::Open);
    assert!(!send(&mut conn, &mut Waiting::new(&[]), &mut batch));
    assert_eq!(conn.state, State::Closing);
}

#[test]
fn a_batch_holds_no_more_than_may_be_committed() {
    let mut conn = open(Config::default());
    let mut waiting = Waiting::new(&[100; 8]);
    let mut lens = Vec::new();
    for packets in [3, 1, 100] {
        conn.tx.cc = Box::new(TestSender {
            permit: Permit::Now { packets },
            ..TestSender::default()
        });
        let mut app = App {
            outbox: &mut waiting,
            inbox: &mut NoApp,
        };
        let mut batch = Batch::new(8);
        assert!(conn.poll_transmit(START, &mut app, &mut batch));
        lens.push(batch.len());
    }
    assert_eq!(lens, [3, 1, 4]);
    // The outbox receives the limit before the first request. The batch bounds the limit.
    assert_eq!(waiting.1, [3, 1, 8]);
}

#[test]
fn batch_stores_the_scheduled_departure_of_its_first_datagram() {
    let later = START + core::time::Duration::from_millis(3);
    let last = START + core::time::Duration::from_millis(5);
    let mut conn = open(Config::default());
    let mut waiting = Waiting::new(&[100, 99, 100]);
    let mut batch = Batch::new(1);
    let mut poll = |conn: &mut Connection, now, permit| {
        // The result is the same if the timer expires first or if the connection is polled for another reason.
        if now == later {
            conn.handle_timeout(
                now,
                &mut App {
                    outbox: &mut Waiting::new(&[]),
                    inbox: &mut NoApp,
                },
            );
            conn.has_needs_met = true;
        }
        conn.tx.cc = Box::new(TestSender {
            permit,
            ..TestSender::default()
        });
        batch.clear();
        let mut app = App {
            outbox: &mut waiting,
            inbox: &mut NoApp,
        };
        let has_sent = conn.poll_transmit(now, &mut app, &mut batch);
        (has_sent, batch.scheduled())
    };
    let now = TestSender::default().permit;
    assert_eq!(poll(&mut conn, START, now), (true, None));
    assert_eq!(poll(&mut conn, START, Permit::At(later)), (false, None));
    assert_eq!(poll(&mut conn, later, now), (true, Some(later)));
    assert_eq!(poll(&mut conn, later, Permit::At(last)), (false, None));
    // The caller is a millisecond late.
    let late = last + core::time::Duration::from_millis(1);
    assert_eq!(poll(&mut conn, late, now), (true, Some(last)));
    assert_eq!(poll(&mut conn, late, Permit::At(last)), (false, None));
    // Nothing waits any more.
    assert_eq!(poll(&mut conn, late, now), (false, None));
}

#[test]
fn outbox_prepares_no_more_than_fits_the_batch() {
    let mut conn = open(Config::default());
    let mut waiting = Waiting::new(&[1300; 64]);
    let mut batch = Batch::new(64);
    let mut app = App {
        outbox: &mut waiting,
        inbox: &mut NoApp,
    };
    assert!(conn.poll_transmit(START, &mut app, &mut batch));
    // 65,000 bytes, and headers.
    assert!(waiting.1.iter().all(|&n| n <= 49), "{:?}", waiting.1);
}

#[test]
fn poll_reports_drained_once_nothing_more_may_leave() {
    let mut conn = open(Config::default());
    let mut poll = |lens: &[usize], permit, sync| {
        conn.tx.cc = Box::new(TestSender {
            permit,
            ..TestSender::default()
        });
        conn.due.sync = sync;
        let mut waiting = Waiting::new(lens);
        let mut app = App {
            outbox: &mut waiting,
            inbox: &mut NoApp,
        };
        let mut batch = Batch::new(8);
        assert!(conn.poll_transmit(START, &mut app, &mut batch));
        (batch.len(), conn.is_drained())
    };
    let all = Permit::Now { packets: 100 };
    assert_eq!(poll(&[100; 5], all, None), (5, true));
    // More is permitted, but the next datagram does not fit this batch.
    assert_eq!(poll(&[100; 9], all, None), (8, false));
    assert_eq!(poll(&[100, 200], all, None), (1, false));
    // A Sync leaves in a batch of its own.
    let seq = Some(Seq::new(1));
    assert_eq!(poll(&[100], all, seq), (1, false));
    assert_eq!(poll(&[100], Permit::OnFeedback, seq), (1, true));
    // A close that waited for the last datagram follows it.
    conn.tx.cc = Box::new(TestSender::default());
    conn.due.sync = None;
    conn.closing.is_wanted = true;
    let mut waiting = Waiting::new(&[100]);
    let mut app = App {
        outbox: &mut waiting,
        inbox: &mut NoApp,
    };
    assert!(conn.poll_transmit(START, &mut app, &mut Batch::new(8)));
    assert!(conn.has_control_due() && !conn.is_drained());
}

/// An outbox whose next datagram comes by itself at a time of its own.
struct Timed(Waiting, Instant);

impl Outbox for Timed {
    fn peek(&mut self, now: Instant) -> Option<Offer> {
        self.0.peek(now)
    }

    fn expire(&mut self, _now: Instant) -> Option<Instant> {
        Some(self.1)
    }

    fn claim_into(&mut self, now: Instant, slot: Slot, place: &mut Place<'_>) -> bool {
        self.0.claim_into(now, slot, place)
    }

    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.0.refuse(now, slot, fate);
    }

    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.0.on_fate(now, slot, fate);
    }
}

#[test]
fn the_last_batch_sets_the_timer_for_the_outbox() {
    let mut conn = open(Config::default());
    let later = START + core::time::Duration::from_millis(10);
    let mut timed = Timed(Waiting::new(&[100]), later);
    let mut app = App {
        outbox: &mut timed,
        inbox: &mut NoApp,
    };
    // The endpoint polls no further once a connection is drained.
    assert!(conn.poll_transmit(START, &mut app, &mut Batch::new(8)));
    assert!(conn.is_drained());
    assert_eq!(conn.timers.take(Timer::Expiry), Some(later));
}
