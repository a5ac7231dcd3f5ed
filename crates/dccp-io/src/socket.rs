//! Counters, settings and arrival times of sockets that programs opened themselves.

#[cfg(target_os = "linux")]
use crate::versions::Versions;
use core::time::Duration;
use std::io;
use std::net::UdpSocket;

/// How many datagrams the kernel dropped because the socket's receive buffer was full, or because their UDP checksum was
/// wrong; modulo 2^32. `None` where the system does not count them.
#[cfg(target_os = "linux")]
pub fn recv_drops(socket: &impl std::os::fd::AsFd) -> Option<u64> {
    let drops = crate::sys::sockopt::recv_drops(socket.as_fd());
    drops.ok().map(u64::from)
}

/// How many datagrams the kernel dropped because the socket's receive buffer was full, or because their UDP checksum was
/// wrong; modulo 2^32. `None` where the system does not count them.
#[cfg(not(target_os = "linux"))]
pub fn recv_drops<T>(_: &T) -> Option<u64> {
    None
}

/// Makes calls that send fail if a queue of this host drops the datagram, with an error that
/// [`is_out_of_memory`](crate::is_out_of_memory) recognises. Such a socket also keeps ICMP errors, which take room in its
/// receive buffer and fail its next call; a further call of this function removes them.
///
/// # Errors
/// Those of `setsockopt`. Where the system has no such option, nothing happens.
#[cfg(target_os = "linux")]
pub fn report_drops(socket: &impl std::os::fd::AsFd, is_ipv6: bool) -> io::Result<()> {
    let of = if is_ipv6 { Versions::V6 } else { Versions::V4 };
    let set = |on| crate::sys::sockopt::set_icmp_reports(socket.as_fd(), of, on);
    set(false)?;
    set(true)
}

/// Makes calls that send fail if a queue of this host drops the datagram, where the system can.
///
/// # Errors
/// None here.
#[cfg(not(target_os = "linux"))]
pub fn report_drops<T>(_: &T, _is_ipv6: bool) -> io::Result<()> {
    Ok(())
}

/// Makes the kernel note the time when a datagram arrives; [`recv_stamped`] gives it. The kernel notes it when the packet
/// comes from the interface, before the packet waits for the program.
///
/// # Errors
/// Those of `setsockopt`.
#[cfg(target_os = "linux")]
pub fn stamp_arrivals(socket: &UdpSocket) -> io::Result<()> {
    use std::os::fd::AsFd as _;
    crate::sys::sockopt::set_timestamps(socket.as_fd(), true)
}

/// Makes the kernel note the time when a datagram arrives, where it can.
///
/// # Errors
/// Always here.
#[cfg(not(target_os = "linux"))]
pub fn stamp_arrivals(_: &UdpSocket) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Receives a datagram as [`UdpSocket::recv`] does. Gives its length, and its time of arrival since the Unix epoch if the
/// kernel noted it. If it does not wait, and no datagram is there, the error is that of a timeout.
///
/// # Errors
/// Those of [`UdpSocket::recv`].
#[cfg(target_os = "linux")]
pub fn recv_stamped(
    socket: &UdpSocket,
    memory: &mut [u8],
    waits: bool,
) -> io::Result<(usize, Option<Duration>)> {
    use std::os::fd::AsFd as _;
    let (length, control) = crate::sys::mmsg::recv_one(socket.as_fd(), memory, waits)?;
    Ok((length, control.timestamp))
}

/// Receives a datagram as [`UdpSocket::recv`] does, and always waits. Gives its length; there is no time of arrival here.
///
/// # Errors
/// Those of [`UdpSocket::recv`].
#[cfg(not(target_os = "linux"))]
pub fn recv_stamped(
    socket: &UdpSocket,
    memory: &mut [u8],
    _waits: bool,
) -> io::Result<(usize, Option<Duration>)> {
    Ok((socket.recv(memory)?, None))
}

/// Ends the reports of ICMP errors at a socket, and removes those that wait. Another program that holds the same socket,
/// such as a service manager, then sees no error when it polls.
///
/// # Errors
/// Those of `setsockopt` and `getsockopt`. Where the system has no such reports, nothing happens.
#[cfg(target_os = "linux")]
pub fn end_reports(socket: &UdpSocket) -> io::Result<()> {
    use std::os::fd::AsFd as _;
    let of = Versions::of_socket(&socket2::SockRef::from(socket))?;
    crate::sys::sockopt::set_icmp_reports(socket.as_fd(), of, false)?;
    // Reading the error of the last packet removes it.
    socket.take_error().map(|_| ())
}

/// Ends the reports of ICMP errors at a socket, where the system has them.
///
/// # Errors
/// None here.
#[cfg(not(target_os = "linux"))]
pub fn end_reports(_: &UdpSocket) -> io::Result<()> {
    Ok(())
}

