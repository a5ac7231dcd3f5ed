//! A server behind an emulated link.

use crate::support::Server;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use dccp_emu::clock;
use dccp_emu::relay::Relay;
use dccp_sim::{LinkConfig, Seed};
use std::sync::mpsc;

/// Runs `work` with the port of a relay to a server. Both directions have a link of that kind.
pub(crate) fn over_link<T>(link: &LinkConfig, work: impl FnOnce(&str) -> T) -> T {
    over_links([link.clone(), link.clone()], work)
}

/// As [`over_link`], with a link to the server and one back.
pub(crate) fn over_links<T>(links: [LinkConfig; 2], work: impl FnOnce(&str) -> T) -> T {
    let server = Server::start("udp");
    let to = SocketAddr::from(([127, 0, 0, 1], server.port.parse().unwrap()));
    let is_over = AtomicBool::new(false);
    let (ports, port) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let any = SocketAddr::from(([127, 0, 0, 1], 0));
            let mut relay = Relay::new(any, to, links, Seed(6), Duration::ZERO).unwrap();
            ports.send(relay.local_addr().port()).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                let soon = clock::now() + Duration::from_millis(20);
                relay.run_until(soon).unwrap();
            }
        });
        let done = work(&port.recv().unwrap().to_string());
        is_over.store(true, Ordering::Relaxed);
        done
    })
}
