//! Sockets for tasks, over the loopback interface.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use dccp::WhenFull;
use dccp::packet_ring::{Label, PushError, Shape};
use dccp::tokio::{Listener, RingRecvHalf, RingSendHalf, RingSocket, Socket};
use dccp::{
    CloseReason, ConnectError, Event, Options, RecvBatch, RecvError, SendError, SendItem,
    SendOptions,
};
use std::net::Shutdown;
use std::sync::Arc;
use tokio::time::timeout;

#[path = "../examples/tokio.rs"]
mod example;
#[path = "../examples/game.rs"]
mod game;

const PORT: u16 = 5001;
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a test's task, which must end in time.
fn run<T>(task: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async { timeout(PATIENCE, task).await.expect("in time") })
}

async fn pair(options: &Options) -> (Socket, Socket) {
    let listener = Listener::bind(("127.0.0.1:0", PORT), options)
        .await
        .unwrap();
    let address = listener.local_addrs()[0].udp_addr();
    let connecting = Socket::connect((address, PORT), options);
    let (client, server) = tokio::join!(connecting, listener.accept());
    (client.unwrap(), server.unwrap())
}

/// Polls a future once, with a waker that does nothing.
async fn begun<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    // A task with a budget of its own: the future decides, not the runtime.
    tokio::task::yield_now().await;
    match core::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}

#[test]
fn example_runs_to_its_end() -> Result<(), Box<dyn std::error::Error>> {
    example::main()
}

#[test]
fn cancelled_receive_takes_no_datagram() {
    run(async {
        let (client, server) = pair(&Options::new()).await;
        let mut buf = [0; 9];
        for n in 0..20_u8 {
            {
                let mut cancelled = pin!(server.recv(&mut buf));
                assert!(begun(&mut cancelled).await.is_none());
                client.send(&[n]).await.unwrap();
                // It may be there by now, but no task looks.
                tokio::task::yield_now().await;
            }
            assert_eq!(server.recv(&mut buf).await, Ok(1));
            assert_eq!(buf[0], n);
        }
    });
}

#[test]
fn cancelled_task_does_not_prevent_other_wakes() {
    run(async {
        let (client, server) = pair(&Options::new()).await;
        let server = Arc::new(server);
        let waiting = tokio::spawn({
            let server = server.clone();
            async move { server.recv(&mut [0; 9]).await }
        });
        let mut batch = RecvBatch::new(2);
        let mut cancelled = Box::pin(server.recv_batch(&mut batch));
        assert!(begun(&mut cancelled).await.is_none());
        client.send(b"one").await.unwrap();
        drop(cancelled);
        assert_eq!(waiting.await.unwrap(), Ok(3));
        client.send(b"three").await.unwrap();
        assert_eq!(server.recv_batch(&mut batch).await, Ok(1));
    });
}

#[test]
fn send_waits_for_room_and_cancelled_send_has_no_effect() {
    run(async {
        let options = Options::new().send_buffer(2).recv_buffer(4096);
        let (client, server) = pair(&options).await;
        let client = Arc::new(client);
        let sending = tokio::spawn({
            let client = client.clone();
            async move {
                let mut cancelled = 0_u32;
                for n in 0..2000_u32 {
                    {
                        let nobody = 77_u32.to_be_bytes();
                        let mut send = pin!(client.send(&nobody));
                        if begun(&mut send).await.is_some() {
                            continue;
                        }
                        cancelled += 1;
                    }
                    client.send(&n.to_be_bytes()).await.unwrap();
                }
                assert!(cancelled > 0, "the buffer was never full");
                let sent = client.get_ref().stats().unwrap().sent;
                assert_eq!(sent.pushed, 2000);
                let full = SendOptions::new().when_full(WhenFull::Error);
                let refused = loop {
                    if let Err(error) = client.send_with(b"!", full).await {
                        break error;
                    }
                };
                assert_eq!(refused, SendError::WouldBlock);
                client.close().await
            }
        });
        let mut batch = RecvBatch::new(64);
        while server.recv_batch(&mut batch).await.is_ok() {}
        assert_eq!(sending.await.unwrap(), CloseReason::Local);
    });
}

