//! Agrees with the server on the version, the key and the values of a test.

use crate::load::shape::Shape;
use crate::result::texts::clean_text;
use crate::schema::{Granted as Grant, ServerLimits};
use crate::session::reports::SHOWN_MAX;
use crate::session::wait;
use crate::wire::auth::{Exchange, Key, Nonce, Proof};
use crate::wire::channel::{Channel, Lost};
use crate::wire::hello::{Hello, PROGRAM, PROTOCOL};
use crate::wire::message::{Message, Ready, Refused, Request, Setup};
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp_cli::Failure;
use dccp_cli::quantity::show as units;
use std::io::{Write as _, stderr};

/// The longest wait for the server's first message.
const WELCOME: Duration = Duration::from_secs(5);
/// The longest wait for each later answer.
const ANSWER: Duration = Duration::from_secs(10);

/// A client and a server that speak the same version.
#[derive(Debug)]
pub(crate) struct Agreement {
    exchange: Exchange,
    key: Option<Key>,
    limits: ServerLimits,
}

/// A test as the server grants it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Granted {
    /// Names the test.
    pub(crate) token: u64,
    pub(crate) request: Request,
    /// The grant as the document of the test describes it.
    pub(crate) grant: Grant,
}

impl Agreement {
    /// Exchanges versions with the server.
    pub(crate) fn begin(channel: &mut Channel, key: Option<Key>) -> Result<Self, Failure> {
        let nonce = Nonce::random()?;
        let hello = Message::Hello(Hello {
            protocol: PROTOCOL,
            program: PROGRAM.into(),
            nonce,
        });
        let answer = channel
            .say(&hello)
            .and_then(|()| wait::answer(channel, WELCOME));
        wait::uninterrupted()?;
        let welcome = match answer {
            Ok(Some(Message::Welcome(welcome))) => *welcome,
            Ok(Some(Message::Refused(refusal))) => return Err(refused(&refusal)),
            Ok(_) | Err(_) => {
                return Err(Failure::run(
                    "the peer is not dccpmon, or is older than 1.0",
                    "install the same version at both ends",
                ));
            }
        };
        if !(PROTOCOL.min..=PROTOCOL.max).contains(&welcome.protocol) {
            return Err(lost(&Lost::Nonsense));
        }
        if welcome.needs_key && key.is_none() {
            return Err(Failure::refused(
                "the server wants a key",
                "pass --key-file FILE with the server's key",
            ));
        }
        if !welcome.needs_key && key.is_some() {
            // Any host can say that it has no key. The user expects one that has.
            return Err(Failure::run(
                "the server asks for no key, so it does not show that it has yours",
                "check that this host is the server that you mean, or leave --key-file out",
            ));
        }
        Ok(Self {
            exchange: Exchange::new(nonce, welcome.nonce),
            key,
            limits: welcome.limits,
        })
    }

    /// Requests a test. A patient client waits in the server's queue if it has one.
    pub(crate) fn request(
        &mut self,
        channel: &mut Channel,
        request: &Request,
        is_patient: bool,
    ) -> Result<Granted, Failure> {
        let body = serde_json::to_string(request).expect("keys are texts");
        self.request_as(channel, body, request, is_patient)
    }

    /// Requests what `body` says, and is granted `request` or less.
    pub(crate) fn request_as(
        &mut self,
        channel: &mut Channel,
        body: String,
        request: &Request,
        is_patient: bool,
    ) -> Result<Granted, Failure> {
        let proof = self.key.as_ref();
        let proof = proof.map(|key| self.exchange.prove_request(key, &body).into());
        let setup = Message::Setup(Setup {
            body,
            proof,
            is_patient,
        });
        channel.say(&setup).map_err(|e| lost(&e))?;
        match answer(channel, is_patient)? {
            Some(Message::Ready(ready)) => self.check(request, ready),
            Some(Message::Refused(refusal)) => Err(refused(&refusal)),
            Some(_) => Err(lost(&Lost::Nonsense)),
            None => Err(lost(&Lost::Silent)),
        }
    }

    /// The grant that follows from the limits that the server has named, without a request.
    pub(crate) fn foresee(&self, asked: &Request) -> Grant {
        let mut granted = asked.clone();
        granted.duration_ns = asked.duration_ns.min(self.limits.duration_ns);
        if let Some(limit) = self.limits.rate_bps {
            let each = (limit / u64::from(asked.flows.max(1))).max(1);
            granted.rate_bps = Some(asked.rate_bps.map_or(each, |bps| bps.min(each)));
        }
        Grant {
            duration_ns: granted.duration_ns,
            rate_bps: granted.rate_bps,
            limits: self.limits.clone(),
            lowered: lowered(asked, &granted),
        }
    }

    /// Checks that the server has the key and grants no more than what was requested.
    fn check(&self, asked: &Request, ready: Ready) -> Result<Granted, Failure> {
        let Ready {
            token,
            granted,
            proof,
        } = ready;
        if let Some(key) = &self.key {
            let proof = proof.map(Proof::try_from);
            let is_proven = match proof {
                Some(Ok(proof)) => self.exchange.check_answer(key, token, &granted, &proof),
                Some(Err(_)) | None => false,
            };
            if !is_proven {
                return Err(Failure::run(
                    "the server does not have the key",
                    "check that this host is the server that you mean, and that its key is the same",
                ));
            }
        }
        let granted = serde_json::from_str(&granted).ok();
        let granted = granted.filter(|granted| is_at_most(granted, asked));
        let request: Request = granted.ok_or_else(|| lost(&Lost::Nonsense))?;
        let grant = Grant {
            duration_ns: request.duration_ns,
            rate_bps: request.rate_bps,
            limits: self.limits.clone(),
            lowered: lowered(asked, &request),
        };
        Ok(Granted {
            token,
            request,
            grant,
        })
    }
}

