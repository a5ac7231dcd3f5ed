//! The same tests for both pollers.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests measure that a wait takes time"
)]

use std::time::Instant;

use super::*;

#[test]
fn busy_waiting_shortens_the_sleep_and_never_a_wait_without_end() {
    let us = Duration::from_micros;
    assert_eq!(sleep_time(None, us(50)), None);
    assert_eq!(sleep_time(Some(us(200)), us(50)), Some(us(150)));
    assert_eq!(sleep_time(Some(us(50)), us(50)), Some(Duration::ZERO));
    assert_eq!(sleep_time(Some(us(10)), us(50)), Some(Duration::ZERO));
    assert_eq!(sleep_time(Some(us(10)), Duration::ZERO), Some(us(10)));
}

macro_rules! poller_tests {
    ($module:ident, $poller:path, $source:expr) => {
        mod $module {
            use std::net::UdpSocket;
            use std::thread;

            use super::*;

            const LONG: Option<Duration> = Some(Duration::from_secs(20));

            fn sockets() -> (UdpSocket, UdpSocket) {
                let a = UdpSocket::bind("127.0.0.1:0").unwrap();
                let b = UdpSocket::bind("127.0.0.1:0").unwrap();
                a.connect(b.local_addr().unwrap()).unwrap();
                (a, b)
            }

            #[test]
            fn wait_ends_at_its_timeout_and_not_before() {
                let mut poller = <$poller>::new(Duration::ZERO).unwrap();
                let mut ready = Vec::new();
                let start = Instant::now();
                poller
                    .wait(Some(Duration::from_micros(1500)), &mut ready)
                    .unwrap();
                assert!(start.elapsed() >= Duration::from_micros(1500));
                assert!(start.elapsed() < Duration::from_secs(5));
                assert!(ready.is_empty());
                let start = Instant::now();
                poller.wait(Some(Duration::ZERO), &mut ready).unwrap();
                assert!(start.elapsed() < Duration::from_secs(5));
            }

            #[test]
            fn wait_of_the_busy_time_polls_without_sleep() {
                let us = Duration::from_micros;
                let poller = <$poller>::new(us(50)).unwrap();
                assert!(poller.sleeps(None) && poller.sleeps(Some(us(51))));
                assert!(!poller.sleeps(Some(us(50))) && !poller.sleeps(Some(us(0))));
            }

            #[test]
            fn datagram_makes_its_transport_readable_and_no_other() {
                let mut poller = <$poller>::new(Duration::ZERO).unwrap();
                let (a, b) = sockets();
                let mut ready = Vec::new();
                poller.add($source(&a), Token(7)).unwrap();
                poller.add($source(&b), Token(8)).unwrap();
                a.send(&[1]).unwrap();
                poller.wait(LONG, &mut ready).unwrap();
                let expected = Ready {
                    token: Token(8),
                    readable: true,
                    writable: false,
                    error: false,
                };
                assert_eq!(ready, [expected]);
                poller.remove($source(&b)).unwrap();
                a.send(&[1]).unwrap();
                poller
                    .wait(Some(Duration::from_millis(1)), &mut ready)
                    .unwrap();
                assert_eq!(ready, []);
            }

            #[test]
            fn room_to_send_is_told_only_while_asked_for() {
                let mut poller = <$poller>::new(Duration::ZERO).unwrap();
                let (a, _b) = sockets();
                let mut ready = Vec::new();
                let short = Some(Duration::from_millis(1));
                poller.add($source(&a), Token(3)).unwrap();
                poller.wait(short, &mut ready).unwrap();
                assert_eq!(ready, []);
                poller.want_writable($source(&a), Token(3), true).unwrap();
                poller.wait(LONG, &mut ready).unwrap();
                assert!(ready[0].writable && !ready[0].readable);
                poller.want_writable($source(&a), Token(3), false).unwrap();
                poller.wait(short, &mut ready).unwrap();
                assert_eq!(ready, []);
            }

            #[test]
            fn another_thread_wakes_the_poller_each_time() {
                let mut poller = <$poller>::new(Duration::ZERO).unwrap();
                let waker = poller.waker();
                let (ask, asked) = std::sync::mpsc::channel();
                let thread = thread::spawn(move || {
                    while asked.recv().is_ok() {
                        waker.wake();
                        waker.wake();
                    }
                });
                let start = Instant::now();
                let mut ready = Vec::new();
                for _ in 0..100 {
                    ask.send(()).unwrap();
                    poller.wait(LONG, &mut ready).unwrap();
                    assert_eq!(ready, []);
                }
                drop(ask);
                thread.join().unwrap();
                assert!(start.elapsed() < Duration::from_secs(15));
            }

            #[test]
            fn wait_within_the_busy_time_polls_without_sleep() {
                let mut poller = <$poller>::new(Duration::from_secs(30)).unwrap();
                let start = Instant::now();
                poller.wait(LONG, &mut Vec::new()).unwrap();
                assert!(start.elapsed() < Duration::from_secs(15));
            }
        }
    };
}

#[cfg(target_os = "linux")]
poller_tests!(linux_poller, Poller, std::os::fd::AsFd::as_fd);
#[cfg(target_os = "linux")]
poller_tests!(
    portable_poller,
    portable::Poller,
    |s: &UdpSocket| Box::leak(Box::new(mio::unix::SourceFd(Box::leak(Box::new(
        std::os::fd::AsRawFd::as_raw_fd(s)
    )))))
);
