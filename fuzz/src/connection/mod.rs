//! Two endpoints, the network between them, and an attacker in it.

mod app;
mod calls;
mod end;
mod forge;
mod input;
mod net;

use dccp_proto::batch::Batch;
use dccp_proto::conn::Connection;
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::queue::Accepted;
use dccp_proto::wire::{self, Ecn, OptionWriter};
use dccp_proto::{ConnId, IcmpError, IcmpKind, Instant};
use end::End;
use forge::Forge;
use input::{Input, SERVICE};
use net::{Net, Sent};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Steps of one run.
const STEPS_MAX: usize = 200;
/// Packets delivered in order at the end of a run.
const LAST_PACKETS: usize = 256;
/// Number of deadlines handled before time jumps over the rest.
const DEADLINES_MAX: usize = 100;

/// `data` configures the endpoints and then chooses the steps of applications, network, clock and forger.
///
/// # Panics
/// If an endpoint breaks an invariant.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut world = World::new(&mut input);
    for _ in 0..STEPS_MAX {
        if input.is_empty() {
            break;
        }
        world.step(&mut input);
    }
    world.finish();
}

struct World {
    now: Instant,
    path: Path,
    ends: [End; 2],
    net: Net,
    /// Memory for the options of forged packets.
    options: OptionWriter,
    /// True if outputs are drained after every step, otherwise only by an explicit step.
    is_eager: bool,
}

/// DCCP port of an end.
const PORTS: [u16; 2] = [40_000, 5001];

impl World {
    fn new(input: &mut Input<'_>) -> Self {
        let shape = input.byte();
        let batch = |n: u8| match n & 3 {
            0 => Batch::new(1),
            1 => Batch::new(64),
            _ => Batch::for_simulation(8),
        };
        let mut world = Self {
            now: Instant::from_nanos(input.pick(&[1, 1_000_000_000, u64::MAX >> 9])),
            path: path(shape),
            ends: [
                End::new(1, batch(shape >> 2)),
                End::new(2, batch(shape >> 4)),
            ],
            net: Net::default(),
            options: OptionWriter::new(0),
            is_eager: shape & 0x40 == 0,
        };
        let config = input.config();
        let listening = world.ends[1].endpoint.listen(PORTS[1], &[SERVICE], config);
        assert_eq!(listening, Ok(()));
        if shape & 0x80 != 0 {
            world.invite(input, 1);
        }
        world.connect(input, 0);
        world.exchange(usize::from(input.byte() & 15));
        world
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let i = input.below(2);
        match input.below(32) {
            0..=3 => self.push(input, i),
            4..=6 => self.deliver(input),
            7 | 8 => self.exchange(1 + input.below(64)),
            9..=14 => self.forge(input, i),
            15 => self.give_garbage(input, i),
            16 | 17 => self.replay(input),
            18 => self.give_icmp(input, i),
            19..=22 => self.pass_time(input),
            23 => self.jump(input),
            24..=28 => self.call(input, i),
            29 => self.connect(input, i),
            30 => self.drain(i),
            _ => self.listen(input, i),
        }
        if self.is_eager {
            (0..2).for_each(|i| self.drain(i));
        }
    }

    /// Delivers all packets in flight and lets much time pass.
    fn finish(&mut self) {
        self.exchange(LAST_PACKETS);
        for i in 0..2 {
            let end = &mut self.ends[i];
            for &id in &end.ids {
                end.endpoint.abort(self.now, id, &mut end.apps);
            }
            self.drain(i);
            assert_eq!(self.ends[i].endpoint.connections(), 0);
            assert_eq!(self.ends[i].endpoint.poll_timeout(), None);
        }
    }

    fn drain(&mut self, i: usize) {
        self.ends[i].drain(self.now, 1 - i, &mut self.net);
    }

    fn give(&mut self, packet: &Sent) {
        self.ends[packet.to].handle(self.now, packet);
    }

    /// Exchanges up to `packets` packets undisturbed, with a delay of 1 ms each way.
    fn exchange(&mut self, packets: usize) {
        (0..2).for_each(|i| self.drain(i));
        for _ in 0..packets {
            let Some(packet) = self.net.take() else {
                return;
            };
            self.now += Duration::from_millis(1);
            let due = self.time_out();
            self.give(&packet);
            let to = packet.to;
            (0..2)
                .filter(|&i| due[i] || i == to)
                .for_each(|i| self.drain(i));
            self.net.recycle(packet);
        }
    }

