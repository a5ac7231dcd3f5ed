//! Rings that a server in this process lends. `examples/ring_video.c` uses one from another process.

use super::*;
use crate::ring::*;
use crate::ring_listener::*;
use crate::ring_memory::*;
use crate::ring_send::*;
use dccp::{Encapsulation, Options};
use dccp_ring_ipc::{
    RingCaller, RingLimits, RingListenRequest, RingPolicy, RingRequest, RingServer,
};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;

/// Permits everything but the Service Code "DENY".
struct Policy;

impl RingPolicy for Policy {
    fn allow(&mut self, _: &RingCaller, request: &RingRequest) -> Result<Options, String> {
        if request.service.0.to_be_bytes() == *b"DENY" {
            return Err("the policy says no".into());
        }
        if request.law.is_some() || request.encapsulation != Encapsulation::Udp {
            return Err(format!("{:?} {}", request.law, request.encapsulation));
        }
        Ok(Options::new())
    }

    fn allow_listening(
        &mut self,
        _: &RingCaller,
        _: &RingListenRequest,
    ) -> Result<Options, String> {
        Ok(Options::new())
    }
}

/// A server of rings with its path.
struct Server {
    path: CString,
    _server: RingServer,
}

impl Server {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("dccp-capi-{}-{number}", std::process::id());
        let path: PathBuf = std::env::temp_dir().join(name);
        let server = RingServer::bind(&path, RingLimits::default(), Policy).unwrap();
        Self {
            path: CString::new(path.to_str().unwrap()).unwrap(),
            _server: server,
        }
    }
}

fn request(slots: u32) -> CRingRequest {
    CRingRequest {
        size: size_of::<CRingRequest>(),
        slots,
        slot_bytes: 100,
        fates: 0,
        arrivals: 0,
        arrival_bytes: 0,
        ccid: 0,
        service_codes: null(),
        service_code_count: 0,
        timeout_us: 0,
        connections: 0,
        encapsulation: 0,
        law: null(),
    }
}

/// A ring, and the socket of its peer.
struct Lent {
    server: Server,
    ring: *mut RingHandle,
    listener: *mut ListenerHandle,
    peer: *mut SocketHandle,
}

impl Lent {
    fn new(slots: u32) -> Self {
        let server = Server::new();
        let (mut listener, mut peer, mut ring) = (null_mut(), null_mut(), null_mut());
        let any = c"127.0.0.1:0/0".as_ptr();
        assert_eq!(unsafe { dccp_listen(any, null(), &raw mut listener) }, 0);
        let mut address = [0; DCCP_ADDRESS_SIZE];
        unsafe { dccp_listener_address(listener, 0, address.as_mut_ptr(), DCCP_ADDRESS_SIZE) };
        let request = request(slots);
        let connected = unsafe {
            dccp_ring_connect(
                server.path.as_ptr(),
                address.as_ptr(),
                &raw const request,
                &raw mut ring,
            )
        };
        assert_eq!(connected, 0, "{}", detail());
        assert_eq!(unsafe { dccp_accept(listener, &raw mut peer) }, 0);
        Self {
            server,
            ring,
            listener,
            peer,
        }
    }

    fn push(&self, data: &[u8], options: &CSendOptions) -> u64 {
        let ticket =
            unsafe { dccp_ring_push(self.ring, data.as_ptr().cast(), data.len(), options) };
        u64::try_from(ticket).unwrap()
    }

    /// The next datagram at the peer.
    fn at_peer(&self) -> Vec<u8> {
        let mut buffer = vec![0; 200];
        let len = unsafe { dccp_recv(self.peer, buffer.as_mut_ptr().cast(), 200) };
        buffer.truncate(usize::try_from(len).unwrap());
        buffer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        unsafe { dccp_ring_free(self.ring) };
        unsafe { dccp_socket_free(self.peer) };
        unsafe { dccp_listener_free(self.listener) };
    }
}

/// Options of a datagram with this tag.
fn tagged(tag: u64) -> CSendOptions {
    CSendOptions {
        tag,
        ..send_options()
    }
}

