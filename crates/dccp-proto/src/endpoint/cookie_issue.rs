//! The server's part of Init Cookies: under a flood of Requests a listener keeps no state (RFC 4340
//! §8.1.4). The client's part is `conn/cookie_echo.rs`.
//!
//! The cookie holds what the connection was made from: both initial sequence numbers, the Service
//! Code, the Request's options and the time, sealed with a keyed hash. The Response fits every path that a connection works on;
//! answers that find no room beside the cookie leave with the first packets of the connection. When it comes back the
//! connection is made again in the same way, which gives the same Response; that is forgotten, and
//! the client's packet finds the connection in RESPOND. It opens at most one connection, and its key is
//! good for a minute or two (`cookie_keys.rs`).
//!
//! ```text
//! issued, ns (8) | ISS (6) | ISR (6) | Service Code (4) | options of the Request | seal (16)
//! ```

use super::stateless::flow_bytes;
use super::{Connection, Endpoint};
use crate::batch::Batch;
use crate::config::bounds::COOKIE_RESPONSE_OPTIONS;
use crate::conn::stats::DropReason;
use crate::conn::{App, NoApp};
use crate::path::Flow;
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::{Ecn, Kind, Opt, Options, Packet, PacketType, Payload, ResetCode, ServiceCode};
use core::time::Duration;

/// How long a cookie is good.
const LIFETIME: Duration = Duration::from_secs(30);
/// Bytes of a cookie without the Request's options.
const FIXED_LEN: usize = 8 + 6 + 6 + 4 + SEAL_LEN;
const SEAL_LEN: usize = 16;
/// The longest cookie in bytes: its option, with two bytes more, fits into a Response on every path.
const COOKIE_MAX: usize = COOKIE_RESPONSE_OPTIONS - 2;
const _: () = assert!(COOKIE_MAX <= 253, "one option holds it");

/// The content of a cookie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cookie<'a> {
    issued: Instant,
    iss: Seq,
    isr: Seq,
    service: ServiceCode,
    /// The Request's options without the zeros at their end.
    options: &'a [u8],
}

impl Endpoint {
    /// Answers a Request with a Response that carries a cookie, and forgets it.
    pub(super) fn offer_cookie(
        &mut self,
        now: Instant,
        flow: &Flow,
        packet: &Packet<'_>,
        service: ServiceCode,
    ) {
        if !self.prefix_limit.admit_cookie(now, &*self.hash, &flow.path) {
            return self.stats.drops.count(DropReason::ResponseLimit);
        }
        self.cookie_keys.rotate(now);
        let config = self.listeners.config(flow.local_port, service);
        let cookie = Cookie {
            issued: now,
            iss: self.initial_seq(now, flow, &config),
            isr: packet.seq,
            service,
            options: packet.options.0,
        };
        let Some(bytes) = self.seal(flow, &cookie) else {
            // More options than a cookie can hold: no stateless answer is possible.
            return self.answer_with_reset(now, &flow.path, packet, ResetCode::TOO_BUSY);
        };
        let mut batch = Batch::new(1);
        let (mut outbox, mut inbox) = (NoApp, NoApp);
        let mut app = App {
            outbox: &mut outbox,
            inbox: &mut inbox,
        };
        let mut conn = self.rebuild(flow, &cookie, &mut app);
        conn.set_init_cookie(bytes);
        if !packet.payload.is_empty() {
            self.stats.drops.count(DropReason::NotReady);
            conn.refuse_request_data(packet.seq);
        }
        if conn.poll_transmit(now, &mut app, &mut batch) {
            let response = batch.bytes();
            self.stats.counters.cookies_sent += 1;
            self.prefix_limit
                .charge(now, &*self.hash, &flow.path, response.len());
            if self.stateless.push(&flow.path, response.to_vec()) {
                self.stats
                    .on_stateless_sent(PacketType::Response, response.len());
            }
        }
    }