#[test]
fn end_of_connection_wakes_all_waiting_tasks() {
    run(async {
        let (client, server) = pair(&Options::new().send_buffer(1)).await;
        let server = Arc::new(server);
        let receiving = tokio::spawn({
            let server = server.clone();
            async move { server.recv(&mut [0; 9]).await }
        });
        let closed = tokio::spawn({
            let server = server.clone();
            async move { server.closed().await }
        });
        assert_eq!(server.event().await, Some(Event::Connected));
        client.send(b"last").await.unwrap();
        assert_eq!(receiving.await.unwrap(), Ok(4));
        assert_eq!(client.close().await, CloseReason::Local);
        assert_eq!(closed.await.unwrap(), CloseReason::Peer);
        let over = server.recv(&mut [0; 9]).await;
        assert_eq!(over, Err(RecvError::Closed(CloseReason::Peer)));
        let over = server.send(b"late").await;
        assert_eq!(over, Err(SendError::Closed(CloseReason::Peer)));
        let mut last = None;
        while let Some(event) = server.event().await {
            last = Some(event);
        }
        assert_eq!(last, Some(Event::Closed(CloseReason::Peer)));
    });
}

#[test]
fn shutdown_wakes_the_task_that_waits_for_this_direction() {
    run(async {
        let (_client, server) = pair(&Options::new()).await;
        let mut buf = [0; 9];
        let (received, ()) = tokio::join!(server.recv(&mut buf), async {
            tokio::task::yield_now().await;
            server.shutdown(Shutdown::Read);
        });
        // Only this side has ended it.
        assert_eq!(received, Err(RecvError::ShutDown));
    });
}

#[test]
fn fates_are_waited_for() {
    run(async {
        let (client, server) = pair(&Options::new().fate_buffer(9)).await;
        client.send(b"one").await.unwrap();
        client.send(b"two").await.unwrap();
        let mut fates = Vec::new();
        while fates.len() < 2 {
            assert!(client.recv_fates(&mut fates, 9).await > 0);
        }
        drop(server);
        client.closed().await;
        assert_eq!(client.recv_fates(&mut fates, 9).await, 0);
    });
}

#[test]
fn connecting_fails_as_it_does_for_threads() {
    run(async {
        let options = Options::new().connect_timeout(Duration::from_millis(200));
        let nobody = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let silent = Socket::connect((nobody.local_addr().unwrap(), PORT), &options).await;
        assert!(
            matches!(silent, Err(ConnectError::NoAnswer { remote, .. }) if remote.dccp_port == PORT),
            "{silent:?}"
        );
        let nowhere = Socket::connect((&[][..], PORT), &options).await;
        assert!(matches!(nowhere, Err(ConnectError::NoAddress)));
    });
}

#[test]
fn cancelled_connect_closes_its_connection() {
    run(async {
        let listener = Listener::bind(("127.0.0.1:0", PORT), &Options::new()).await;
        let listener = listener.unwrap();
        let address = listener.local_addrs()[0].udp_addr();
        let options = Options::new();
        let connecting =
            tokio::spawn(async move { Socket::connect((address, PORT), &options).await });
        let server = listener.accept().await.unwrap();
        // It may have ended before.
        connecting.abort();
        drop(connecting.await);
        // A client without an answer just goes: then its UDP port is closed.
        let reason = server.closed().await;
        assert_ne!(reason, CloseReason::TimedOut);
    });
}

#[test]
fn cancelled_accept_takes_no_connection() {
    run(async {
        let listener = Listener::bind(("127.0.0.1:0", PORT), &Options::new()).await;
        let listener = listener.unwrap();
        {
            let mut cancelled = pin!(listener.accept());
            assert!(begun(&mut cancelled).await.is_none());
            let address = listener.local_addrs()[0].udp_addr();
            let client = Socket::connect((address, PORT), &Options::new()).await;
            client.unwrap().get_ref().abort();
        }
        let accepted = listener.accept().await;
        assert!(accepted.is_ok(), "{accepted:?}");
    });
}

fn ring(socket: Socket) -> RingSocket {
    RingSocket::new(socket, Shape::new(8, 16)).unwrap()
}

