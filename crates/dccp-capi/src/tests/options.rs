//! Setters of options.

use super::*;
use crate::service::*;

#[test]
fn bad_option_is_refused_and_changes_nothing() {
    let options = dccp_options_new();
    let of = |status: c_int| (status, detail());
    let refused = |problem: &str| (DCCP_ERR_OPTION, format!("option {problem}"));
    assert_eq!(
        of(unsafe { dccp_options_mtu(options, 20) }),
        refused("mtu: must be from 296 to 65535 bytes")
    );
    assert_eq!(
        of(unsafe { dccp_options_ccid(options, 77) }),
        refused("send_ccids: 77: must be one of 2, 3, 4, 248")
    );
    for (law, expected) in [
        (c"renoo", "option law: renoo"),
        (c"scalable:lwnd", "option law: "),
        (c"scalable:lwnd=x", "option law: "),
        (c"scalable:none=1", "option law: "),
    ] {
        let (status, problem) = of(unsafe { dccp_options_law(options, law.as_ptr()) });
        assert_eq!(status, DCCP_ERR_OPTION, "{law:?}");
        assert!(problem.starts_with(expected), "{problem}");
    }
    assert_eq!(
        of(unsafe { dccp_options_encapsulation(options, 2) }),
        refused("encapsulation: 2: must be one of DCCP_ENCAPSULATION_…")
    );
    assert_eq!(
        of(unsafe { dccp_options_bind(options, c"eth0".as_ptr()) }).0,
        DCCP_ERR_OPTION
    );
    assert_eq!(
        of(unsafe { dccp_options_when_full(options, 9) }).0,
        DCCP_ERR_OPTION
    );
    // The law came first: without CCID 2 it has no use.
    assert_eq!(unsafe { dccp_options_law(options, c"cubic".as_ptr()) }, 0);
    assert_eq!(unsafe { dccp_options_ccid(options, 3) }, DCCP_ERR_OPTION);
    let mut listener = null_mut();
    let any = c"127.0.0.1:0/0".as_ptr();
    assert_eq!(unsafe { dccp_listen(any, options, &raw mut listener) }, 0);
    unsafe { dccp_listener_free(listener) };
    unsafe { dccp_options_free(options) };
    assert_eq!(
        unsafe { dccp_options_ecn(null_mut(), true) },
        DCCP_ERR_INVALID
    );
}

#[test]
fn every_option_takes_a_usual_value() {
    let o = dccp_options_new();
    let ccids = [2_u8, 3];
    let results = [
        unsafe { dccp_options_send_ccids(o, ccids.as_ptr(), 2) },
        unsafe { dccp_options_recv_ccids(o, ccids.as_ptr(), 2) },
        unsafe { dccp_options_service_code(o, 0x5649_4445) },
        unsafe { dccp_options_encapsulation(o, DCCP_ENCAPSULATION_UDP) },
        unsafe { dccp_options_bind(o, c"127.0.0.1:0".as_ptr()) },
        unsafe { dccp_options_nonblocking(o, false) },
        unsafe { dccp_options_send_buffer(o, 32) },
        unsafe { dccp_options_send_buffer_bytes(o, 100_000) },
        unsafe { dccp_options_recv_buffer(o, 64) },
        unsafe { dccp_options_recv_buffer_bytes(o, 1 << 20) },
        unsafe { dccp_options_fate_buffer(o, 100) },
        unsafe { dccp_options_when_full(o, DCCP_WHEN_FULL_DROP_OLDEST) },
        unsafe { dccp_options_lifetime(o, DCCP_FOREVER) },
        unsafe { dccp_options_send_timeout(o, DCCP_FOREVER) },
        unsafe { dccp_options_recv_timeout(o, 5 * SECOND) },
        unsafe { dccp_options_connect_timeout(o, 5 * SECOND) },
        unsafe { dccp_options_linger(o, 5 * SECOND) },
        unsafe { dccp_options_keepalive(o, 20 * SECOND) },
        unsafe { dccp_options_dead_after(o, DCCP_FOREVER) },
        unsafe { dccp_options_idle_timeout(o, 60 * SECOND) },
        unsafe { dccp_options_backlog(o, 10) },
        unsafe { dccp_options_connections_per_source(o, 10) },
        unsafe { dccp_options_ecn(o, false) },
        unsafe { dccp_options_pacing(o, false) },
        unsafe { dccp_options_rate_hints(o, true) },
        unsafe { dccp_options_data_checksum(o, true) },
        unsafe { dccp_options_checksum_coverage(o, 1) },
        unsafe { dccp_options_mtu(o, 1400) },
        unsafe { dccp_options_max_rate(o, u64::MAX) },
        unsafe { dccp_options_safe_udp(o, DCCP_SAFE_UDP_SHARED, 1_000_000, 1000) },
        unsafe { dccp_options_law(o, c"ledbat".as_ptr()) },
        unsafe { dccp_options_law(o, c"scalable:lwnd=38".as_ptr()) },
        unsafe { dccp_options_target_rate(o, 1000, c"x".as_ptr().cast(), 1) },
        unsafe { dccp_options_sequence_window(o, 1000) },
        unsafe { dccp_options_strict(o, false) },
        unsafe { dccp_options_audit(o, false) },
        unsafe { dccp_options_deliver_corrupt(o, true) },
    ];
    assert_eq!(results, [0; 37]);
    assert_eq!(
        unsafe { dccp_options_sequence_window(o, 31) },
        DCCP_ERR_OPTION
    );
    unsafe { dccp_options_free(o) };
}

#[test]
fn service_codes_and_ports_have_names() {
    for form in [c"SC:VIDE", c"SC=1447642181", c"SC=x56494445"] {
        let mut number = 0;
        let status = unsafe { dccp_service_code_from_text(form.as_ptr(), &raw mut number) };
        assert_eq!((status, number), (0, 0x5649_4445), "{form:?}");
    }
    let mut buffer = [0; DCCP_SERVICE_CODE_SIZE];
    let size = DCCP_SERVICE_CODE_SIZE;
    let len = unsafe { dccp_service_code_to_text(0x5649_4445, buffer.as_mut_ptr(), size) };
    assert_eq!((len, text(buffer.as_ptr())), (7, "SC:VIDE".into()));
    let len = unsafe { dccp_service_code_to_text(42, buffer.as_mut_ptr(), size) };
    assert_eq!((len, text(buffer.as_ptr())), (12, "SC=x0000002A".into()));
    let options = dccp_options_new();
    assert_eq!(
        unsafe { dccp_options_service(options, c"SC:VIDE".as_ptr()) },
        0
    );
    let wrong = unsafe { dccp_options_service(options, c"VIDE".as_ptr()) };
    assert_eq!(wrong, DCCP_ERR_INVALID);
    assert!(detail().starts_with("Service Code VIDE: "), "{}", detail());
    unsafe { dccp_options_free(options) };
    let none = unsafe { dccp_service_port(c"no-such-service".as_ptr(), c"dccp".as_ptr()) };
    assert_eq!(none, DCCP_ERR_ADDRESS);
    assert!(text(dccp_next_step()).contains("/etc/services"));
    if dccp::service_port("domain", "udp").is_some() {
        let domain = unsafe { dccp_service_port(c"domain".as_ptr(), c"udp".as_ptr()) };
        assert_eq!(domain, 53);
    }
    let mut socket = null_mut();
    let address = c"127.0.0.1:7/no-such-service".as_ptr();
    let refused = unsafe { dccp_connect(address, null(), &raw mut socket) };
    assert_eq!(refused, DCCP_ERR_ADDRESS);
    assert!(detail().contains("no-such-service"), "{}", detail());
}
