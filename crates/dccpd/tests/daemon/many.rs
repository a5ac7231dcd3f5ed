//! Many programs at a time.

use crate::support::{Daemon, OPEN, PATIENCE, eventually, exchange, is_inside};
use dccp::packet_ring::Shape;
use dccp_ring_ipc::{RingListenRequest, RingRequest};

/// Connections at a time.
const CONNECTIONS: u32 = 1000;
/// Small rings: each connection has two here.
const SMALL: Shape = Shape::new(4, 200);

#[test]
fn thousand_connections_at_a_time_carry_data() {
    if !is_inside("many::thousand_connections_at_a_time_carry_data") {
        return;
    }
    let daemon = Daemon::start("thousand", OPEN);
    let at = "127.0.0.1:0/5001".parse().unwrap();
    let listen = RingListenRequest::new(at, SMALL).connections(CONNECTIONS);
    let mut listener = daemon.listen_to(&listen).unwrap();
    let request = RingRequest::new("127.0.0.1:6511/5001".parse().unwrap(), SMALL);
    let mut pairs = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = daemon.connect_by(&request).unwrap();
        let mut server = listener.accept().unwrap();
        server.set_timeout(Some(PATIENCE));
        pairs.push((client, server));
    }
    for (client, server) in &mut pairs {
        exchange(client, server);
    }
    assert_eq!(daemon.connections().len(), 2 * pairs.len());
    drop(pairs);
    eventually(|| daemon.connections().is_empty().then_some(()));
}
