//! Opens the flows of a test, and joins them to it.

use super::{Client, JOIN, STEP};
use crate::load::send::Traffic;
use crate::meter::End;
use crate::plan::baseline_port;
use crate::schema::Transport;
use crate::session::agree::{lost, refused};
use crate::session::failure::failure;
use crate::session::wait;
use crate::transport::dccp::DccpFlow;
use crate::transport::tcp::TcpFlow;
use crate::transport::udp::UdpFlow;
use crate::transport::{Flow, Run};
use crate::wire::message::Message;
use crate::wire::packet::{Head, Kind};
use core::net::IpAddr;
use dccp::{Socket, clock};
use dccp_cli::Failure;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Client {
    /// Opens the connections of the flows. A shared one is that of a flow of the client.
    pub(super) fn open_flows(&mut self) -> Result<(), Failure> {
        let remote = self.channel.socket().peer_addr();
        for id in 0..self.plan.asked.connections() {
            let flow: Arc<dyn Flow> = match self.plan.asked.transport {
                Transport::Udp => Arc::new(self.udp_flow(remote.ip)?),
                Transport::Tcp => Arc::new(self.tcp_flow(remote.ip)?),
                Transport::Dccp => {
                    let options = self.plan.data_of(id);
                    let connect = move || Socket::connect(remote, &options);
                    let socket = wait::interruptible(connect)?;
                    Arc::new(DccpFlow::new(
                        socket.map_err(|e| failure(&self.plan.asked, e))?,
                    ))
                }
            };
            if let Some(bytes) = self.plan.asked.socket_buffer {
                let set = flow.set_buffers(bytes);
                set.map_err(|e| Failure::run(e.to_string(), "leave --window out"))?;
            }
            self.flows.push(flow);
        }
        Ok(())
    }

    fn udp_flow(&self, server: IpAddr) -> Result<UdpFlow, Failure> {
        let port = baseline_port(self.plan.asked.udp_port).ok_or_else(|| {
            Failure::usage(
                "-p 65535: tests over UDP use the next port",
                "choose another port",
            )
        })?;
        UdpFlow::connect((server, port).into())
            .map_err(|e| Failure::run(e.to_string(), "check the route to the server"))
    }

    fn tcp_flow(&self, server: IpAddr) -> Result<TcpFlow, Failure> {
        let port = self.plan.asked.udp_port;
        let length = self.length;
        let connect = move || TcpFlow::connect((server, port).into(), length);
        wait::interruptible(connect)?.map_err(|e| {
            let host = &self.plan.asked.host;
            let what = format!("no TCP connection to {host} port {port}: {e}");
            Failure::run(what, format!("open TCP port {port} there"))
        })
    }

    /// Tells the server which connection is which flow, until it knows all.
    pub(super) fn join(&mut self) -> Result<(), Failure> {
        let mut joined = BTreeSet::new();
        let mut trouble = None;
        let until = clock::now() + STEP;
        let mut repeat_at = clock::now();
        while joined.len() < self.flows.len() {
            wait::uninterrupted()?;
            let now = clock::now();
            if now >= until {
                let next = match self.plan.asked.transport {
                    Transport::Udp => {
                        "open the UDP port after that of -p there, or try a smaller -l"
                    }
                    _ => "check that the path carries packets of this size, or try a smaller -l",
                };
                let what = "the server does not see the data connections";
                return Err(trouble.unwrap_or_else(|| Failure::run(what, next)));
            }
            if now >= repeat_at {
                repeat_at = now + JOIN;
                match self.say_tokens(&joined) {
                    // An ICMP error may be that of a moment, and the next datagram arrives.
                    Err(e) if self.plan.asked.transport == Transport::Udp => trouble = Some(e),
                    said => said?,
                }
            }
            match self.channel.poll(repeat_at).map_err(|e| lost(&e))? {
                Some(Message::Joined { flow }) => {
                    joined.insert(flow);
                }
                Some(Message::Refused(refusal)) => return Err(refused(&refusal)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Starts to send and to receive.
    pub(super) fn start_flows(&self) -> Result<Vec<End>, Failure> {
        let asked = &self.plan.asked;
        // The second half of the flows uses shared connections again.
        (0..)
            .zip(self.flows.iter().cycle().take(asked.flows as usize))
            .map(|(id, flow)| {
                if !asked.client_sends(id.into()) {
                    return End::receive(flow, self.token, id, asked.lost_runs);
                }
                let traffic = Traffic {
                    token: self.token,
                    flow: id,
                    length: self.length,
                    shape: asked.values_of(id.into()).shape,
                    seed: asked.seed.wrapping_add(id.into()),
                    packets: asked.packets,
                    congestion: asked.congestion.clone(),
                    has_echoes: asked.has_echoes,
                    obeys: asked.obeys,
                };
                End::send(flow, traffic, asked.duration)
            })
            .collect::<std::io::Result<_>>()
            .map_err(|e| Failure::run(e.to_string(), "check this system's limits"))
    }

    fn say_tokens(&self, joined: &BTreeSet<u32>) -> Result<(), Failure> {
        for (id, flow) in (0..).zip(&self.flows) {
            if joined.contains(&u32::from(id)) {
                continue;
            }
            // As long as the data: so the path shows that it carries them, and a rate-based
            // controller sees packets of one size.
            let mut datagram = vec![0; self.length];
            let head = Head {
                kind: Kind::Join,
                token: self.token,
                flow: id,
                // A receiver of blocks learns their length.
                number: self.length as u64,
                wants_echo: false,
                sent_ns: 0,
            };
            head.write(&mut datagram);
            let run = Run {
                bytes: &datagram,
                length: self.length,
            };
            flow.send(&run)
                .map_err(|e| Failure::run(e.to_string(), "try again"))?;
        }
        Ok(())
    }
}