#[test]
fn ring_carries_datagrams_both_ways_with_their_fates() {
    let lent = Lent::new(8);
    let ring = lent.ring;
    lent.push(b"one", &tagged(1));
    assert_eq!(lent.at_peer(), b"one");
    let answer = unsafe { dccp_send(lent.peer, b"answer".as_ptr().cast(), 6) };
    assert!(answer >= 0);
    let mut meta = CRecvMeta {
        size: size_of::<CRecvMeta>(),
        datagram_len: 0,
        arrived_ns: 0,
        seq: 0,
        ecn: 0,
        flags: 0,
    };
    let mut buffer = [0_u8; 4];
    let len = unsafe { dccp_ring_recv(ring, buffer.as_mut_ptr().cast(), 4, &raw mut meta) };
    assert_eq!((len, &buffer, meta.datagram_len), (4, b"answ", 6));
    assert_eq!(meta.flags, DCCP_RECV_TRUNCATED);
    assert_eq!(unsafe { dccp_ring_close(ring, 10 * SECOND) }, 0);
    assert_eq!(unsafe { dccp_ring_wait_fates(ring, 10 * SECOND) }, 1);
    let mut reports = [CRingReport::default(); 4];
    assert_eq!(
        unsafe { dccp_ring_fates(ring, reports.as_mut_ptr(), 4) },
        1,
        "{}",
        detail()
    );
    assert_eq!((reports[0].tag, reports[0].fate), (1, DCCP_FATE_ACKED));
    assert_eq!(unsafe { dccp_ring_fates_missed(ring) }, 0);
    let mut reason = [0; 1024];
    assert!(unsafe { dccp_ring_close_reason(ring, reason.as_mut_ptr(), 1024) } > 0);
    let mut event = CEvent {
        size: size_of::<CEvent>(),
        ..CEvent::default()
    };
    while event.event != DCCP_EVENT_CLOSED {
        assert_eq!(unsafe { dccp_ring_poll_event(ring, &raw mut event) }, 1);
    }
}

#[test]
fn datagrams_change_places_until_they_leave() {
    let lent = Lent::new(8);
    let ring = lent.ring;
    let tickets: Vec<u64> = (0..6).map(|n| lent.push(&[n], &tagged(n.into()))).collect();
    // Each change is whole before a claim, or it comes too late; its result says which.
    let fourth = tagged(4);
    let withdrawn = unsafe { dccp_ring_withdraw(ring, tickets[5]) };
    let revised = unsafe {
        let data = b"new".as_ptr().cast();
        dccp_ring_revise(ring, tickets[4], data, 3, &raw const fourth)
    };
    let mut got = Vec::new();
    for _ in 0..6 - withdrawn {
        got.push(lent.at_peer());
    }
    let mut sent: Vec<Vec<u8>> = (0..6 - u8::try_from(withdrawn).unwrap())
        .map(|n| vec![n])
        .collect();
    if revised == 1 {
        sent[4] = b"new".to_vec();
    }
    assert_eq!(got, sent);
    assert_eq!(unsafe { dccp_ring_withdraw(ring, tickets[0]) }, 0);
    assert_eq!(unsafe { dccp_ring_move(ring, tickets[0], 0) }, 0);
    assert_eq!(unsafe { dccp_ring_waiting(ring) }, 0);
    assert_eq!(unsafe { dccp_ring_room(ring) }, 8);
    assert_eq!(unsafe { dccp_ring_sort(ring, DCCP_RING_BY_TAG) }, 0);
    assert_eq!(unsafe { dccp_ring_sort(ring, 9) }, DCCP_ERR_INVALID.into());
}

