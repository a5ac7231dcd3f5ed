//! Lends a connection to another process: this program again. It pushes datagrams into a ring in memory that the two
//! share, and receives their fates there. (Linux)

use dccp::packet_ring::{Label, Shape};
use dccp::{Listener, Options};
use dccp_ring_ipc::{RingCaller, RingClient, RingLimits, RingRequest, RingServer};
use std::error::Error;
use std::process::Command;
use std::time::Duration;

/// The variable with the path of the server.
const PATH: &str = "RING_SERVER";
/// The variable with the peer's address.
const PEER: &str = "RING_PEER";

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    match (std::env::var(PATH), std::env::var(PEER)) {
        (Ok(path), Ok(peer)) => application(&path, &peer),
        _ => server(),
    }
}

/// The process with the engine. (Here it is the peer, too.)
fn server() -> Result<(), Box<dyn Error>> {
    let listener = Listener::bind("127.0.0.1:0/5001", &Options::new())?;
    let policy = |caller: &RingCaller, request: &RingRequest| {
        println!("process {} asks for {}", caller.pid, request.remote);
        if request.remote.dccp_port == 5001 {
            Ok(Options::new())
        } else {
            Err("connect to port 5001".into())
        }
    };
    let path = std::env::temp_dir().join(format!("rings-{}", std::process::id()));
    let _server = RingServer::bind(&path, RingLimits::default(), policy)?;
    let mut application = Command::new(std::env::current_exe()?)
        // When a test calls `main`, the argument selects that test in the child.
        .arg("lent")
        .env(PATH, &path)
        .env(PEER, listener.local_addrs()[0].to_string())
        .spawn()?;

    let socket = listener.accept()?;
    let mut buf = [0; 100];
    for tag in 0..20 {
        let len = socket.recv(&mut buf)?;
        assert_eq!(&buf[..len], format!("datagram {tag}").as_bytes());
    }
    socket.send(b"thank you")?;
    assert!(application.wait()?.success());
    Ok(())
}

/// The process without an engine.
fn application(path: &str, peer: &str) -> Result<(), Box<dyn Error>> {
    let request = RingRequest::new(peer.parse()?, Shape::new(64, 100));
    let mut ring = RingClient::connect(path, &request)?;
    let mut batch = ring.sender().batch();
    for tag in 0..20 {
        let label = Label {
            tag,
            ..Label::default()
        };
        batch.push(format!("datagram {tag}").as_bytes(), label)?;
    }
    drop(batch); // Now the engine sees them.
    let mut buf = [0; 100];
    let len = ring.recv(&mut buf)?;
    assert_eq!(&buf[..len], b"thank you");
    ring.close(Duration::from_secs(10))?;
    let mut fates = Vec::new();
    ring.recv_fates(&mut fates, 100)?;
    for told in &fates {
        println!("{} was {}", told.tag, told.fate.name());
    }
    assert_eq!(fates.len(), 20);
    Ok(())
}
