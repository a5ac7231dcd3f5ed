//! Engines of the program's own.

use super::*;
use crate::engine::*;

fn engine_options() -> CEngineOptions {
    CEngineOptions {
        size: size_of::<CEngineOptions>(),
        name: null(),
        busy_wait_ns: 0,
        threads: 0,
        reserved: 0,
    }
}

#[test]
fn engine_with_threads_runs_its_sockets_until_they_are_freed() {
    let options = CEngineOptions {
        name: c"own".as_ptr(),
        busy_wait_ns: 1000,
        threads: 2,
        ..engine_options()
    };
    let mut engine = null_mut();
    let started = unsafe { dccp_engine_start(&raw const options, &raw mut engine) };
    assert_eq!(started, 0, "{}", detail());
    let pair = Pair::new(|o| assert_eq!(unsafe { dccp_options_engine(o, engine) }, 0));
    assert!(send(pair.client, b"hello", null()) >= 0);
    let mut buffer = [0_u8; 9];
    let len = unsafe { dccp_recv(pair.server, buffer.as_mut_ptr().cast(), 9) };
    assert_eq!((len, &buffer[..5]), (5, &b"hello"[..]));
    let open = unsafe { dccp_engine_wait_idle(engine, 0) };
    assert_eq!(open, DCCP_ERR_TIMED_OUT);
    assert_eq!(unsafe { dccp_abort(pair.client) }, 0);
    drop(pair);
    assert_eq!(unsafe { dccp_engine_wait_idle(engine, 20 * SECOND) }, 0);
    unsafe { dccp_engine_free(engine) };
}

#[test]
fn bad_settings_of_an_engine_are_refused() {
    let mut engine = core::ptr::dangling_mut();
    let mut start = |options: CEngineOptions| {
        let status = unsafe { dccp_engine_start(&raw const options, &raw mut engine) };
        assert!(engine.is_null());
        (status, detail())
    };
    let many = CEngineOptions {
        threads: 1025,
        ..engine_options()
    };
    let expected = "options.threads: 1025: must be at most 1024";
    assert_eq!(start(many), (DCCP_ERR_INVALID, expected.into()));
    let reserved = CEngineOptions {
        reserved: 1,
        ..engine_options()
    };
    assert_eq!(start(reserved).0, DCCP_ERR_INVALID);
    unsafe { dccp_engine_free(null_mut()) };
    let options = dccp_options_new();
    let none = unsafe { dccp_options_engine(options, null()) };
    assert_eq!(none, DCCP_ERR_INVALID);
    unsafe { dccp_options_free(options) };
    assert_eq!(
        unsafe { dccp_engine_wait_idle(null(), 0) },
        DCCP_ERR_INVALID
    );
}

#[test]
fn fillers_make_up_the_target_rate() {
    let pair = Pair::new(|_| ());
    let filler = [7_u8; 100];
    let none = unsafe { dccp_set_target_rate(pair.client, 1, null(), 0) };
    assert_eq!(none, DCCP_ERR_INVALID);
    let set = unsafe { dccp_set_target_rate(pair.client, 1_000_000, filler.as_ptr().cast(), 100) };
    assert_eq!(set, 0, "{}", detail());
    let mut buffer = [0_u8; 200];
    for _ in 0..10 {
        let len = unsafe { dccp_recv(pair.server, buffer.as_mut_ptr().cast(), 200) };
        assert_eq!((len, &buffer[..100]), (100, &filler[..]));
    }
    assert_eq!(
        unsafe { dccp_set_target_rate(pair.client, 0, null(), 0) },
        0
    );
}

#[test]
fn shortfall_is_an_event_with_both_rates() {
    let shortfall = dccp::safeudp::Shortfall {
        declared_bits_per_s: 1_000_000,
        received_bits_per_s: 700_000,
        is_over: false,
    };
    let event = CEvent::of(dccp::Event::Shortfall(shortfall)).unwrap();
    assert_eq!(event.event, crate::events::DCCP_EVENT_SHORTFALL);
    let rates = (event.declared_bits_per_s, event.received_bits_per_s);
    assert_eq!((rates, event.is_over), ((1_000_000, 700_000), 0));
}
