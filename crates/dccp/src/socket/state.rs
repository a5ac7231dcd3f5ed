//! State and settings of a socket.

use super::Socket;
use crate::addr::DccpAddr;
use crate::error::EngineGone;
use crate::inspection::Inspection;
use crate::request::Request;
use crate::shared::Ready;
#[cfg(unix)]
use crate::signal::ReadyFd;
use crate::stats::Stats;
use core::time::Duration;
use dccp_proto::cc::safeudp::SendCode;
use dccp_proto::conn::ConnSnapshot;
use dccp_proto::path::{Encap, Flow};
use dccp_proto::wire::ServiceCode;
use dccp_proto::{Instant, RateHint};
#[cfg(unix)]
use std::io;
use std::sync::mpsc::sync_channel;

/// State and settings.
impl Socket {
    /// The peer's address.
    pub fn peer_addr(&self) -> DccpAddr {
        let Flow {
            path, remote_port, ..
        } = self.opened.flow;
        let udp_port = match path.encap {
            Encap::Ip => 0,
            Encap::Udp { remote_port, .. } => remote_port,
        };
        DccpAddr {
            scope_id: self.opened.scope_id,
            ..DccpAddr::new(path.remote, udp_port, remote_port)
        }
    }

    /// This end's address.
    pub fn local_addr(&self) -> DccpAddr {
        let Flow {
            path, local_port, ..
        } = self.opened.flow;
        let udp_port = match path.encap {
            Encap::Ip => 0,
            Encap::Udp { local_port, .. } => local_port,
        };
        DccpAddr {
            scope_id: self.opened.scope_id,
            ..DccpAddr::new(path.local, udp_port, local_port)
        }
    }

    /// Addresses and ports in the core's form.
    #[doc(hidden)]
    pub fn flow(&self) -> Flow {
        self.opened.flow
    }

    /// The Service Code of the connection (5595-3.3-2).
    pub fn service_code(&self) -> ServiceCode {
        self.service
    }

    /// The most bytes that a datagram can hold now; `None` before the connection is open. [`Event::Mps`](crate::Event::Mps) reports changes.
    pub fn max_packet_size(&self) -> Option<usize> {
        self.shared.lock().mps
    }

    /// The connection at this moment, or at its end: state, both controllers, negotiated values, packet sizes. Asks the
    /// engine.
    ///
    /// # Errors
    /// When the engine is gone.
    pub fn snapshot(&self) -> Result<ConnSnapshot, EngineGone> {
        self.inspect().map(|i| i.snapshot)
    }

    /// Counters at this moment, or at the connection's end. Asks the engine.
    ///
    /// # Errors
    /// When the engine is gone.
    pub fn stats(&self) -> Result<Stats, EngineGone> {
        let seen = self.inspect()?;
        let state = self.shared.lock();
        Ok(Stats {
            sent: state.sent(),
            received: state.rx.counts(),
            connection: seen.connection,
            resets: seen.resets,
            endpoint: seen.endpoint,
            pacing: seen.pacing,
            host_drops: seen.host_drops,
            transport: seen.transport,
        })
    }

    /// When the peer's last valid packet arrived. Asks the engine.
    ///
    /// # Errors
    /// When the engine is gone.
    pub fn last_heard(&self) -> Result<Instant, EngineGone> {
        Ok(self.snapshot()?.last_heard)
    }

    /// The rate that the network takes now, and how long a datagram that is sent now would be queued. `None` before there
    /// is a round-trip time, and after the end. [`Options::rate_hints`](crate::Options::rate_hints) reports changes as events. Asks the engine.
    ///
    /// # Errors
    /// When the engine is gone.
    pub fn rate_hint(&self) -> Result<Option<RateHint>, EngineGone> {
        let (reply, answer) = sync_channel(1);
        self.engine.check()?;
        self.request(Request::RateHint(reply));
        // No answer: the connection has ended.
        Ok(answer.recv().ok().flatten())
    }

    /// The result that a send has under CCID 248: sent, limited, dropped or refused, with the advised or enforced rate. Call it
    /// after a send: it costs a lock, and is as of the engine's last turn. `None` with other CCIDs. After a circuit breaker has
    /// ended the connection it tells the cause. [`Event::SafeUdp`](crate::Event::SafeUdp) reports changes as events.
    pub fn send_code(&self) -> Option<SendCode> {
        self.shared.lock().send_code
    }

    fn inspect(&self) -> Result<Inspection, EngineGone> {
        self.engine.check()?;
        let (reply, answer) = sync_channel(1);
        if !self.shared.lock().is_ended() {
            self.request(Request::Inspect(reply));
            if let Ok(seen) = answer.recv() {
                return Ok(seen);
            }
        }
        self.shared
            .lock()
            .last
            .clone()
            .ok_or_else(EngineGone::default)
    }

    /// Tells the peer that this application is slow to read, so that it does not send faster (RFC 4340 §11.6), or that it
    /// no longer is.
    pub fn set_slow_receiver(&self, is_slow: bool) {
        self.request(Request::SlowReceiver(is_slow));
    }

    /// Datagrams in the send buffer.
    pub fn queued(&self) -> usize {
        self.shared.lock().tx.len()
    }

    /// The calls that would not wait now.
    pub fn ready(&self) -> Ready {
        self.shared.lock().ready()
    }

    /// A descriptor for `poll`, `epoll` and their relatives. It is readable while [`ready`](Self::ready) has `recv`,
    /// `event` or `fates`, and when there is room again after a send found none.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    #[cfg(unix)]
    pub fn ready_fd(&self) -> io::Result<ReadyFd> {
        let mut state = self.shared.lock();
        Ok(ReadyFd {
            fd: state.signal()?.watch()?,
        })
    }

    /// Whether calls return `WouldBlock` instead of waiting.
    pub fn set_nonblocking(&self, on: bool) {
        self.shared.lock().waiting.is_nonblocking = on;
    }

    /// How long sending waits for room; `None`: without limit.
    pub fn set_send_timeout(&self, at_most: Option<Duration>) {
        self.shared.lock().waiting.send_timeout = at_most;
    }

    /// How long receiving waits; `None`: without limit.
    pub fn set_recv_timeout(&self, at_most: Option<Duration>) {
        self.shared.lock().waiting.recv_timeout = at_most;
    }
}