    /// The connection that a packet's cookie stands for: `None` if it carries no cookie.
    pub(super) fn redeem_cookie(
        &mut self,
        now: Instant,
        flow: &Flow,
        packet: &Packet<'_>,
    ) -> Result<Option<Connection>, ResetCode> {
        // 4340-8.1.4-1: never on Data, and a Reset needs no connection.
        if matches!(packet.kind, Kind::Data | Kind::Reset { .. }) {
            return Ok(None);
        }
        let Some(bytes) = packet.options.iter().find_map(|opt| match opt {
            Opt::InitCookie(bytes) => Some(bytes),
            _ => None,
        }) else {
            return Ok(None);
        };
        // 4340-8.1.4-3
        self.cookie_keys.rotate(now);
        let cookie = self.unseal(flow, bytes).ok_or(ResetCode::BAD_INIT_COOKIE)?;
        let (port, service) = (flow.local_port, cookie.service);
        if self.listeners.check(port, service).is_err() || self.is_held_off(now, flow, service) {
            return Err(ResetCode::NO_CONNECTION);
        }
        // 4340-8.1.3-6: nor does a connection stay in RESPOND longer, which it entered when issued.
        let give_up = 4 * self.listeners.config(port, service).msl;
        let age = now - cookie.issued;
        let is_fresh = cookie.issued <= now && age <= LIFETIME && age < give_up;
        if !is_fresh || self.table.is_full() {
            return Err(ResetCode::BAD_INIT_COOKIE);
        }
        // 4340-18-7: recorded packets of a client must not open its connection again.
        let flow_hash = self.hash.hash(&flow_bytes(b"redeemed", flow));
        #[expect(clippy::cast_possible_truncation, reason = "half of a hash suffices")]
        let flow_hash = flow_hash as u64;
        if !self.cookie_keys.redeem(now, flow_hash, cookie.issued) {
            return Err(ResetCode::BAD_INIT_COOKIE);
        }
        self.prefix_limit.on_redeemed(&*self.hash, &flow.path);
        let (mut outbox, mut inbox) = (NoApp, NoApp);
        let mut app = App {
            outbox: &mut outbox,
            inbox: &mut inbox,
        };
        // The zeros that `seal` cut off: the last option's own, then Padding.
        let mut options = cookie.options.to_vec();
        options.resize(options.len() + COOKIE_MAX, 0);
        let cookie = Cookie {
            options: &options,
            ..cookie
        };
        let mut conn = self.rebuild(flow, &cookie, &mut app);
        // The Response had no room for more options than beside the cookie.
        conn.set_init_cookie(bytes.to_vec());
        conn.poll_transmit(cookie.issued, &mut app, &mut Batch::new(1));
        conn.forget_init_cookie();
        conn.forget_packets();
        Ok(Some(conn))
    }

    /// The connection in RESPOND, its Response not yet sent.
    fn rebuild(&self, flow: &Flow, cookie: &Cookie<'_>, app: &mut App<'_>) -> Connection {
        let (now, service) = (cookie.issued, cookie.service);
        let mut conn = self.new_server(now, *flow, service, cookie.isr, Some(cookie.iss));
        let request = Packet {
            source_port: flow.remote_port,
            dest_port: flow.local_port,
            ccval: 0,
            cscov: 0,
            is_short: false,
            seq: cookie.isr,
            kind: Kind::Request { service },
            options: Options(cookie.options),
            payload: Payload::EMPTY,
        };
        conn.handle_packet(now, &request, Ecn::NotEct, app);
        conn
    }

    fn seal(&self, flow: &Flow, cookie: &Cookie<'_>) -> Option<Vec<u8>> {
        // Padding that makes a Request earn its Response (4340-18-5) does not make the Response longer.
        let end = cookie.options.iter().rposition(|&byte| byte != 0);
        let options = cookie.options.get(..end.map_or(0, |last| last + 1))?;
        if options.len() + FIXED_LEN > COOKIE_MAX {
            return None;
        }
        let mut bytes = Vec::with_capacity(COOKIE_MAX);
        bytes.extend_from_slice(&cookie.issued.as_nanos().to_be_bytes());
        bytes.extend_from_slice(&cookie.iss.value().to_be_bytes()[2..]);
        bytes.extend_from_slice(&cookie.isr.value().to_be_bytes()[2..]);
        bytes.extend_from_slice(&cookie.service.0.to_be_bytes());
        bytes.extend_from_slice(options);
        let seal = self.seal_of(flow, cookie.issued, &bytes);
        bytes.extend_from_slice(&seal);
        Some(bytes)
    }

    fn unseal<'a>(&self, flow: &Flow, bytes: &'a [u8]) -> Option<Cookie<'a>> {
        let (content, seal) = bytes.split_last_chunk::<SEAL_LEN>()?;
        let (issued, rest) = content.split_first_chunk::<8>()?;
        let issued = Instant::from_nanos(u64::from_be_bytes(*issued));
        if self.seal_of(flow, issued, content) != *seal {
            return None;
        }
        let (iss, rest) = rest.split_first_chunk::<6>()?;
        let (isr, rest) = rest.split_first_chunk::<6>()?;
        let (service, options) = rest.split_first_chunk::<4>()?;
        let seq = |b: &[u8; 6]| Seq::new(b.iter().fold(0, |n, &b| (n << 8) | u64::from(b)));
        Some(Cookie {
            issued,
            iss: seq(iss),
            isr: seq(isr),
            service: ServiceCode(u32::from_be_bytes(*service)),
            options,
        })
    }

    fn seal_of(&self, flow: &Flow, issued: Instant, content: &[u8]) -> [u8; SEAL_LEN] {
        let mut bytes = flow_bytes(b"cookie", flow);
        let epoch = self.cookie_keys.epoch_of(issued);
        bytes.extend_from_slice(&epoch.to_be_bytes());
        bytes.extend_from_slice(content);
        self.hash.hash(&bytes).to_be_bytes()
    }
}
