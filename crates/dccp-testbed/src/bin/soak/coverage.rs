//! Counts of the states, transitions and codes that the conversations reached.

use dccp_proto::conn::State;
use std::collections::BTreeMap;
use std::fmt;

/// The Reset codes that an endpoint of ours sends on its own (RFC 4340 §5.6).
const CODES: [(u8, &str); 10] = [
    (1, "Closed"),
    (2, "Aborted"),
    (3, "No Connection"),
    (4, "Packet Error"),
    (5, "Option Error"),
    (6, "Mandatory Error"),
    (7, "Connection Refused"),
    (8, "Bad Service Code"),
    (9, "Too Busy"),
    (10, "Bad Init Cookie"),
];

/// The moves of RFC 4340 §8.4 and RFC 5596 that can be seen from outside, between two events.
const MOVES: [(State, State); 17] = [
    (State::Invited, State::Listen1),
    (State::Invited, State::Respond),
    (State::Listen1, State::Respond),
    (State::Request, State::PartOpen),
    (State::Request, State::Closed),
    (State::Respond, State::Open),
    (State::Respond, State::Closed),
    (State::PartOpen, State::Open),
    (State::PartOpen, State::Closing),
    (State::PartOpen, State::Closed),
    (State::Open, State::CloseReq),
    (State::Open, State::Closing),
    (State::Open, State::Closed),
    (State::CloseReq, State::Closed),
    (State::Closing, State::Closed),
    (State::Invited, State::Closed),
    (State::Listen1, State::Closed),
];

/// How often each state, move and Reset code was reached. (A connection in TIMEWAIT is one that its
/// endpoint has forgotten; the flows that rest are counted.)
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    states: BTreeMap<State, u64>,
    moves: BTreeMap<(State, State), u64>,
    codes: BTreeMap<u8, u64>,
    resting: u64,
    datagrams: u64,
    packets: u64,
}

impl Coverage {
    /// A connection was seen in `state` after it had been seen in `before`.
    pub(crate) fn on_state(&mut self, before: Option<State>, state: State) {
        if before == Some(state) {
            return;
        }
        *self.states.entry(state).or_default() += 1;
        if let Some(before) = before {
            *self.moves.entry((before, state)).or_default() += 1;
        }
    }

    /// Counts the Resets in a trace.
    pub(crate) fn on_trace(&mut self, trace: &str) {
        for line in trace.lines().filter(|line| line.contains(" Reset ")) {
            let code = line
                .split_once(" code ")
                .and_then(|(_, rest)| rest.split(' ').next());
            if let Some(code) = code.and_then(|code| code.parse().ok()) {
                *self.codes.entry(code).or_default() += 1;
            }
        }
    }

    /// Counts what a conversation carried.
    pub(crate) fn on_end(&mut self, resting: usize, datagrams: u64, packets: u64) {
        self.resting += resting as u64;
        self.datagrams += datagrams;
        self.packets += packets;
    }

    /// Adds another's counts.
    pub(crate) fn add(&mut self, other: &Self) {
        for (state, n) in &other.states {
            *self.states.entry(*state).or_default() += n;
        }
        for (step, n) in &other.moves {
            *self.moves.entry(*step).or_default() += n;
        }
        for (code, n) in &other.codes {
            *self.codes.entry(*code).or_default() += n;
        }
        self.resting += other.resting;
        self.datagrams += other.datagrams;
        self.packets += other.packets;
    }

    /// The expected states, transitions and codes that were not reached.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for state in State::ALL
            .into_iter()
            .filter(|state| *state != State::TimeWait)
        {
            if !self.states.contains_key(&state) {
                missing.push(state.name().to_owned());
            }
        }
        if self.resting == 0 {
            missing.push(State::TimeWait.name().to_owned());
        }
        for (from, to) in MOVES.iter().filter(|step| !self.moves.contains_key(step)) {
            missing.push(format!("{} -> {}", from.name(), to.name()));
        }
        for (_, name) in CODES
            .iter()
            .filter(|(code, _)| !self.codes.contains_key(code))
        {
            missing.push(format!("Reset {name}"));
        }
        missing
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} packets, {} datagrams delivered",
            self.packets, self.datagrams
        )?;
        for (state, n) in &self.states {
            writeln!(f, "{n:>10}  {}", state.name())?;
        }
        writeln!(f, "{:>10}  TIMEWAIT", self.resting)?;
        for ((from, to), n) in &self.moves {
            writeln!(f, "{n:>10}  {} -> {}", from.name(), to.name())?;
        }
        for (code, n) in &self.codes {
            let name = CODES
                .iter()
                .find(|(c, _)| c == code)
                .map_or("", |(_, name)| name);
            writeln!(f, "{n:>10}  Reset {code} {name}")?;
        }
        Ok(())
    }
}
