//! Misuse by a program, and the forms of results. The C programs of `examples` show correct use.

#![expect(unsafe_code, reason = "the tests call the functions as C does")]
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "each pointer is null, or belongs to a variable of the test"
)]

mod engine;
mod errors;
mod listener;
mod message;
mod options;
#[cfg(target_os = "linux")]
mod ring;

use crate::address::{DCCP_ADDRESS_SIZE, dccp_address_from_sockaddr, dccp_address_to_sockaddr};
use crate::errors::*;
use crate::events::{CEvent, DCCP_CLOSED_ABORTED, DCCP_EVENT_CLOSED, dccp_poll_event};
use crate::fates::{CFate, DCCP_FATE_ACKED, dccp_fate_name, dccp_fates};
use crate::listener::*;
use crate::memory::Growing;
use crate::options::*;
use crate::receive::*;
use crate::safeudp::{CSafeUdp, dccp_send_code};
use crate::send::*;
use crate::socket::*;
use crate::source::{CSourceRequest, dccp_data_ready, dccp_set_source};
use crate::stats::{CCounters, CSnapshot, dccp_snapshot, dccp_state_name, dccp_stats};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicU64, Ordering};
use std::ffi::CString;

const SECOND: u64 = 1_000_000;

fn text(pointer: *const c_char) -> String {
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().unwrap().to_owned()
}

fn detail() -> String {
    text(dccp_last_detail())
}

/// Two ends of a connection over loopback, freed when dropped.
struct Pair {
    listener: *mut ListenerHandle,
    client: *mut SocketHandle,
    server: *mut SocketHandle,
}