#[test]
fn order_of_a_full_ring_is_the_programs() {
    let lent = Lent::new(8);
    let ring = lent.ring;
    // After the end the server claims nothing, so the order stays as the program makes it.
    assert_eq!(unsafe { dccp_ring_abort(ring) }, 0);
    let mut buffer = [0_u8; 1];
    let over = unsafe { dccp_ring_recv(ring, buffer.as_mut_ptr().cast(), 1, null_mut()) };
    assert_eq!(over, DCCP_ERR_CLOSED.into());
    let options: Vec<CSendOptions> = [(1, 2), (2, 1), (3, 3), (4, 2)]
        .map(|(tag, priority)| CSendOptions {
            priority,
            deadline_ns: 1000 - tag,
            ..tagged(tag)
        })
        .into();
    let mut items: Vec<CSendItem> = options
        .iter()
        .map(|options| CSendItem {
            data: null(),
            len: 0,
            options,
            result: -1,
        })
        .collect();
    assert_eq!(
        unsafe { dccp_ring_pushv(ring, items.as_mut_ptr(), 4) },
        4,
        "{}",
        detail()
    );
    let withdrawn = |reports: &mut [CRingReport]| {
        let n = unsafe { dccp_ring_fates(ring, reports.as_mut_ptr(), reports.len()) };
        assert_eq!(n, i64::try_from(reports.len()).unwrap());
        reports.iter().map(|report| report.tag).collect::<Vec<_>>()
    };
    assert_eq!(unsafe { dccp_ring_sort(ring, DCCP_RING_BY_PRIORITY) }, 4);
    let first = u64::try_from(items[0].result).unwrap();
    assert_eq!(unsafe { dccp_ring_move(ring, first, 99) }, 1);
    assert_eq!(unsafe { dccp_ring_withdraw_tags(ring, 2, 2) }, 1);
    // The rest, 3, 4 and 1, gets its fates from the last place on.
    let mut reports = [CRingReport::default(); 2];
    assert_eq!(withdrawn(&mut reports), [1, 4]);
    let mut reports = [CRingReport::default(); 1];
    assert_eq!(withdrawn(&mut reports), [3]);
    assert_eq!(reports[0].fate, crate::fates::DCCP_FATE_WITHDRAWN);
}

#[test]
fn calls_that_do_not_wait_learn_the_end() {
    let lent = Lent::new(4);
    assert_eq!(unsafe { dccp_ring_set_timeout(lent.ring, 0) }, 0);
    let mut buffer = [0_u8; 9];
    let mut receive =
        || unsafe { dccp_ring_recv(lent.ring, buffer.as_mut_ptr().cast(), 9, null_mut()) };
    assert_eq!(receive(), DCCP_ERR_TIMED_OUT.into());
    let mut text = [0; 99];
    let mut reason = || unsafe { dccp_ring_close_reason(lent.ring, text.as_mut_ptr(), 99) };
    assert_eq!(reason(), 0);
    assert_eq!(unsafe { dccp_abort(lent.peer) }, 0);
    while receive() == DCCP_ERR_TIMED_OUT.into() {
        std::thread::yield_now();
    }
    assert_eq!(receive(), DCCP_ERR_CLOSED.into());
    assert!(reason() > 0);
}

#[test]
fn full_ring_and_long_datagram_are_errors() {
    let lent = Lent::new(2);
    let ring = lent.ring;
    let data = [0_u8; 101];
    let long = unsafe { dccp_ring_push(ring, data.as_ptr().cast(), 101, null()) };
    assert_eq!(long, DCCP_ERR_TOO_BIG.into());
    let wait = CSendOptions {
        when_full: DCCP_WHEN_FULL_WAIT,
        ..send_options()
    };
    let refused = unsafe { dccp_ring_push(ring, null(), 0, &raw const wait) };
    assert_eq!(refused, DCCP_ERR_INVALID.into());
    assert_eq!(unsafe { dccp_ring_abort(ring) }, 0);
    let mut buffer = [0_u8; 1];
    unsafe { dccp_ring_recv(ring, buffer.as_mut_ptr().cast(), 1, null_mut()) };
    for _ in 0..2 {
        assert!(unsafe { dccp_ring_push(ring, null(), 0, null()) } >= 0);
    }
    let full = unsafe { dccp_ring_push(ring, null(), 0, null()) };
    assert_eq!(full, DCCP_ERR_AGAIN.into());
    assert!(text(dccp_next_step()).contains("dccp_ring_wait_room"));
    let room = unsafe { dccp_ring_wait_room(ring) };
    assert_eq!(room, DCCP_ERR_CLOSED);
}

