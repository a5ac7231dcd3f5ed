//! Listeners beyond accepting.

use super::*;
use crate::events::{DCCP_EVENT_SOCKET_LOST, DCCP_EVENT_SOCKET_RESTORED};
use std::net::UdpSocket;
use std::os::fd::AsRawFd as _;

#[test]
fn listener_takes_a_socket_that_is_bound() {
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut listener = null_mut();
    let fd = udp.as_raw_fd();
    let listening = unsafe { dccp_listen_fd(fd, 0, null(), &raw mut listener) };
    assert_eq!(listening, 0, "{}", detail());
    let mut address = [0; DCCP_ADDRESS_SIZE];
    unsafe { dccp_listener_address(listener, 0, address.as_mut_ptr(), DCCP_ADDRESS_SIZE) };
    let expected = format!("{}/", udp.local_addr().unwrap());
    assert!(text(address.as_ptr()).starts_with(&expected));
    drop(udp);
    let (mut client, mut server) = (null_mut(), null_mut());
    let connected = unsafe { dccp_connect(address.as_ptr(), null(), &raw mut client) };
    assert_eq!(connected, 0, "{}", detail());
    assert_eq!(unsafe { dccp_accept(listener, &raw mut server) }, 0);
    let mut event = CEvent {
        size: size_of::<CEvent>(),
        ..CEvent::default()
    };
    let none = unsafe { dccp_listener_poll_event(listener, &raw mut event) };
    assert_eq!(none, 0);
    unsafe { dccp_socket_free(client) };
    unsafe { dccp_socket_free(server) };
    unsafe { dccp_listener_free(listener) };
    for (fd, expected) in [(-1, DCCP_ERR_INVALID), (i32::MAX, DCCP_ERR_SYSTEM)] {
        let refused = unsafe { dccp_listen_fd(fd, 0, null(), &raw mut listener) };
        assert_eq!((refused, listener), (expected, null_mut()));
    }
}

#[test]
fn refused_connections_are_counted() {
    let pair = Pair::new(|o| assert_eq!(unsafe { dccp_options_backlog(o, 1) }, 0));
    let mut address = [0; DCCP_ADDRESS_SIZE];
    unsafe { dccp_listener_address(pair.listener, 0, address.as_mut_ptr(), DCCP_ADDRESS_SIZE) };
    let (mut waits, mut refused) = (null_mut(), null_mut());
    let connect = |socket| unsafe { dccp_connect(address.as_ptr(), null(), socket) };
    assert_eq!(connect(&raw mut waits), 0, "{}", detail());
    assert_eq!(connect(&raw mut refused), DCCP_ERR_TOO_BUSY);
    let mut counters = CListenerCounters {
        size: size_of::<CListenerCounters>(),
        refused_backlog: 0,
        refused_source: 9,
    };
    assert_eq!(
        unsafe { dccp_listener_stats(pair.listener, &raw mut counters) },
        0
    );
    assert_eq!((counters.refused_backlog, counters.refused_source), (1, 0));
    unsafe { dccp_socket_free(waits) };
}

#[test]
fn events_of_listeners_are_those_of_sockets() {
    let place = "127.0.0.1:1/2".parse().unwrap();
    let error = std::io::Error::from_raw_os_error(5);
    let lost = dccp::ListenerEvent::SocketLost { place, error };
    let lost = CEvent::of_listener(&lost).unwrap();
    assert_eq!((lost.event, lost.os_error), (DCCP_EVENT_SOCKET_LOST, 5));
    let restored = dccp::ListenerEvent::SocketRestored { place };
    let restored = CEvent::of_listener(&restored).unwrap();
    assert_eq!(restored.event, DCCP_EVENT_SOCKET_RESTORED);
}
