//! `dccpctl selftest`: a connection of this host to itself.

use crate::cli::SelftestWords;
use core::time::Duration;
use dccp::packet_ring::{Label, Shape};
use dccp::{DccpAddr, clock};
use dccp_cli::Failure;
use dccp_ring_ipc::{RingClient, RingConnectError, RingListenRequest, RingListener, RingRequest};

/// Datagrams sent each way.
const DATAGRAMS: usize = 10;
/// The longest wait for each.
const PATIENCE: Duration = Duration::from_secs(5);
const SHAPE: Shape = Shape::new(16, 200);

/// Makes a connection through the daemon, and sends datagrams both ways. Returns what it saw.
pub(super) fn run(words: &SelftestWords) -> Result<String, Failure> {
    let local = DccpAddr::new(words.at, 0, words.port);
    let listen = RingListenRequest::new(local, SHAPE).connections(1);
    let mut listener = RingListener::bind(&words.socket, &listen).map_err(|e| refused(&e))?;
    let at = listener.local_addr();
    let request = RingRequest::new(at, SHAPE);
    let client = RingClient::connect_timeout(&words.socket, &request, PATIENCE);
    let mut client = client.map_err(|e| refused(&e))?;
    let server = listener.accept_timeout(PATIENCE);
    let mut server = server.map_err(|e| Failure::run(e.to_string(), e.next_step()))?;
    let mut times = Vec::new();
    for _ in 0..DATAGRAMS {
        let begin = clock::now();
        exchange(&mut client, &mut server)?;
        exchange(&mut server, &mut client)?;
        times.push(clock::now() - begin);
    }
    times.sort_unstable();
    let middle = times[DATAGRAMS / 2];
    Ok(format!(
        "{DATAGRAMS} datagrams go both ways at {at}; there and back takes {} us (median)\n",
        middle.as_micros()
    ))
}

fn refused(error: &RingConnectError) -> Failure {
    let (what, next) = (error.to_string(), error.next_step());
    match error {
        RingConnectError::Refused(_) => Failure::refused(what, next),
        _ => Failure::run(what, next),
    }
}

/// Sends a datagram one way.
fn exchange(from: &mut RingClient, to: &mut RingClient) -> Result<(), Failure> {
    const DATA: &[u8] = b"selftest";
    let lost =
        |what: String| Failure::run(what, "`dccpctl trace ID` shows what leaves and arrives");
    let pushed = from.sender().push(DATA, Label::default());
    pushed.map_err(|e| lost(e.to_string()))?;
    to.set_timeout(Some(PATIENCE));
    let mut buf = [0; 200];
    let len = to.recv(&mut buf).map_err(|e| lost(e.to_string()))?;
    if buf[..len] != *DATA {
        return Err(lost("another datagram arrived than was sent".into()));
    }
    // The slots of acknowledged datagrams are free again.
    from.recv_fates(&mut Vec::new(), DATAGRAMS)
        .map_err(|e| lost(e.to_string()))
}