/// The sender of a TCP connection of the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpState {
    /// 0: no loss is being repaired; 2: the window was halved; 3: recovery; 4: recovery after a time-out.
    pub recovery: u8,
    /// The smoothed round-trip time in microseconds.
    pub rtt_us: u32,
    /// The congestion window.
    pub cwnd_segments: u32,
    /// The threshold of slow start.
    pub ssthresh_segments: u32,
    /// Segments that are not acknowledged.
    pub unacked_segments: u32,
    /// Bytes in the send buffer that were never sent.
    pub unsent_bytes: u32,
    /// Data bytes of a segment.
    pub mss_bytes: u32,
    /// Segments sent again.
    pub retransmitted_segments: u32,
    /// Segments with data that were sent, those sent again included.
    pub data_segments: u32,
    /// Data bytes that were sent, those sent again included.
    pub sent_bytes: u64,
    /// Data bytes that the peer acknowledged.
    pub acknowledged_bytes: u64,
    /// Data bytes sent again.
    pub retransmitted_bytes: u64,
    /// The time with data to send, in microseconds.
    pub busy_us: u64,
    /// Of this, limited by the peer's window.
    pub rwnd_limited_us: u64,
    /// Of this, limited by the send buffer.
    pub sndbuf_limited_us: u64,
}

/// The sender of a TCP connection; `None` where the system does not tell it.
#[cfg(target_os = "linux")]
pub fn tcp_state(socket: &impl std::os::fd::AsFd) -> Option<TcpState> {
    let words = crate::sys::sockopt::tcp_info(socket.as_fd()).ok()?;
    // Numbers of 64 bits are in the order of the machine.
    let long = |at: usize| {
        let [a, b] = [words[at].to_ne_bytes(), words[at + 1].to_ne_bytes()];
        u64::from_ne_bytes([a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]])
    };
    Some(TcpState {
        recovery: words[0].to_ne_bytes()[1],
        rtt_us: words[17],
        cwnd_segments: words[20],
        ssthresh_segments: words[19],
        unacked_segments: words[6],
        unsent_bytes: words[36],
        mss_bytes: words[4],
        retransmitted_segments: words[25],
        data_segments: words[39],
        sent_bytes: long(50),
        acknowledged_bytes: long(30),
        retransmitted_bytes: long(52),
        busy_us: long(42),
        rwnd_limited_us: long(44),
        sndbuf_limited_us: long(46),
    })
}

/// The sender of a TCP connection; `None` where the system does not tell it.
#[cfg(not(target_os = "linux"))]
pub fn tcp_state<T>(_: &T) -> Option<TcpState> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::time::SystemTime;

    #[expect(
        clippy::disallowed_methods,
        reason = "the kernel's stamps are compared with it"
    )]
    fn unix_time() -> Duration {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.expect("after 1970")
    }

    #[test]
    fn arrival_of_a_datagram_is_stamped_by_the_kernel() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        let mut memory = [0; 4];
        sender.send(b"early").unwrap();
        // Longer datagrams lose their end.
        assert_eq!(
            recv_stamped(&receiver, &mut memory, true).unwrap(),
            (4, None)
        );
        stamp_arrivals(&receiver).unwrap();
        let wait = Duration::from_millis(50);
        // The kernel begins to note times a moment after the first socket asked for it.
        let waited = (0..20).map(|_| {
            sender.send(b"late").unwrap();
            std::thread::sleep(wait);
            let (length, at) = recv_stamped(&receiver, &mut memory, true).unwrap();
            assert_eq!((length, &memory), (4, b"late"));
            unix_time().saturating_sub(at.unwrap())
        });
        let longest = waited.max().unwrap();
        assert!(longest >= wait, "{longest:?}");
        // Without a timeout, a call that waits would never end.
        let error = recv_stamped(&receiver, &mut memory, false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        receiver.set_read_timeout(Some(wait)).unwrap();
        let error = recv_stamped(&receiver, &mut memory, true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn tcp_state_counts_what_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        sender.write_all(&[1; 12_345]).unwrap();
        receiver.read_exact(&mut [0; 12_345]).unwrap();
        // The answer acknowledges the data.
        receiver.write_all(&[1]).unwrap();
        sender.read_exact(&mut [0]).unwrap();
        let state = tcp_state(&sender).unwrap();
        assert_eq!(state.sent_bytes, 12_345);
        // The number of the SYN counts as a byte.
        assert!((12_345..=12_346).contains(&state.acknowledged_bytes));
        assert_eq!((state.unsent_bytes, state.unacked_segments), (0, 0));
        assert_eq!(state.retransmitted_segments, 0);
        assert!(state.data_segments > 0 && state.mss_bytes > 500);
        assert!(state.rtt_us > 0 && state.cwnd_segments > 1);
    }

    #[test]
    fn tcp_state_shows_the_wait_for_a_peer_that_does_not_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_receiver, _) = listener.accept().unwrap();
        sender.set_nonblocking(true).unwrap();
        let mut written = 0;
        loop {
            written += sender.write(&[1; 16_000]).unwrap_or(0) as u64;
            let state = tcp_state(&sender).unwrap();
            // The kernel counts these times in ticks of its clock.
            if state.busy_us > 0 && state.rwnd_limited_us > 0 {
                assert!(state.rwnd_limited_us <= state.busy_us, "{state:?}");
                assert!(state.unsent_bytes > 0 && u64::from(state.unsent_bytes) < written);
                return;
            }
            assert!(state.busy_us < 5_000_000, "{state:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
