//! Messages for tasks, over the loopback interface.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Waker};
use core::time::Duration;
use dccp::message::{MessageError, MessageOptions, with_messages};
use dccp::tokio::{Listener, MessageSocket, Socket};
use dccp::{CloseReason, ConnectError, Event, Fate, Fault, Options, RecvError};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a test's task, which must end in time.
fn run<T>(task: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async { timeout(PATIENCE, task).await.expect("in time") })
}

async fn pair() -> (MessageSocket, MessageSocket) {
    let options = with_messages(Options::new(), *b"tst");
    let listener = Listener::bind("127.0.0.1:0/0", &options).await.unwrap();
    let address = listener.local_addrs()[0];
    let connecting = MessageSocket::connect(address, &options);
    let (client, server) = tokio::join!(connecting, listener.accept());
    (
        client.unwrap(),
        MessageSocket::new(server.unwrap()).unwrap(),
    )
}

#[test]
fn messages_larger_than_a_packet_arrive_and_have_fates() {
    run(async {
        let (client, server) = pair().await;
        for n in 0..20_u8 {
            let data = vec![n; usize::from(n) * 1500];
            let tagged = MessageOptions::new().tag(u64::from(n));
            client.send(data, tagged).unwrap();
        }
        for n in 0..20_u8 {
            let message = server.recv().await.unwrap();
            assert_eq!(message.data, vec![n; usize::from(n) * 1500]);
        }
        let mut reports = Vec::new();
        while reports.len() < 20 {
            client.recv_fates(&mut reports, usize::MAX);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(reports.iter().all(|r| r.fate == Fate::Acked), "{reports:?}");
        assert_eq!(client.close().await, CloseReason::Local);
        let after = client.send(vec![], MessageOptions::new()).unwrap_err();
        assert_eq!(after, MessageError::Closed(CloseReason::Local));
        assert_eq!(after.fault(), Some(Fault::Caller));
        let error = std::io::Error::from(after);
        assert_eq!(error.kind(), std::io::ErrorKind::NotConnected);
    });
}

#[test]
fn close_sends_the_messages_that_wait() {
    run(async {
        let (client, server) = pair().await;
        client
            .send(vec![7; 300_000], MessageOptions::new())
            .unwrap();
        let (reason, message) = tokio::join!(client.close(), server.recv());
        assert_eq!(reason, CloseReason::Local);
        assert_eq!(message.unwrap().data.len(), 300_000);
        let over = server.recv().await.err();
        assert_eq!(over, Some(RecvError::Closed(CloseReason::Peer)));
        assert_eq!(server.closed().await, CloseReason::Peer);
        while let Some(event) = server.event().await {
            assert!(!matches!(event, Event::SourcePanicked), "{event:?}");
        }
    });
}

#[test]
fn cancelled_receive_loses_no_part_of_a_message() {
    run(async {
        let (client, server) = pair().await;
        for n in 0..20_u8 {
            client.send(vec![n; 10_000], MessageOptions::new()).unwrap();
            // Each poll may take some of the datagrams.
            let message = loop {
                {
                    let mut receiving = pin!(server.recv());
                    let mut context = Context::from_waker(Waker::noop());
                    if let core::task::Poll::Ready(message) = receiving.as_mut().poll(&mut context)
                    {
                        break message;
                    }
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            };
            assert_eq!(message.unwrap().data, vec![n; 10_000]);
        }
    });
}

#[test]
fn connection_without_messages_is_refused() {
    run(async {
        let options = Options::new();
        let listener = Listener::bind("127.0.0.1:0/0", &options).await.unwrap();
        let address = listener.local_addrs()[0];
        let refused = MessageSocket::connect(address, &options).await;
        assert!(
            matches!(&refused, Err(ConnectError::Option(e)) if e.option == "service_code"),
            "{refused:?}"
        );
        let plain = Socket::connect(address, &options).await.unwrap();
        let error = MessageSocket::new(plain).unwrap_err();
        assert!(error.next_step().contains("with_messages"));
    });
}

#[test]
fn withdrawn_messages_do_not_arrive() {
    run(async {
        let (client, server) = pair().await;
        for n in 0..3_u8 {
            let tagged = MessageOptions::new().tag(u64::from(n));
            client.send(vec![n; 400_000], tagged).unwrap();
        }
        let withdrawn = client.withdraw_if(|_, label| label.tag == 2);
        assert_eq!(withdrawn, 1);
        let (_, ()) = tokio::join!(client.close(), async {
            let mut arrived = Vec::new();
            while let Ok(message) = server.recv().await {
                arrived.push(message.data[0]);
            }
            assert!(!arrived.contains(&2), "{arrived:?}");
        });
    });
}