#[test]
fn task_pushes_into_a_ring_and_receives_datagrams_and_fates() {
    const DATAGRAMS: u64 = 200;
    run(async {
        let (client, server) = pair(&Options::new()).await;
        // All that are sent find room, however late the receiver looks.
        let mut server = RingSocket::new(server, Shape::new(1024, 16)).unwrap();
        let mut client = ring(client);
        let sending = async {
            let mut fates = Vec::new();
            let mut sent = 0;
            while sent < DATAGRAMS {
                let label = Label {
                    tag: sent,
                    ..Label::default()
                };
                match client.sender().push(&sent.to_be_bytes(), label) {
                    Ok(_) => sent += 1,
                    Err(PushError::Full) => client.wait_for_room().await.unwrap(),
                    Err(error) => panic!("{error}"),
                }
                // So none is missed.
                if sent % 8 == 0 {
                    while fates.len() < usize::try_from(sent).unwrap() {
                        assert!(client.recv_fates(&mut fates, 3).await <= 3);
                    }
                }
            }
            fates
        };
        let receiving = async {
            let mut buf = [0; 16];
            for n in 0..DATAGRAMS {
                assert_eq!(server.recv(&mut buf).await, Ok(8));
                assert_eq!(buf[..8], n.to_be_bytes());
            }
        };
        let (mut fates, ()) = tokio::join!(sending, receiving);
        fates.sort_unstable_by_key(|told| told.tag);
        assert!(fates.iter().map(|told| told.tag).eq(0..DATAGRAMS));
    });
}

#[test]
fn end_of_connection_wakes_tasks_that_wait_for_a_ring() {
    run(async {
        let (client, server) = pair(&Options::new()).await;
        let mut client = ring(client);
        assert_eq!(client.event().await, Some(Event::Connected));
        let mut buf = [0; 16];
        let mut receiving = Box::pin(client.recv(&mut buf));
        assert_eq!(begun(&mut receiving).await, None);
        server.send(b"hello").await.unwrap();
        assert_eq!(receiving.await, Ok(5), "it was woken");

        let mut fates = Vec::new();
        let mut hearing = Box::pin(client.recv_fates(&mut fates, 1));
        assert_eq!(begun(&mut hearing).await, None);
        drop(server);
        assert_eq!(hearing.await, 0, "there will be none");
        let closed = client.recv(&mut buf).await.unwrap_err();
        assert!(matches!(closed, RecvError::Closed(_)));
        let closed = client.wait_for_room().await.unwrap_err();
        assert!(matches!(closed, SendError::Closed(_)));
        while client.event().await.is_some() {}
        assert_eq!(client.get_ref().poll_event(), None);
    });
}

#[test]
fn waiting_for_room_fails_once_sending_is_over() {
    run(async {
        let (client, server) = pair(&Options::new()).await;
        let mut client = ring(client);
        while client.sender().push(&[7], Label::default()).is_ok() {}
        let mut waiting = Box::pin(client.wait_for_room());
        let _ = begun(&mut waiting).await;
        drop(waiting);
        client.get_ref().shutdown(Shutdown::Write);
        let over = client.wait_for_room().await;
        assert!(matches!(over, Err(SendError::ShutDown)), "{over:?}");
        drop(server);
    });
}

#[test]
fn receiving_zero_fates_returns_at_once() {
    run(async {
        let (client, _server) = pair(&Options::new()).await;
        let fates = &mut Vec::new();
        let plain = client.recv_fates(fates, 0);
        assert_eq!(timeout(Duration::from_secs(1), plain).await, Ok(0));
        let mut client = ring(client);
        let fates = &mut Vec::new();
        let of_ring = client.recv_fates(fates, 0);
        assert_eq!(timeout(Duration::from_secs(1), of_ring).await, Ok(0));
    });
}

/// Pushes numbers into a ring of few slots.
async fn push_all(mut half: RingSendHalf, numbers: u64) -> RingSendHalf {
    for n in 0..numbers {
        while let Err(error) = half.sender().push(&n.to_be_bytes(), Label::default()) {
            assert_eq!(error, PushError::Full);
            half.wait_for_room().await.unwrap();
        }
    }
    half
}

async fn receive_all(mut half: RingRecvHalf, numbers: u64) -> RingRecvHalf {
    let mut buf = [0; 16];
    for n in 0..numbers {
        assert_eq!(half.recv(&mut buf).await, Ok(8));
        assert_eq!(buf[..8], n.to_be_bytes());
    }
    half
}

#[test]
fn halves_of_a_ring_wait_for_room_and_for_datagrams_at_once() {
    const DATAGRAMS: u64 = 1000;
    run(async {
        let (client, server) = pair(&Options::new()).await;
        let halves = [client, server].map(|socket| {
            let shape = Shape {
                slots: 4,
                ..Shape::new(1024, 16)
            };
            RingSocket::new(socket, shape).unwrap().into_split()
        });
        let tasks = halves.map(|(send, recv)| {
            (
                tokio::spawn(push_all(send, DATAGRAMS)),
                tokio::spawn(receive_all(recv, DATAGRAMS)),
            )
        });
        let mut done = Vec::new();
        for (sending, receiving) in tasks {
            done.push((sending.await.unwrap(), receiving.await.unwrap()));
        }
    });
}