impl Pair {
    fn new(change: impl FnOnce(*mut OptionsHandle)) -> Self {
        let options = dccp_options_new();
        change(options);
        let (mut listener, mut client, mut server) = (null_mut(), null_mut(), null_mut());
        let any = c"127.0.0.1:0/0".as_ptr();
        assert_eq!(unsafe { dccp_listen(any, options, &raw mut listener) }, 0);
        let mut address = [0; DCCP_ADDRESS_SIZE];
        let len =
            unsafe { dccp_listener_address(listener, 0, address.as_mut_ptr(), DCCP_ADDRESS_SIZE) };
        assert_eq!(len, i64::try_from(text(address.as_ptr()).len()).unwrap());
        let connected = unsafe { dccp_connect(address.as_ptr(), options, &raw mut client) };
        assert_eq!(connected, 0, "{}", detail());
        assert_eq!(unsafe { dccp_accept(listener, &raw mut server) }, 0);
        unsafe { dccp_options_free(options) };
        Self {
            listener,
            client,
            server,
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        unsafe { dccp_socket_free(self.client) };
        unsafe { dccp_socket_free(self.server) };
        unsafe { dccp_listener_free(self.listener) };
    }
}

fn send_options() -> CSendOptions {
    CSendOptions {
        size: size_of::<CSendOptions>(),
        key: 0,
        tag: 0,
        lifetime_us: 0,
        deadline_ns: 0,
        priority: 0,
        when_full: 0,
        flags: 0,
        reserved: 0,
    }
}

fn send(socket: *const SocketHandle, data: &[u8], options: *const CSendOptions) -> i64 {
    unsafe { dccp_send_with(socket, data.as_ptr().cast(), data.len(), options) }
}

#[test]
fn null_handles_give_errors() {
    let invalid = i64::from(DCCP_ERR_INVALID);
    let socket = null::<SocketHandle>();
    let calls: [fn(*const SocketHandle) -> c_int; 11] = [
        |s| unsafe { dccp_close(s) },
        |s| unsafe { dccp_abort(s) },
        |s| unsafe { dccp_shutdown(s, DCCP_SHUT_WR) },
        |s| unsafe { dccp_wait_closed(s, 0) },
        |s| unsafe { dccp_fd(s) },
        |s| unsafe { dccp_ready(s) },
        |s| unsafe { dccp_set_nonblocking(s, true) },
        |s| unsafe { dccp_flush(s, 0) },
        |s| unsafe { dccp_poll_event(s, null_mut()) },
        |s| unsafe { dccp_stats(s, null_mut()) },
        |s| unsafe { dccp_send_code(s, null_mut()) },
    ];
    for call in calls {
        assert_eq!(call(socket), DCCP_ERR_INVALID);
        assert_eq!(detail(), "socket: must not be a null pointer");
        assert_eq!(dccp_last_fault(), DCCP_FAULT_CALLER);
    }
    assert_eq!(send(socket, b"x", null()), invalid);
    assert_eq!(unsafe { dccp_sendv(socket, null_mut(), 1) }, invalid);
    assert_eq!(unsafe { dccp_recv(socket, null_mut(), 1) }, invalid);
    assert_eq!(unsafe { dccp_recvv(socket, null_mut(), 1) }, invalid);
    assert_eq!(unsafe { dccp_fates(socket, null_mut(), 1) }, invalid);
    assert_eq!(unsafe { dccp_accept(null(), null_mut()) }, DCCP_ERR_INVALID);
    assert_eq!(unsafe { dccp_listener_fd(null()) }, DCCP_ERR_INVALID);
    // As with free(3).
    unsafe { dccp_socket_free(null_mut()) };
    unsafe { dccp_listener_free(null_mut()) };
    unsafe { dccp_options_free(null_mut()) };
}

#[test]
fn null_results_and_texts_give_errors() {
    let address = c"127.0.0.1:0/0".as_ptr();
    let connected = unsafe { dccp_connect(address, null(), null_mut()) };
    assert_eq!(connected, DCCP_ERR_INVALID);
    let mut socket = core::ptr::dangling_mut();
    let connected = unsafe { dccp_connect(null(), null(), &raw mut socket) };
    assert_eq!(connected, DCCP_ERR_INVALID);
    assert!(socket.is_null(), "a failed call stores NULL");
    let latin_1 = c"\xe4/1".as_ptr();
    let connected = unsafe { dccp_connect(latin_1, null(), &raw mut socket) };
    assert_eq!(connected, DCCP_ERR_INVALID);
    assert_eq!(detail(), "address: must be UTF-8");
    let connected = unsafe { dccp_connect(c"127.0.0.1".as_ptr(), null(), &raw mut socket) };
    assert_eq!(connected, DCCP_ERR_ADDRESS);
    assert!(text(dccp_next_step()).contains("UDP-PORT/DCCP-PORT"));
}

#[test]
fn datagrams_and_their_fates_arrive() {
    let pair = Pair::new(|options| {
        assert_eq!(unsafe { dccp_options_fate_buffer(options, 10) }, 0);
    });
    let options = CSendOptions {
        tag: 7,
        lifetime_us: DCCP_FOREVER,
        deadline_ns: u64::MAX,
        ..send_options()
    };
    assert_eq!(send(pair.client, b"first", &raw const options), 0);
    let mut items = [b"second".as_slice(), b"", b"third"].map(|data| CSendItem {
        data: data.as_ptr().cast(),
        len: data.len(),
        options: null(),
        result: 0,
    });
    let taken = unsafe { dccp_sendv(pair.client, items.as_mut_ptr(), items.len()) };
    assert_eq!((taken, items.map(|item| item.result)), (3, [1, 2, 3]));
    // A datagram without a report at the end has the fate "sent".
    let mut fates = [CFate::default(); 10];
    let mut known = 0;
    while known < 4 {
        let room = &raw mut fates[known];
        let more = unsafe { dccp_fates(pair.client, room, 10 - known) };
        known += usize::try_from(more).unwrap();
        std::thread::sleep(core::time::Duration::from_millis(1));
    }
    assert_eq!(unsafe { dccp_close(pair.client) }, 0);

    let mut buffer = [0_u8; 100];
    let mut meta = CRecvMeta {
        size: size_of::<CRecvMeta>(),
        datagram_len: 0,
        arrived_ns: 0,
        seq: 0,
        ecn: 0,
        flags: 0,
    };
    let room = buffer.as_mut_ptr().cast();
    let len = unsafe { dccp_recv_with(pair.server, room, 3, &raw mut meta) };
    assert_eq!((len, &buffer[..3]), (3, b"fir".as_slice()));
    assert_eq!((meta.datagram_len, meta.flags), (5, DCCP_RECV_TRUNCATED));
    assert!(meta.arrived_ns <= crate::clock::dccp_now_ns());
    let mut rooms = [[0_u8; 20]; 4];
    let mut items = rooms.each_mut().map(|room| CRecvItem {
        buffer: room.as_mut_ptr().cast(),
        buffer_size: room.len(),
        len: 99,
        meta,
    });
    let mut arrived = 0;
    while arrived < 3 {
        let some = unsafe { dccp_recvv(pair.server, &raw mut items[arrived], 4 - arrived) };
        assert!(some > 0, "{some}: {}", detail());
        arrived += usize::try_from(some).unwrap();
    }
    assert_eq!([items[0].len, items[1].len, items[2].len], [6, 0, 5]);
    assert_eq!(&rooms[2][..5], b"third");
    let closed = unsafe { dccp_recv(pair.server, room, 100) };
    assert_eq!(closed, i64::from(DCCP_ERR_CLOSED));
    assert_eq!(detail(), "the connection is over: closed by the peer");

    assert!(fates[..4].iter().all(|fate| fate.fate == DCCP_FATE_ACKED));
    let first = fates.iter().find(|fate| fate.id == 0).unwrap();
    assert_eq!((first.tag, first.len), (7, 5));
    assert!(first.queued_ns > 0 && first.sent_ns > 0 && first.sent_ns <= first.known_ns);
    assert_eq!(text(dccp_fate_name(DCCP_FATE_ACKED)), "acked");

    let mut counters = CCounters {
        size: size_of::<CCounters>(),
        ..CCounters::default()
    };
    assert_eq!(unsafe { dccp_stats(pair.client, &raw mut counters) }, 0);
    assert_eq!((counters.pushed, counters.acked), (4, 4));
    let mut snapshot = CSnapshot {
        size: size_of::<CSnapshot>(),
        ..CSnapshot::default()
    };
    assert_eq!(unsafe { dccp_snapshot(pair.client, &raw mut snapshot) }, 0);
    assert_eq!(snapshot.send_ccid, 2);
    assert!(["TIMEWAIT", "CLOSED"].contains(&text(dccp_state_name(snapshot.state)).as_str()));
}

#[test]
fn bad_arguments_of_a_send_take_no_datagram() {
    let pair = Pair::new(|_| {});
    let invalid = i64::from(DCCP_ERR_INVALID);
    let bad = [
        CSendOptions {
            size: 0,
            ..send_options()
        },
        CSendOptions {
            size: size_of::<CSendOptions>() + 8,
            ..send_options()
        },
        CSendOptions {
            priority: 256,
            ..send_options()
        },
        CSendOptions {
            flags: 2,
            ..send_options()
        },
        CSendOptions {
            reserved: 1,
            ..send_options()
        },
        CSendOptions {
            when_full: 5,
            ..send_options()
        },
    ];
    for options in &bad {
        assert_eq!(send(pair.client, b"x", options), invalid, "{options:?}");
    }
    let mut items = [CSendItem {
        data: b"x".as_ptr().cast(),
        len: 1,
        options: null(),
        result: 0,
    }; 2];
    items[1].data = null();
    let taken = unsafe { dccp_sendv(pair.client, items.as_mut_ptr(), 2) };
    assert_eq!(taken, invalid);
    let too_many = unsafe { dccp_sendv(pair.client, items.as_mut_ptr(), usize::MAX) };
    assert_eq!(too_many, invalid);
    let too_long = unsafe { dccp_send(pair.client, items.as_ptr().cast(), usize::MAX) };
    assert_eq!(too_long, invalid);
    assert_eq!(unsafe { dccp_sendv(pair.client, null_mut(), 0) }, 0);
    let long = vec![0; 70_000];
    let too_big = send(pair.client, &long, null());
    assert_eq!(too_big, i64::from(DCCP_ERR_TOO_BIG));
    assert_eq!(send(pair.client, b"x", null()), 0, "the first one taken");
    assert_eq!(unsafe { dccp_shutdown(pair.client, 3) }, DCCP_ERR_INVALID);
}

#[test]
fn descriptor_is_readable_while_a_datagram_waits() {
    let pair = Pair::new(|options| {
        assert_eq!(unsafe { dccp_options_nonblocking(options, false) }, 0);
    });
    assert_eq!(unsafe { dccp_set_nonblocking(pair.server, true) }, 0);
    let fd = unsafe { dccp_fd(pair.server) };
    assert!(fd >= 0);
    assert_eq!(unsafe { dccp_fd(pair.server) }, fd);
    let mut event = CEvent {
        size: size_of::<CEvent>(),
        ..CEvent::default()
    };
    while unsafe { dccp_poll_event(pair.server, &raw mut event) } == 1 {}
    let mut buffer = [0_u8; 10];
    let room = buffer.as_mut_ptr().cast();
    let again = i64::from(DCCP_ERR_AGAIN);
    assert_eq!(unsafe { dccp_recv(pair.server, room, 10) }, again);
    assert_eq!(dccp_last_fault(), DCCP_FAULT_NONE);
    assert_eq!(send(pair.client, b"x", null()), 0);
    let mut watched = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    loop {
        assert_eq!(unsafe { libc::poll(&raw mut watched, 1, 5000) }, 1);
        if unsafe { dccp_ready(pair.server) } & DCCP_READY_RECV != 0 {
            break;
        }
        while unsafe { dccp_poll_event(pair.server, &raw mut event) } == 1 {}
    }
    assert_eq!(unsafe { dccp_recv(pair.server, room, 10) }, 1);
    let listening = unsafe { dccp_listener_fd(pair.listener) };
    assert!(listening >= 0 && listening != fd);
}

#[test]
fn failed_recvv_leaves_the_items_as_they_are() {
    let pair = Pair::new(|_| {});
    assert_eq!(send(pair.client, b"first", null()), 0);
    let mut room = [b'.'; 10];
    let mut item = unsafe { core::mem::zeroed::<CRecvItem>() };
    item.buffer = room.as_mut_ptr().cast();
    item.buffer_size = room.len();
    assert_eq!(unsafe { dccp_recvv(pair.server, &raw mut item, 1) }, 1);
    assert_eq!((item.len, &room[..6]), (5, b"first.".as_slice()));
    room.fill(b'.');
    item.len = 77;
    assert_eq!(unsafe { dccp_set_nonblocking(pair.server, true) }, 0);
    let again = unsafe { dccp_recvv(pair.server, &raw mut item, 1) };
    assert_eq!(again, i64::from(DCCP_ERR_AGAIN));
    assert_eq!((item.len, room), (77, [b'.'; 10]));
}

#[test]
fn abort_is_an_event_with_its_code() {
    let pair = Pair::new(|_| {});
    let mut reason = [0; 200];
    let text_of = |reason: *mut c_char| unsafe { dccp_close_reason(pair.client, reason, 200) };
    assert_eq!(text_of(reason.as_mut_ptr()), 0);
    assert_eq!(unsafe { dccp_abort(pair.client) }, 0);
    assert_eq!(unsafe { dccp_wait_closed(pair.client, 5 * SECOND) }, 0);
    assert!(text_of(reason.as_mut_ptr()) > 0);
    assert_eq!(text(reason.as_ptr()), "aborted by this end");
    let short = unsafe { dccp_close_reason(pair.client, reason.as_mut_ptr(), 3) };
    assert_eq!(short, i64::from(DCCP_ERR_INVALID));
    assert_eq!(detail(), "size: 3: must be at least 20 for this text");
    let mut event = CEvent {
        size: size_of::<CEvent>(),
        ..CEvent::default()
    };
    while event.event != DCCP_EVENT_CLOSED {
        assert_eq!(unsafe { dccp_poll_event(pair.client, &raw mut event) }, 1);
    }
    assert_eq!(
        (event.close_reason, event.reset_code),
        (DCCP_CLOSED_ABORTED, 2)
    );
    let sent = send(pair.client, b"x", null());
    assert_eq!(sent, i64::from(DCCP_ERR_CLOSED));
}

#[test]
fn older_and_newer_headers_get_as_much_as_fits() {
    let pair = Pair::new(|_| {});
    // A newer program has a longer struct.
    let mut longer = [CSnapshot::default(); 2];
    longer[0].size = size_of::<[CSnapshot; 2]>();
    assert_eq!(
        unsafe { dccp_snapshot(pair.client, longer.as_mut_ptr()) },
        0
    );
    assert_eq!(longer[0].size, size_of::<CSnapshot>());
    assert_eq!(longer[1].size, 0);
    longer[0].size = CSnapshot::FIRST_SIZE - 1;
    assert_eq!(
        unsafe { dccp_snapshot(pair.client, longer.as_mut_ptr()) },
        DCCP_ERR_INVALID
    );
}

#[test]
fn first_versions_of_structs_have_their_sizes() {
    assert_eq!(size_of::<CSendOptions>(), CSendOptions::FIRST_SIZE);
    assert_eq!(size_of::<CRecvMeta>(), CRecvMeta::FIRST_SIZE);
    // The fields of DCCP_EVENT_SHORTFALL follow.
    assert_eq!(size_of::<CEvent>(), CEvent::FIRST_SIZE + 24);
    assert_eq!(size_of::<CCounters>(), CCounters::FIRST_SIZE);
    assert_eq!(size_of::<CSnapshot>(), CSnapshot::FIRST_SIZE);
}

#[test]
fn addresses_convert_to_socket_addresses_and_back() {
    for address in ["192.0.2.10:14233/5001", "[2001:db8::1]:40000/5001"] {
        let given = CString::new(address).unwrap();
        let mut udp = unsafe { core::mem::zeroed::<libc::sockaddr_storage>() };
        let (mut len, mut dccp_port) = (0, 0);
        let storage = &raw mut udp;
        let read = unsafe {
            dccp_address_to_sockaddr(given.as_ptr(), storage, &raw mut len, &raw mut dccp_port)
        };
        assert_eq!((read, dccp_port), (0, 5001));
        let mut back = [0; DCCP_ADDRESS_SIZE];
        let back = back.as_mut_ptr();
        let written = |len, size| unsafe {
            dccp_address_from_sockaddr(storage.cast(), len, dccp_port, back, size)
        };
        assert_eq!(written(len, 80), i64::try_from(address.len()).unwrap());
        assert_eq!(text(back), address);
        assert_eq!(written(len, 5), i64::from(DCCP_ERR_INVALID));
        assert_eq!(written(2, 80), i64::from(DCCP_ERR_INVALID));
    }
    let mut storage = unsafe { core::mem::zeroed::<libc::sockaddr_storage>() };
    let (mut len, mut port) = (0, 0);
    let name = c"localhost:1/1".as_ptr();
    let read =
        unsafe { dccp_address_to_sockaddr(name, &raw mut storage, &raw mut len, &raw mut port) };
    assert_eq!(read, DCCP_ERR_ADDRESS);
}

#[test]
fn waiting_datagrams_can_be_withdrawn() {
    let pair = Pair::new(|options| {
        assert_eq!(unsafe { dccp_options_fate_buffer(options, 1000) }, 0);
    });
    for tag in 0..200 {
        let options = CSendOptions {
            tag,
            ..send_options()
        };
        assert!(send(pair.client, &[0; 1000], &raw const options) >= 0);
    }
    let withdrawn = unsafe { dccp_withdraw_tags(pair.client, 150, 159) };
    assert!((0..=10).contains(&withdrawn));
    let one = unsafe { dccp_withdraw(pair.client, 199) };
    assert!((0..=1).contains(&one));
    assert!(unsafe { dccp_withdraw_all(pair.client) } >= 0);
    assert_eq!(unsafe { dccp_queued(pair.client) }, 0);
    assert_eq!(unsafe { dccp_flush(pair.client, SECOND) }, 0);
}

/// A source of `left` datagrams, and what the library did with it.
struct Camera {
    left: AtomicU64,
    releases: AtomicU64,
}

unsafe extern "C" fn supply(
    user: *mut c_void,
    request: *const CSourceRequest,
    buffer: *mut c_void,
) -> i64 {
    let camera = unsafe { &*user.cast::<Camera>() };
    let request = unsafe { &*request };
    assert!(request.max_len > 1000);
    let left = camera.left.load(Ordering::Relaxed);
    match left {
        0 => -1,
        // Longer than the buffer: no datagram.
        99 => i64::MAX,
        _ => {
            camera.left.store(left - 1, Ordering::Relaxed);
            unsafe { buffer.cast::<u8>().write(b'p') };
            1
        }
    }
}

unsafe extern "C" fn release(user: *mut c_void) {
    let camera = unsafe { &*user.cast::<Camera>() };
    camera.releases.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn source_supplies_datagrams_and_is_released_once() {
    let camera = Camera {
        left: AtomicU64::new(3),
        releases: AtomicU64::new(0),
    };
    let user = (&raw const camera).cast_mut().cast();
    let pair = Pair::new(|_| {});
    let set = |supply, release| unsafe { dccp_set_source(pair.client, supply, release, user) };
    assert_eq!(set(Some(supply), Some(release)), 0);
    let mut buffer = [0_u8; 10];
    let room = buffer.as_mut_ptr().cast();
    for _ in 0..3 {
        assert_eq!(unsafe { dccp_recv(pair.server, room, 10) }, 1);
    }
    camera.left.store(99, Ordering::Relaxed);
    assert_eq!(unsafe { dccp_data_ready(pair.client) }, 0);
    assert_eq!(camera.releases.load(Ordering::Relaxed), 0);
    assert_eq!(set(None, None), 0);
    // If the source runs just then, the engine's thread releases it afterwards.
    while camera.releases.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(unsafe { dccp_close(pair.client) }, 0);
    assert_eq!(buffer[0], b'p');
    let closed = unsafe { dccp_recv(pair.server, room, 10) };
    assert_eq!(closed, i64::from(DCCP_ERR_CLOSED));
    assert_eq!(unsafe { dccp_data_ready(null()) }, DCCP_ERR_INVALID);
    let messages = Pair::new(|o| {
        assert_eq!(
            unsafe { crate::message::dccp_options_messages(o, c"tst".as_ptr()) },
            0
        );
    });
    // After an error the program releases it.
    for socket in [null(), messages.client] {
        let none = unsafe { dccp_set_source(socket, Some(supply), Some(release), user) };
        assert_eq!(none, DCCP_ERR_INVALID);
    }
    assert_eq!(camera.releases.load(Ordering::Relaxed), 1);
}

#[test]
fn threads_share_handles() {
    const fn assert_shared<T: Send + Sync>() {}
    const { assert_shared::<SocketHandle>() };
    const { assert_shared::<ListenerHandle>() };
    let pair = Pair::new(|_| {});
    let client = unsafe { &*pair.client };
    let server = unsafe { &*pair.server };
    let receive = || {
        let mut buffer = [0_u8; 10];
        let room = buffer.as_mut_ptr().cast();
        let mut count = 0;
        while unsafe { dccp_recv(server, room, 10) } == 5 {
            count += 1;
        }
        count
    };
    std::thread::scope(|scope| {
        let receivers = [0; 2].map(|_| scope.spawn(receive));
        let senders = [0; 2].map(|_| {
            scope.spawn(|| {
                for _ in 0..200 {
                    assert!(send(client, b"frame", null()) >= 0);
                }
            })
        });
        for sender in senders {
            sender.join().unwrap();
        }
        assert_eq!(unsafe { dccp_close(client) }, 0);
        let received: u32 = receivers.map(|r| r.join().unwrap()).iter().sum();
        assert_eq!(received, 400);
    });
}

#[test]
fn only_ccid_248_has_a_send_code() {
    let mut report = CSafeUdp::default();
    let pair = Pair::new(|_| {});
    assert_eq!(unsafe { dccp_send_code(pair.client, &raw mut report) }, 0);
    let pair = Pair::new(|options| {
        assert_eq!(unsafe { dccp_options_ccid(options, 248) }, 0);
    });
    assert_eq!(send(pair.client, b"x", null()), 0);
    assert_eq!(unsafe { dccp_flush(pair.client, SECOND) }, 0);
    assert_eq!(unsafe { dccp_send_code(pair.client, &raw mut report) }, 1);
    assert_eq!(report.is_sent, 1);
}
