//! Tasks, not threads: a server that sends back what comes, and two clients. One of them gives up a receive. (Feature `tokio`)

use dccp::tokio::{Listener, Socket};
use dccp::{Options, SendOptions};
use std::error::Error;
use std::time::Duration;
use tokio::time::timeout;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::new();
    let listener = Listener::bind("127.0.0.1:0/5001", &options).await?;
    let address = listener.local_addrs()[0];
    let server = tokio::spawn(async move {
        while let Ok(socket) = listener.accept().await {
            tokio::spawn(echo(socket));
        }
    });

    let (first, second) = tokio::try_join!(
        Socket::connect(address, &options),
        Socket::connect(address, &options),
    )?;
    let urgent = SendOptions::new().priority(1);
    tokio::try_join!(first.send(b"one"), second.send_with(b"two", urgent))?;
    let mut answer = [0; 100];
    let len = first.recv(&mut answer).await?;
    assert_eq!(&answer[..len], b"one");
    let len = second.recv(&mut answer).await?;
    assert_eq!(&answer[..len], b"two");

    // No datagram is lost by giving up.
    let soon = Duration::from_millis(10);
    assert!(timeout(soon, first.recv(&mut answer)).await.is_err());
    first.send(b"three").await?;
    let len = first.recv(&mut answer).await?;
    assert_eq!(&answer[..len], b"three");

    println!("{}", dccp::reason_text(&first.close().await));
    server.abort();
    Ok(())
}

async fn echo(socket: Socket) {
    let mut buf = [0; 1500];
    while let Ok(len) = socket.recv(&mut buf).await {
        if socket.send(&buf[..len]).await.is_err() {
            break;
        }
    }
}
