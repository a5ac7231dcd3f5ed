//! The meaning of the signs.

use super::probe::Sign;
use crate::session::failure::is_forbidden;
use core::fmt;
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{Encapsulation, ResetCode};
use dccp_cli::quantity::show as units;

/// The signs of all probes of one way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Probes {
    sent: u32,
    answered: u32,
    best: Option<Sign>,
    rtt_min: Option<Duration>,
    rtt_max: Duration,
    rtt_sum: Duration,
    responses: u32,
}

impl Probes {
    pub(super) fn add(&mut self, sign: Sign) {
        self.sent += 1;
        self.answered += u32::from(sign != Sign::Silence);
        if let Sign::Response(rtt) = sign {
            self.responses += 1;
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
            self.rtt_max = self.rtt_max.max(rtt);
            self.rtt_sum += rtt;
        }
        if weight(sign) > self.best.map_or(0, weight) {
            self.best = Some(sign);
        }
    }

    /// The sign that says most.
    pub(super) fn best(&self) -> Sign {
        self.best.unwrap_or(Sign::Silence)
    }

    /// How many probes had a sign, with the round trips of the Responses.
    pub(super) fn answered(&self) -> String {
        let counts = format!("({} of {} probes answered)", self.answered, self.sent);
        let Some(min) = self.rtt_min else {
            return counts;
        };
        let millis = |time: Duration| units::millis(nanos(time));
        format!(
            "{counts}, RTT min/avg/max {}/{}/{} ms",
            millis(min),
            millis(self.rtt_sum / self.responses.max(1)),
            millis(self.rtt_max)
        )
    }
}

/// How much a sign says: what comes from the host itself says more than what a router can say.
fn weight(sign: Sign) -> u8 {
    match sign {
        Sign::Silence => 0,
        Sign::Icmp { is_verified, .. } => 1 + u8::from(is_verified),
        Sign::Reset(_) => 3,
        Sign::Response(_) => 4,
    }
}

/// The meaning of the signs of one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    state: State,
    /// The sign that says so.
    sign: Sign,
    over: Encapsulation,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    PortClosed,
    OtherService,
    Refuses,
    UdpClosed,
    NoDccp,
    FirewallRefuses,
    Unreachable,
    PortSilent,
    NoLife,
}