#[test]
fn readiness_shows_what_waits() {
    let lent = Lent::new(8);
    let ring = lent.ring;
    let fd = unsafe { dccp_ring_fd(ring) };
    assert!(fd >= 0);
    assert_eq!(unsafe { dccp_ring_fd(ring) }, fd);
    assert!(unsafe { dccp_send(lent.peer, b"a".as_ptr().cast(), 1) } >= 0);
    let mut event = CEvent {
        size: size_of::<CEvent>(),
        ..CEvent::default()
    };
    loop {
        let ready = unsafe { dccp_ring_ready(ring) };
        assert!(ready >= 0, "{}", detail());
        assert_ne!(ready & DCCP_READY_SEND, 0);
        if ready & DCCP_READY_RECV != 0 {
            break;
        }
        if ready & DCCP_READY_EVENT != 0 {
            unsafe { dccp_ring_poll_event(ring, &raw mut event) };
            continue;
        }
        let mut poll = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        assert_eq!(unsafe { libc::poll(&raw mut poll, 1, -1) }, 1);
    }
    let mut buffer = [0_u8; 1];
    let len = unsafe { dccp_ring_recv(ring, buffer.as_mut_ptr().cast(), 1, null_mut()) };
    assert_eq!((len, &buffer), (1, b"a"));
    assert_eq!(unsafe { dccp_ring_set_timeout(ring, 0) }, 0);
    let none = unsafe { dccp_ring_recv(ring, buffer.as_mut_ptr().cast(), 1, null_mut()) };
    assert_eq!(none, DCCP_ERR_TIMED_OUT.into());
    assert!(unsafe { dccp_ring_max_packet_size(ring) } > 1000);
    assert_eq!(unsafe { dccp_ring_service_code(ring) }, 0);
    let mut address = [0; DCCP_ADDRESS_SIZE];
    let len = unsafe { dccp_ring_peer_address(ring, address.as_mut_ptr(), DCCP_ADDRESS_SIZE) };
    assert!(len > 0 && text(address.as_ptr()).starts_with("127.0.0.1:"));
}

#[test]
fn listener_lends_what_it_accepts() {
    let server = Server::new();
    let codes = [0x5649_4445_u32];
    let listen = CRingRequest {
        service_codes: codes.as_ptr(),
        service_code_count: 1,
        connections: 2,
        ccid: 2,
        ..request(4)
    };
    let mut listener = null_mut();
    let any = c"127.0.0.1:0/0".as_ptr();
    let path = server.path.as_ptr();
    let listening = unsafe { dccp_ring_listen(path, any, &raw const listen, &raw mut listener) };
    assert_eq!(listening, 0, "{}", detail());
    assert!(unsafe { dccp_ring_listener_fd(listener) } >= 0);
    let mut ring = null_mut();
    let none = unsafe { dccp_ring_accept(listener, 0, &raw mut ring) };
    assert_eq!((none, ring), (DCCP_ERR_TIMED_OUT, null_mut()));
    let mut address = [0; DCCP_ADDRESS_SIZE];
    let len =
        unsafe { dccp_ring_listener_address(listener, address.as_mut_ptr(), DCCP_ADDRESS_SIZE) };
    assert!(len > 0);
    let options = dccp_options_new();
    assert_eq!(unsafe { dccp_options_service_code(options, codes[0]) }, 0);
    let mut socket = null_mut();
    let connected = unsafe { dccp_connect(address.as_ptr(), options, &raw mut socket) };
    assert_eq!(connected, 0, "{}", detail());
    let accepted = unsafe { dccp_ring_accept(listener, 10 * SECOND, &raw mut ring) };
    assert_eq!(accepted, 0, "{}", detail());
    assert_eq!(unsafe { dccp_ring_service_code(ring) }, i64::from(codes[0]));
    assert!(unsafe { dccp_ring_push(ring, b"hi".as_ptr().cast(), 2, null()) } >= 0);
    let mut buffer = [0_u8; 9];
    assert_eq!(
        unsafe { dccp_recv(socket, buffer.as_mut_ptr().cast(), 9) },
        2
    );
    unsafe { dccp_ring_free(ring) };
    unsafe { dccp_socket_free(socket) };
    unsafe { dccp_options_free(options) };
    unsafe { dccp_ring_listener_free(listener) };
}