    /// The next packet is delivered, lost, duplicated, marked or reordered.
    fn deliver(&mut self, input: &mut Input<'_>) {
        let Some(mut packet) = self.net.take() else {
            return;
        };
        match input.below(8) {
            0 => return self.net.recycle(packet),
            1 => {
                let copy = self.net.copy(&packet);
                self.net.put_last(copy);
            }
            2 => packet.ecn = Ecn::Ce,
            3 => return self.net.put_last(packet),
            4 => packet.ecn = Ecn::Ect1,
            _ => {}
        }
        self.give(&packet);
        self.net.recycle(packet);
    }

    /// An old packet arrives again, perhaps with a byte changed.
    fn replay(&mut self, input: &mut Input<'_>) {
        let Some(mut packet) = self.net.copy_old(|count| input.below(count)) else {
            return;
        };
        for _ in 0..input.below(3) {
            let at = usize::from(input.byte());
            if let Some(byte) = packet.bytes.get_mut(at) {
                *byte ^= input.byte();
            }
            let rule = packet.path.checksum_rule();
            // A damaged packet that no longer parses needs no checksum.
            let _ = wire::seal(&mut packet.bytes, packet.zeros, rule);
        }
        self.give(&packet);
        self.net.recycle(packet);
    }

    /// A connection of an end, among the latest.
    fn conn(&self, input: &mut Input<'_>, i: usize) -> Option<(ConnId, &Connection)> {
        let end = &self.ends[i];
        let n = input.below(8).saturating_sub(5);
        let id = *end.ids.iter().rev().nth(n).or_else(|| end.ids.last())?;
        Some((id, end.endpoint.connection(id)?))
    }

    fn forge(&mut self, input: &mut Input<'_>, i: usize) {
        let Some((id, conn)) = self.conn(input, i) else {
            return;
        };
        let flow = *conn.flow();
        let mut bytes = self.net.buffer();
        let real = self.net.old().iter().rfind(|packet| packet.to == i);
        let real = real.and_then(|packet| {
            let rule = packet.path.checksum_rule();
            wire::parse(&wire::Datagram::new(&packet.bytes), rule).ok()
        });
        let forge = Forge {
            now: self.now,
            flow,
            seen: self.ends[i].apps.seen(id),
            real: real.map_or(&[], |packet| packet.options.0),
        };
        forge.packet(input, &mut bytes, &mut self.options);
        let packet = Sent {
            to: i,
            path: flow.path,
            ecn: input.pick(&[Ecn::Ect0, Ecn::NotEct, Ecn::Ce, Ecn::Ect1]),
            bytes,
            zeros: 0,
        };
        self.give(&packet);
        if input.below(4) == 0 {
            self.give(&packet);
        }
        self.net.recycle(packet);
    }

    fn give_garbage(&mut self, input: &mut Input<'_>, i: usize) {
        let len = input.below(64);
        let mut bytes = self.net.buffer();
        bytes.extend_from_slice(input.take(len));
        let packet = Sent {
            to: i,
            path: if i == 0 {
                self.path
            } else {
                self.path.reversed()
            },
            ecn: Ecn::NotEct,
            bytes,
            zeros: input.below(3),
        };
        self.give(&packet);
        self.net.recycle(packet);
    }

    fn give_icmp(&mut self, input: &mut Input<'_>, i: usize) {
        let Some(sent) = self.net.old().iter().rfind(|packet| packet.to != i) else {
            return;
        };
        let len = input.pick(&[16, 8, 12, 3, 0, 20]).min(sent.bytes.len());
        let mut quoted = [0; 20];
        let quoted = &mut quoted[..len];
        quoted.copy_from_slice(&sent.bytes[..len]);
        if let Some(byte) = quoted.get_mut(15) {
            *byte ^= input.pick(&[0, 0, 1, 0x80]);
        }
        let kind = match input.below(4) {
            0 => IcmpKind::Unreachable { kind: 3, code: 1 },
            _ => IcmpKind::TooBig {
                mtu: input.pick(&[0, 68, 576, 600, 1280, 1499, 1500, 9000]),
            },
        };
        let error = IcmpError {
            path: sent.path.reversed(),
            quoted,
            kind,
        };
        let end = &mut self.ends[i];
        end.endpoint.handle_icmp(self.now, &error, &mut end.apps);
    }
}

/// The path as the first end sees it.
fn path(shape: u8) -> Path {
    let ip = |n: u8| match shape & 1 {
        0 => IpAddr::V4(Ipv4Addr::new(192, 0, 2, n)),
        _ => IpAddr::V6(Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, n.into())),
    };
    let encap = match shape & 2 {
        0 => Encap::Udp {
            local_port: 1111,
            remote_port: 6511,
        },
        _ => Encap::Ip,
    };
    Path {
        local: ip(1),
        remote: ip(2),
        encap,
    }
}
