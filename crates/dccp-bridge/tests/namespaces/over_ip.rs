//! A bridge over IP protocol 33.

use crate::hosts::Hosts;
use crate::support::{app, ask, echo};

#[test]
fn datagrams_pass_over_ip_as_over_udp() {
    let Some(hosts) = Hosts::new("datagrams_pass_over_ip_as_over_udp", &[]) else {
        return;
    };
    let target = dccp_netns::inside(hosts.receiver.name(), || echo("127.0.0.1")).unwrap();
    let listen = hosts.listen_with(target.port(), &["--over", "ip"]);
    let connect = hosts.connect(5005, &["--over", "ip"]);
    let program = dccp_netns::inside(hosts.sender.name(), || app("127.0.0.1")).unwrap();
    assert_eq!(ask(&program, connect.udp(), b"over IP"), b"over IP");
    connect.wait_for("connected to 10.84.0.2:");
    listen.wait_for("connected");
}