impl Outcome {
    /// `is_alive`: whether a silent host has answered something else.
    pub(super) fn of(probes: &Probes, over: Encapsulation, is_alive: bool) -> Self {
        let sign = probes.best();
        let state = match sign {
            Sign::Response(_) => State::Open,
            Sign::Reset(ResetCode::NO_CONNECTION | ResetCode::CONNECTION_REFUSED) => {
                State::PortClosed
            }
            Sign::Reset(ResetCode::BAD_SERVICE_CODE) => State::OtherService,
            Sign::Reset(_) => State::Refuses,
            // Of ICMP or ICMPv6, whose types differ.
            Sign::Icmp { kind, code, .. } => match (kind, code) {
                (3, 2) | (4, 1) => State::NoDccp,
                (3, 3) | (1, 4) => State::UdpClosed,
                _ if is_forbidden(kind, code) => State::FirewallRefuses,
                _ => State::Unreachable,
            },
            Sign::Silence if is_alive => State::PortSilent,
            Sign::Silence => State::NoLife,
        };
        Self { state, sign, over }
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// The state in a word or two.
    fn short(&self) -> &'static str {
        match self.state {
            State::Open => "open",
            State::PortClosed | State::UdpClosed => "closed",
            State::OtherService => "open for another service",
            State::Refuses => "refused",
            State::NoDccp => "not spoken there",
            State::FirewallRefuses | State::PortSilent => "filtered",
            State::Unreachable => "unreachable",
            State::NoLife => "silent",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match (self.state, self.over) {
            (State::Open, _) => "open",
            (State::PortClosed, _) => "alive, DCCP port closed",
            (State::OtherService, _) => "alive, another service",
            (State::Refuses, _) => "alive, refuses",
            (State::UdpClosed, Encapsulation::Udp) => "host alive, UDP port closed",
            (State::UdpClosed, Encapsulation::Ip) => "host alive, port closed",
            (State::NoDccp, _) => "host alive, no DCCP over IP",
            (State::FirewallRefuses, _) => "filtered: a firewall refuses",
            (State::Unreachable, _) => "unreachable",
            (State::PortSilent, _) => "filtered: the host is alive, this port is silent",
            (State::NoLife, _) => "no sign of life",
        };
        f.write_str(text)?;
        match self.sign {
            Sign::Reset(code) => write!(f, ", Reset {code}"),
            Sign::Icmp {
                kind,
                code,
                is_verified,
            } => {
                let unverified = if is_verified { "" } else { ", unverified" };
                write!(f, ", ICMP type {kind} code {code}{unverified}")
            }
            Sign::Response(_) | Sign::Silence => Ok(()),
        }
    }
}

/// A sentence about both ways, if both were tried.
pub(super) fn difference(outcomes: &[(Encapsulation, Outcome)]) -> Option<String> {
    let [(_, udp), (_, ip)] = outcomes else {
        return None;
    };
    Some(if udp.short() == ip.short() {
        format!("both ways are treated the same: {}", udp.short())
    } else {
        format!(
            "treated differently: IP protocol 33 is {}, UDP is {}",
            ip.short(),
            udp.short()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(sign: Sign, over: Encapsulation, is_alive: bool) -> Outcome {
        let mut probes = Probes::default();
        probes.add(sign);
        Outcome::of(&probes, over, is_alive)
    }

    fn icmp(kind: u8, code: u8) -> Sign {
        Sign::Icmp {
            kind,
            code,
            is_verified: true,
        }
    }

    #[test]
    fn each_sign_has_its_meaning() {
        use Encapsulation::{Ip, Udp};
        for (sign, over, text) in [
            (
                Sign::Reset(ResetCode::NO_CONNECTION),
                Udp,
                "alive, DCCP port closed, Reset No Connection (3)",
            ),
            (
                Sign::Reset(ResetCode::BAD_SERVICE_CODE),
                Udp,
                "alive, another service, Reset Bad Service Code (8)",
            ),
            (
                Sign::Reset(ResetCode::TOO_BUSY),
                Udp,
                "alive, refuses, Reset Too Busy (9)",
            ),
            (
                icmp(3, 3),
                Udp,
                "host alive, UDP port closed, ICMP type 3 code 3",
            ),
            (
                icmp(1, 4),
                Udp,
                "host alive, UDP port closed, ICMP type 1 code 4",
            ),
            (
                icmp(3, 3),
                Ip,
                "host alive, port closed, ICMP type 3 code 3",
            ),
            (
                icmp(3, 2),
                Ip,
                "host alive, no DCCP over IP, ICMP type 3 code 2",
            ),
            (
                icmp(4, 1),
                Ip,
                "host alive, no DCCP over IP, ICMP type 4 code 1",
            ),
            (
                icmp(3, 13),
                Udp,
                "filtered: a firewall refuses, ICMP type 3 code 13",
            ),
            (
                icmp(1, 1),
                Udp,
                "filtered: a firewall refuses, ICMP type 1 code 1",
            ),
            (icmp(3, 1), Udp, "unreachable, ICMP type 3 code 1"),
        ] {
            let outcome = outcome(sign, over, false);
            assert_eq!(outcome.to_string(), text);
            assert!(!outcome.is_open());
        }
        let silent = |is_alive| outcome(Sign::Silence, Udp, is_alive).to_string();
        assert_eq!(
            silent(true),
            "filtered: the host is alive, this port is silent"
        );
        assert_eq!(silent(false), "no sign of life");
        let unverified = Sign::Icmp {
            kind: 3,
            code: 3,
            is_verified: false,
        };
        let text = outcome(unverified, Udp, false).to_string();
        assert_eq!(
            text,
            "host alive, UDP port closed, ICMP type 3 code 3, unverified"
        );
    }

    #[test]
    fn strongest_sign_decides_and_round_trips_are_summed_up() {
        let mut probes = Probes::default();
        let millis = Duration::from_millis;
        for sign in [
            icmp(3, 3),
            Sign::Response(millis(2)),
            Sign::Silence,
            Sign::Response(millis(4)),
            Sign::Reset(ResetCode::TOO_BUSY),
        ] {
            probes.add(sign);
        }
        assert!(Outcome::of(&probes, Encapsulation::Udp, false).is_open());
        assert_eq!(
            probes.answered(),
            "(4 of 5 probes answered), RTT min/avg/max 2.0/3.0/4.0 ms"
        );
        assert_eq!(Probes::default().answered(), "(0 of 0 probes answered)");
    }

    #[test]
    fn different_treatment_is_said_in_one_sentence() {
        use Encapsulation::{Ip, Udp};
        let open = outcome(Sign::Response(Duration::ZERO), Udp, false);
        let filtered = outcome(Sign::Silence, Ip, true);
        assert_eq!(
            difference(&[(Udp, open), (Ip, filtered)]).unwrap(),
            "treated differently: IP protocol 33 is filtered, UDP is open"
        );
        assert_eq!(
            difference(&[(Udp, open), (Ip, open)]).unwrap(),
            "both ways are treated the same: open"
        );
        assert_eq!(difference(&[(Udp, open)]), None);
    }
}