#[test]
fn receiving_half_works_while_the_other_waits_for_room() {
    run(async {
        let (client, server) = pair(&Options::new().recv_buffer(4096)).await;
        let (mut send, mut recv) = ring(client).into_split();
        let mut buf = [0; 16];
        for _ in 0..20 {
            {
                let mut cancelled = pin!(recv.recv(&mut buf));
                assert_eq!(begun(&mut cancelled).await, None);
            }
            let mut waiting = loop {
                while send.sender().push(&[7], Label::default()).is_ok() {}
                let mut waiting = Box::pin(send.wait_for_room());
                // There may be room again.
                if begun(&mut waiting).await.is_none() {
                    break waiting;
                }
                drop(waiting);
            };
            let (found, received, greeted) =
                tokio::join!(&mut waiting, recv.recv(&mut buf), server.send(b"hello"));
            assert_eq!((found, received), (Ok(()), Ok(5)));
            assert!(greeted.is_ok());
        }
    });
}

#[test]
fn ring_without_its_sending_half_goes_on_receiving() {
    run(async {
        let (client, server) = pair(&Options::new()).await;
        let (mut send, recv) = ring(client).into_split();
        send.sender().push(b"last", Label::default()).unwrap();
        drop(send);
        let mut buf = [0; 16];
        assert_eq!(server.recv(&mut buf).await, Ok(4));
        server.send(&0_u64.to_be_bytes()).await.unwrap();
        let recv = receive_all(recv, 1).await;
        assert_eq!(recv.event().await, Some(Event::Connected));
        drop(recv);
        assert_eq!(server.closed().await, CloseReason::Peer);
    });
}

#[test]
fn ring_without_its_receiving_half_sends_and_notifies_the_peer() {
    run(async {
        let (client, server) = pair(&Options::new()).await;
        let (mut send, recv) = ring(client).into_split();
        drop(recv);
        let error = loop {
            if let Err(error) = server.send(b"anybody?").await {
                break error;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(error, SendError::PeerNotListening);
        let label = Label {
            tag: 5,
            ..Label::default()
        };
        send.sender().push(b"still", label).unwrap();
        assert_eq!(server.recv(&mut [0; 16]).await, Ok(5));
        let mut fates = Vec::new();
        assert_eq!(send.recv_fates(&mut fates, 1).await, 1);
        assert_eq!(fates[0].tag, 5);
        drop(send);
        assert_eq!(server.closed().await, CloseReason::Peer);
    });
}

#[test]
fn waiting_half_wakes_when_the_other_ends_its_direction() {
    run(async {
        let (client, _server) = pair(&Options::new()).await;
        let (mut send, mut recv) = ring(client).into_split();
        let receiving = tokio::spawn(async move { (recv.recv(&mut [0; 16]).await, recv) });
        tokio::task::yield_now().await;
        send.get_ref().shutdown(Shutdown::Read);
        let (over, recv) = receiving.await.unwrap();
        assert_eq!(over, Err(RecvError::ShutDown));
        while send.sender().push(&[7], Label::default()).is_ok() {}
        let waiting = tokio::spawn(async move {
            // A full ring has room some time, until sending is over.
            loop {
                match send.wait_for_room().await {
                    Ok(()) => while send.sender().push(&[7], Label::default()).is_ok() {},
                    Err(error) => return error,
                }
            }
        });
        tokio::task::yield_now().await;
        recv.get_ref().shutdown(Shutdown::Write);
        let over = waiting.await.unwrap();
        assert!(
            matches!(over, SendError::ShutDown | SendError::Closed(_)),
            "{over:?}"
        );
    });
}

#[test]
fn connect_outside_a_runtime_is_an_error() {
    let options = Options::new();
    let connecting = pin!(Socket::connect("127.0.0.1:9/9", &options));
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(Err(error)) = connecting.poll(&mut context) else {
        panic!("there is no runtime");
    };
    assert!(matches!(error, ConnectError::NoRuntime));
    assert_eq!(error.fault(), dccp::Fault::Caller);
}

#[test]
fn batch_waits_for_room() {
    run(async {
        let (client, server) = pair(&Options::new().send_buffer(4)).await;
        let mut items = [&b"x"[..]; 40].map(SendItem::from);
        assert_eq!(client.send_batch(&mut items).await, Ok(40));
        for _ in 0..40 {
            assert_eq!(server.recv_datagram().await.unwrap().bytes(), b"x");
        }
    });
}

#[test]
fn clients_of_a_game_see_all_players() {
    game::main().unwrap();
}
