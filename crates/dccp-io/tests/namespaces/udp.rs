//! UDP headers that no socket would make.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dccp_io::{Options, Transport, Udp};
use socket2::{Domain, Protocol, Socket, Type};

use crate::support::{internet_sum, is_inside, receive};

/// A UDP packet from port 9 to `port` with the given length field and a right checksum; `wrong` is
/// added to the checksum.
fn packet(ip: IpAddr, port: u16, length: u16, payload: &[u8], wrong: u16) -> Vec<u8> {
    let addresses = match ip {
        IpAddr::V4(a) => [a.octets(), a.octets()].concat(),
        IpAddr::V6(a) => [a.octets(), a.octets()].concat(),
    };
    let words = [9, port, length, 0].map(u16::to_be_bytes).concat();
    let pseudo = [addresses, vec![0, 17], length.to_be_bytes().to_vec()].concat();
    let checksum = internet_sum(&[&pseudo[..], &words, payload].concat());
    let checksum = checksum.wrapping_add(wrong).to_be_bytes();
    [&words[..6], &checksum, payload].concat()
}

#[test]
fn only_packets_with_right_lengths_and_checksums_come_in() {
    let name = "udp::only_packets_with_right_lengths_and_checksums_come_in";
    if !is_inside(name, "") {
        return;
    }
    let localhosts: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    for ip in localhosts {
        let mut udp = Udp::bind(SocketAddr::new(ip, 0), &Options::default()).unwrap();
        let port = udp.local_addr().port();
        let to = SocketAddr::new(ip, 0);
        let udp_protocol = Some(Protocol::UDP);
        let raw = Socket::new(Domain::for_address(to), Type::RAW, udp_protocol).unwrap();
        let send = |bytes: &[u8]| raw.send_to(bytes, &to.into()).unwrap();

        send(&packet(ip, port, 28, &[1; 20], 0));
        // 6773-3.3-1: the checksum is wrong, or there is none.
        send(&packet(ip, port, 28, &[2; 20], 1));
        let right = packet(ip, port, 28, &[3; 20], 0);
        send(&[&right[..6], &[0, 0], &right[8..]].concat());
        // 6773-3.3-3: longer than the packet, or shorter than its own header.
        send(&packet(ip, port, 29, &[4; 20], 0));
        send(&packet(ip, port, 7, &[5; 20], 0));
        // Bytes beyond the length do not belong to the datagram.
        let short = packet(ip, port, 24, &[6; 16], 0);
        send(&[&short[..], &[6; 4]].concat());
        send(&packet(ip, port, 28, &[7; 20], 0));

        let got = receive(&mut udp, 3, |_, bytes| bytes.to_vec());
        assert_eq!(got, [vec![1; 20], vec![6; 16], vec![7; 20]], "{ip}");
    }
}