/// Waits for the answer to a request, and shows each new position in the queue.
fn answer(channel: &mut Channel, is_patient: bool) -> Result<Option<Message>, Failure> {
    let mut shown = None;
    loop {
        let answer = wait::answer(channel, ANSWER).map_err(|e| lost(&e))?;
        wait::uninterrupted()?;
        match answer {
            Some(Message::Queued { position }) if is_patient => {
                if shown.replace(position) != Some(position) {
                    // A closed standard error does not change the outcome.
                    let _ = writeln!(stderr(), "note: position {position} in the server's queue");
                }
            }
            answer => return Ok(answer),
        }
    }
}

fn is_at_most(granted: &Request, asked: &Request) -> bool {
    let is_lowered = granted.rate_bps != asked.rate_bps;
    let constant = granted.rate_bps.map(|bps| Shape::Cbr { bps });
    let same_but_lowered = Request {
        shape: constant
            .filter(|_| is_lowered)
            .unwrap_or_else(|| asked.shape.clone()),
        duration_ns: granted.duration_ns,
        rate_bps: granted.rate_bps,
        ..asked.clone()
    };
    *granted == same_but_lowered
        && (1..=asked.duration_ns).contains(&granted.duration_ns)
        && match (granted.rate_bps, asked.rate_bps) {
            (Some(granted), Some(asked)) => (1..=asked).contains(&granted),
            (Some(granted), None) => granted > 0,
            (None, asked) => asked.is_none(),
        }
}

fn lowered(asked: &Request, granted: &Request) -> Vec<String> {
    let mut lowered = Vec::new();
    if granted.duration_ns != asked.duration_ns {
        lowered.push(format!(
            "server allows {} s (asked {} s)",
            units::seconds(granted.duration_ns),
            units::seconds(asked.duration_ns)
        ));
    }
    if let Some(rate) = granted
        .rate_bps
        .filter(|_| granted.rate_bps != asked.rate_bps)
    {
        let text = |bps: u64| units::rate(to_f64(bps));
        lowered.push(format!(
            "server allows {} per flow (asked {})",
            text(rate),
            asked.rate_bps.map_or_else(|| "no limit".into(), text)
        ));
    }
    lowered
}

/// The failure of a test that the server refuses.
pub(crate) fn refused(refusal: &Refused) -> Failure {
    let shown = |text| clean_text(text, SHOWN_MAX);
    Failure::refused(shown(&refusal.reason), shown(&refusal.next))
}

/// The failure of a test whose control connection has ended.
pub(crate) fn lost(e: &Lost) -> Failure {
    Failure::run(e.to_string(), "look at the server's output, and try again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Transport;
    use crate::wire::message::{Mode, RefusalCode};

    fn request() -> Request {
        Request {
            mode: Mode::Stream,
            transport: Transport::Dccp,
            shape: Shape::Greedy,
            seed: 0,
            congestion: None,
            socket_buffer_bytes: None,
            lost_runs: 0,
            flows: 2,
            duration_ns: 60_000_000_000,
            interval_ns: 1_000_000_000,
            is_reverse: false,
            length_bytes: 100,
            rate_bps: None,
            is_both: false,
            is_one_connection: false,
            has_echoes: false,
            obeys: false,
        }
    }

    #[test]
    fn refusal_is_shown_with_apostrophes_and_without_control_characters() {
        let refusal = Refused::new(RefusalCode::Busy, "the server's limit\u{1b}[2J", "wait");
        let failure = refused(&refusal);
        assert_eq!(failure.what, "the server's limit\u{fffd}[2J");
        assert_eq!(failure.code, 4);
    }

    #[test]
    fn lowered_values_are_named_with_those_asked_for() {
        let granted = Request {
            duration_ns: 10_000_000_000,
            rate_bps: Some(5_000_000),
            shape: Shape::Cbr { bps: 5_000_000 },
            ..request()
        };
        assert!(is_at_most(&granted, &request()));
        assert_eq!(
            lowered(&request(), &granted),
            [
                "server allows 10 s (asked 60 s)",
                "server allows 5.00 Mbit/s per flow (asked no limit)"
            ]
        );
        assert!(lowered(&request(), &request()).is_empty());
    }

    #[test]
    fn server_cannot_raise_or_change_a_request() {
        let asked = Request {
            rate_bps: Some(1000),
            ..request()
        };
        for granted in [
            Request {
                duration_ns: 61_000_000_000,
                ..asked.clone()
            },
            Request {
                duration_ns: 0,
                ..asked.clone()
            },
            Request {
                rate_bps: Some(1001),
                ..asked.clone()
            },
            Request {
                rate_bps: Some(0),
                ..asked.clone()
            },
            Request {
                rate_bps: None,
                ..asked.clone()
            },
            Request {
                transport: Transport::Dccp,
                shape: Shape::Greedy,
                seed: 0,
                flows: 3,
                ..asked.clone()
            },
            Request {
                is_reverse: true,
                ..asked.clone()
            },
        ] {
            assert!(!is_at_most(&granted, &asked), "{granted:?}");
        }
        assert!(is_at_most(&asked, &asked));
    }
}