/// Changes a request.
type Change<'a> = &'a dyn Fn(&mut CRingRequest);

#[test]
fn refusals_name_their_reason() {
    let server = Server::new();
    let mut ring = null_mut();
    let mut connect = |path: *const c_char, change: &dyn Fn(&mut CRingRequest)| {
        let mut request = request(4);
        change(&mut request);
        let peer = c"127.0.0.1:9/9".as_ptr();
        let status = unsafe { dccp_ring_connect(path, peer, &raw const request, &raw mut ring) };
        assert!(ring.is_null());
        (status, detail())
    };
    let path = server.path.as_ptr();
    let (status, detail) = connect(path, &|_| ());
    assert_eq!(status, DCCP_ERR_UNREACHABLE, "{detail}");
    let (status, detail) = connect(path, &|request| {
        request.law = c"cubic".as_ptr();
        request.encapsulation = DCCP_ENCAPSULATION_IP;
    });
    assert_eq!(status, DCCP_ERR_NOT_PERMITTED);
    assert!(detail.contains(r#"Some("cubic") ip"#), "{detail}");
    let (status, detail) = connect(c"/nowhere/rings".as_ptr(), &|_| ());
    assert_eq!(status, DCCP_ERR_NO_SERVER);
    assert!(detail.contains("/nowhere/rings"), "{detail}");
    // The path of dccpd, which may run on this host.
    let (status, detail) = connect(null(), &|request| request.timeout_us = 1);
    assert_ne!(status, DCCP_ERR_INVALID, "{detail}");
    let code = u32::from_be_bytes(*b"DENY");
    let (status, detail) = connect(path, &|request| {
        request.service_codes = &raw const code;
        request.service_code_count = 1;
    });
    assert_eq!(status, DCCP_ERR_NOT_PERMITTED);
    assert!(detail.contains("the policy says no"), "{detail}");
    let long = CString::new("x".repeat(65)).unwrap();
    let invalid: [(Change<'_>, &str); 5] = [
        (
            &|request| request.slots = 3,
            "request.slots: must be a power of two",
        ),
        (&|request| request.slots = 0, "request.slots: must be"),
        (&|request| request.ccid = 256, "request.ccid: 256"),
        (&|request| request.size = 8, "request.size: 8"),
        (&|request| request.law = long.as_ptr(), "request.law: x"),
    ];
    for (change, expected) in invalid {
        let (status, detail) = connect(path, change);
        assert_eq!(status, DCCP_ERR_INVALID, "{expected}");
        assert!(detail.starts_with(expected), "{detail}");
    }
    assert_eq!(unsafe { dccp_ring_wake(null_mut()) }, DCCP_ERR_INVALID);
    assert!(unsafe { dccp_ring_memory(null_mut(), null_mut()) }.is_null());
    unsafe { dccp_ring_free(null_mut()) };
    unsafe { dccp_ring_listener_free(null_mut()) };
}

#[test]
fn memory_is_the_ring_of_the_request() {
    let lent = Lent::new(4);
    let mut size = 0;
    let memory = unsafe { dccp_ring_memory(lent.ring, &raw mut size) };
    let words = unsafe { core::slice::from_raw_parts(memory.cast::<u64>(), 6) };
    assert_eq!(words[0].to_be_bytes(), *b"DCCPRN\0\x02");
    assert_eq!(words[1..], [4, 100, 16, 4, 100]);
    let shape = dccp::packet_ring::Shape::new(4, 100);
    assert_eq!(size as u64, shape.bytes().unwrap());
    // Calls continue as before.
    let first = lent.push(b"one", &tagged(1));
    lent.push(b"two", &tagged(2));
    assert_eq!(unsafe { dccp_ring_wake(lent.ring) }, 0);
    assert_eq!([lent.at_peer(), lent.at_peer()], [b"one", b"two"]);
    // A slot that is used again gives another ticket.
    for _ in 0..8 {
        assert_ne!(lent.push(b"more", &tagged(3)), first);
        assert_eq!(unsafe { dccp_ring_wake(lent.ring) }, 0);
        assert_eq!(lent.at_peer(), b"more");
    }
    assert_eq!(lent.server.path.as_bytes().first(), Some(&b'/'));
}
