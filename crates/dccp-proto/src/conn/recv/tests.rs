//! The steps that `receive` skips for Data packets on open connections have no effect on them.

use super::super::NoApp;
use super::super::tests::{ISS, START, ack, config, open};
use super::*;
use crate::config::Config;
use crate::wire::{OptionWriter, Options};

/// Everything that a step could change.
fn state(conn: &Connection) -> String {
    let parts = (&conn.seqs, &conn.ack_vector, &conn.reverse_path);
    let others = (&conn.features, &conn.due, &conn.events, &conn.closing);
    let times = (conn.gsr_arrived, conn.last_valid, conn.poll_timeout());
    let seen = (
        conn.state,
        conn.has_needs_met,
        conn.snapshot(),
        conn.stats(),
    );
    format!("{parts:?} {others:?} {times:?} {seen:?}")
}

fn data<'a>(conn: &Connection, options: &'a OptionWriter, ahead: u64) -> Packet<'a> {
    Packet {
        kind: Kind::Data,
        seq: conn.seqs.gsr.plus(ahead),
        payload: Payload::Zeros(100),
        ..ack(options)
    }
}

#[test]
fn skipped_steps_have_no_effect_on_open_data() {
    // 4340-8.5-4 to 4340-8.5-15, for both roles, near and far packets, and a peer that closes.
    let mut options = OptionWriter::new(100);
    for (role, ahead, has_options, is_closing) in [
        (Role::Client, 1, false, false),
        (Role::Client, 1, true, true),
        (Role::Server, 3, true, false),
        (Role::Server, 1 << 40, false, true),
    ] {
        let mut conn = open(config());
        (conn.role, conn.closing.is_wanted) = (role, is_closing);
        if has_options {
            assert!(options.push(&crate::wire::Opt::Timestamp(5)).is_ok());
        }
        let p = data(&conn, &options, ahead);
        let before = state(&conn);
        let mut app = App {
            outbox: &mut NoApp,
            inbox: &mut NoApp,
        };
        let later = START + core::time::Duration::from_secs(1);
        assert_eq!(conn.step_4_ignore_listen(later, &p), Continue(()));
        assert_eq!(conn.step_4_in_request(later, &p), Continue(()));
        assert_eq!(conn.step_5_prepare_for_sync(later, &p), Continue(()));
        assert_eq!(conn.step_7_check_type(&p), Continue(()));
        assert_eq!(conn.step_9_process_reset(later, &p, &mut app), Continue(()));
        conn.step_10_leave_request(later, &p);
        assert_eq!(conn.step_11_in_respond(later, &p), Continue(()));
        conn.step_12_in_partopen(later, &p);
        conn.step_13_process_close_req(later, &p, &mut app);
        assert_eq!(
            conn.step_14_process_close(later, &p, &mut app),
            Continue(())
        );
        conn.step_15_process_sync(&p);
        assert_eq!(state(&conn), before);
    }
}

#[test]
fn data_packet_is_followed_by_pending_work() {
    // A controller requested a Reset; a Data packet is the next input.
    let mut conn = open(config());
    conn.controller_reset = Some(Reset::new(ResetCode::AGGRESSION_PENALTY));
    let options = OptionWriter::new(0);
    let p = data(&conn, &options, 1);
    let mut app = App {
        outbox: &mut NoApp,
        inbox: &mut NoApp,
    };
    conn.handle_packet(START, &p, Ecn::NotEct, &mut app);
    assert!(conn.due.reset.is_some());
}

#[test]
fn response_without_cookies_replaces_older_cookies() {
    // AMB-6: the newest Response says which cookies are echoed.
    let mut conn = super::super::tests::client(Config::default());
    let options = OptionWriter::new(0);
    let mut response = ack(&options);
    response.kind = Kind::Response {
        ack: ISS,
        service: conn.service,
    };
    conn.seqs.gsr = response.seq;
    conn.keep_cookie(&response, &[7; 8]);
    assert!(!conn.cookies.is_empty());
    response.options = Options::EMPTY;
    let mut app = App {
        outbox: &mut NoApp,
        inbox: &mut NoApp,
    };
    let parsed = conn.step_8_process_options(START, &response, Ecn::NotEct, &mut app);
    assert!(parsed.is_continue());
    assert!(conn.cookies.is_empty());
}
