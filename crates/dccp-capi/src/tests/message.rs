//! Messages larger than a packet.

use super::*;
use crate::message::*;

fn pair() -> Pair {
    Pair::new(|o| assert_eq!(unsafe { dccp_options_messages(o, c"tst".as_ptr()) }, 0))
}

fn send_message(pair: &Pair, data: &[u8], options: *const CSendOptions) -> i64 {
    unsafe { dccp_message_send(pair.client, data.as_ptr().cast(), data.len(), options) }
}

fn meta() -> CMessageMeta {
    CMessageMeta {
        size: size_of::<CMessageMeta>(),
        message_len: 0,
        first_arrived_ns: 0,
        completed_ns: 0,
        number: 0,
        flags: 0,
    }
}

#[test]
fn messages_and_their_fates_arrive() {
    let pair = pair();
    let data: Vec<u8> = (0..10_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let options = CSendOptions {
        tag: 7,
        lifetime_us: 60 * SECOND,
        ..send_options()
    };
    assert_eq!(send_message(&pair, &data, &raw const options), 0);
    assert_eq!(send_message(&pair, b"short", null()), 1);
    let (mut buffer, mut found) = (vec![0_u8; 20_000], meta());
    let place = buffer.as_mut_ptr().cast();
    let len = unsafe { dccp_message_recv(pair.server, place, 20_000, &raw mut found) };
    assert_eq!((len, found.message_len, found.flags), (10_000, 10_000, 0));
    assert_eq!(buffer[..10_000], data);
    assert!(found.first_arrived_ns <= found.completed_ns);
    let len = unsafe { dccp_message_recv(pair.server, place, 2, &raw mut found) };
    assert_eq!((len, found.message_len, found.number), (2, 5, 1));
    assert_eq!(found.flags, DCCP_RECV_TRUNCATED);
    let closed = unsafe { dccp_message_close(pair.client, 20 * SECOND) };
    assert_eq!(closed, 0, "{}", detail());
    let mut reports = [CMessageReport::default(); 4];
    let known = unsafe { dccp_message_fates(pair.client, reports.as_mut_ptr(), 4) };
    assert_eq!(known, 2);
    let first = reports.iter().find(|report| report.id == 0).unwrap();
    assert_eq!((first.tag, first.len), (7, 10_000));
    assert_eq!(first.fate, DCCP_FATE_ACKED);
    assert_ne!(first.begun_ns, 0);
    let over = unsafe { dccp_message_recv(pair.server, place, 2, null_mut()) };
    assert_eq!(over, DCCP_ERR_CLOSED.into());
}

#[test]
fn sockets_take_the_functions_of_what_they_carry() {
    let messages = pair();
    let datagrams = Pair::new(|_| ());
    let invalid = i64::from(DCCP_ERR_INVALID);
    let mut buffer = [0_u8; 9];
    let place = buffer.as_mut_ptr().cast();
    assert_eq!(send(messages.client, b"x", null()), invalid);
    assert!(detail().contains("dccp_options_messages"), "{}", detail());
    assert_eq!(unsafe { dccp_recv(messages.client, place, 9) }, invalid);
    assert_eq!(unsafe { dccp_close(messages.client) }, DCCP_ERR_INVALID);
    assert_eq!(send_message(&datagrams, b"x", null()), invalid);
    assert!(detail().contains("dccp_options_messages"), "{}", detail());
    let none = unsafe { dccp_message_recv(datagrams.client, place, 9, null_mut()) };
    assert_eq!(none, invalid);
    // Calls about the connection serve both.
    assert!(unsafe { dccp_fd(messages.client) } >= 0);
    let code = unsafe { dccp_service_code(messages.client) };
    assert_eq!(code, i64::from(u32::from_be_bytes(*b"Mtst")));
    let filled = unsafe { dccp_message_set_target_rate(messages.client, 1000) };
    assert_eq!(filled, 0);
}

#[test]
fn fates_of_messages_are_ready() {
    let pair = pair();
    let ready = || unsafe { dccp_ready(pair.client) } & DCCP_READY_FATES;
    assert_eq!(ready(), 0);
    let options = CSendOptions {
        tag: 7,
        ..send_options()
    };
    // More than leaves at once.
    let data = vec![0; 1_000_000];
    assert_eq!(send_message(&pair, &data, &raw const options), 0);
    assert_eq!(unsafe { dccp_message_withdraw_tags(pair.client, 7, 7) }, 1);
    assert_eq!(ready(), DCCP_READY_FATES);
    let mut reports = [CMessageReport::default(); 4];
    assert_eq!(
        unsafe { dccp_message_fates(pair.client, reports.as_mut_ptr(), 4) },
        1
    );
    assert_eq!(reports[0].tag, 7);
}

#[test]
fn bad_arguments_of_messages_are_refused() {
    let options = dccp_options_new();
    let long = unsafe { dccp_options_messages(options, c"four".as_ptr()) };
    assert_eq!(long, DCCP_ERR_INVALID);
    unsafe { dccp_options_free(options) };
    let pair = pair();
    let wait = CSendOptions {
        when_full: DCCP_WHEN_FULL_WAIT,
        ..send_options()
    };
    let refused = send_message(&pair, b"x", &raw const wait);
    assert_eq!(refused, DCCP_ERR_INVALID.into());
    let mut short = meta();
    short.size = 8;
    assert_eq!(send_message(&pair, b"kept", null()), 0);
    let mut buffer = [0_u8; 9];
    let place = buffer.as_mut_ptr().cast();
    let refused = unsafe { dccp_message_recv(pair.server, place, 9, &raw mut short) };
    assert_eq!(refused, DCCP_ERR_INVALID.into());
    let kept = unsafe { dccp_message_recv(pair.server, place, 9, null_mut()) };
    assert_eq!((kept, &buffer[..4]), (4, &b"kept"[..]));
    let none = unsafe { dccp_message_withdraw_tags(pair.client, 50, 60) };
    assert_eq!(none, 0);
}
