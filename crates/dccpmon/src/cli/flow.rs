//! `--flow`: one flow with values of its own.

use super::Bulk;
use super::values::{ccid, law, rate, shape};
use crate::load::shape::Shape;
use crate::schema::Transport;
use crate::session::probe::idle_time;
use crate::wire::message::{Mode, Request, client_sends};
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::safeudp;
use dccp_cli::args::BadValue;
use dccp_cli::law::NamedLaw;

const NEXT: &str = "write for example --flow ccid=3,rate=5M or --flow shape=poisson:5M,law=cubic";

/// The values of a flow of the client.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FlowValues {
    pub(crate) ccid: u8,
    /// The law of CCID 2.
    pub(crate) law: NamedLaw,
    pub(crate) shape: Shape,
}

impl FlowValues {
    /// Lowers the rate for packets of `length` bytes to what the server allows.
    pub(crate) fn lower(&mut self, most_bps: Option<u64>, length: usize) {
        let Some(bps) = most_bps else { return };
        if self.shape.mean_bps(length).is_none_or(|own| own > bps) {
            self.shape = Shape::Cbr { bps };
        }
    }
}

impl Bulk {
    /// How long the idle path is probed before the test.
    pub(crate) fn idle_time(&self) -> Duration {
        self.idle.unwrap_or_else(|| idle_time(self.duration))
    }

    /// Whether a flow has CCID 248.
    pub(crate) fn has_safe_udp(&self) -> bool {
        self.transport == Transport::Dccp
            && (0..self.flows).any(|flow| self.values_of(flow).ccid == safeudp::NUMBER)
    }

    /// Whether the client sends in this flow, counted from 0.
    pub(crate) fn client_sends(&self, flow: u32) -> bool {
        client_sends(self.is_reverse, self.is_both, self.flows, flow)
    }

    /// The test as a server is asked for it, with datagrams of `length` bytes.
    pub(crate) fn request(&self, mode: Mode, length: usize) -> Request {
        let shape = if self.own.is_empty() {
            self.shape.clone()
        } else {
            fastest(&self.own, length)
        };
        Request {
            mode,
            transport: self.transport,
            flows: self.flows,
            duration_ns: nanos(self.duration),
            interval_ns: nanos(self.interval),
            is_reverse: self.is_reverse,
            is_both: self.is_both,
            is_one_connection: self.is_one_connection,
            length_bytes: length,
            rate_bps: shape.mean_bps(length),
            shape,
            seed: self.seed,
            congestion: self.congestion.clone(),
            socket_buffer_bytes: self.socket_buffer,
            lost_runs: self.lost_runs,
            has_echoes: self.has_echoes,
            obeys: self.obeys,
        }
    }

    /// The values of a flow, counted from 0.
    pub(crate) fn values_of(&self, flow: u32) -> FlowValues {
        let own = self.own.get(flow as usize).cloned();
        own.unwrap_or_else(|| FlowValues {
            ccid: (self.server_ccid)
                .filter(|_| !self.client_sends(flow))
                .unwrap_or(self.ccid),
            law: self.law.clone(),
            shape: self.shape.clone(),
        })
    }

    /// The requested congestion control of a flow. Of DCCP only CCID 2 has a choice, and only the sender makes it.
    pub(crate) fn cc(&self, flow: u32) -> Option<String> {
        let values = self.values_of(flow);
        let has_law = self.transport == Transport::Dccp && values.ccid == 2;
        let law = (has_law && self.client_sends(flow)).then(|| values.law.to_string());
        law.or_else(|| self.congestion.clone())
    }
}

/// The shape that allows all of these flows: that of the fastest.
fn fastest(flows: &[FlowValues], length: usize) -> Shape {
    let rates = flows.iter().map(|flow| flow.shape.mean_bps(length));
    let rates: Option<Vec<u64>> = rates.collect();
    let highest = rates.and_then(|rates| rates.into_iter().max());
    highest.map_or(Shape::Greedy, |bps| Shape::Cbr { bps })
}

/// Reads `ccid=3,rate=5M`. The law stands last, because its parameters have commas too.
pub(super) fn flow(text: &str) -> Result<FlowValues, BadValue> {
    let (values, law_text) = match text.split_once("law=") {
        Some((values, law_text)) => (values.trim_end_matches(','), Some(law_text)),
        None => (text, None),
    };
    let mut flow = FlowValues {
        ccid: 2,
        law: law_text.map(law).transpose()?.unwrap_or_default(),
        shape: Shape::Greedy,
    };
    if text.is_empty() {
        return Err(BadValue::new("has no value", NEXT));
    }
    let mut given = Vec::new();
    for part in values.split(',').filter(|_| !values.is_empty()) {
        let name = match part.split_once('=') {
            Some(("rate" | "shape", _)) => "rate or shape",
            Some((name, _)) => name,
            None => part,
        };
        if given.contains(&name) {
            return Err(BadValue::new(format!("{name} is given twice"), NEXT));
        }
        given.push(name);
        match part.split_once('=') {
            Some(("ccid", value)) => flow.ccid = ccid(value)?,
            Some(("rate", value)) => flow.shape = Shape::Cbr { bps: rate(value)? },
            Some(("shape", value)) => flow.shape = shape(value)?,
            _ => {
                let problem = format!("'{part}' is not ccid=, rate=, shape= or law=");
                return Err(BadValue::new(problem, NEXT));
            }
        }
    }
    if flow.ccid == safeudp::NUMBER && flow.shape == Shape::Greedy {
        return Err(BadValue::new(
            "CCID 248 needs data with a rate of their own",
            "add the rate, as in --flow ccid=248,rate=20M",
        ));
    }
    if law_text.is_some() && flow.ccid != 2 {
        return Err(BadValue::new("only CCID 2 has laws", NEXT));
    }
    Ok(flow)
}

#[cfg(test)]
mod tests {
    use super::*;

    // goal 15: each flow has values of its own.
    #[test]
    fn values_of_a_flow_are_read() {
        let of = |text| flow(text).unwrap();
        let tfrc = of("ccid=3,rate=5M");
        assert_eq!((tfrc.ccid, tfrc.shape), (3, Shape::Cbr { bps: 5_000_000 }));
        let cubic = of("shape=poisson:1M,law=cubic:fast_convergence=no");
        assert_eq!(cubic.law.to_string(), "cubic:fast_convergence=no");
        assert_eq!(cubic.shape, Shape::Poisson { bps: 1_000_000 });
        assert_eq!(of("law=cubic").shape, Shape::Greedy);
        assert_eq!(of("ccid=safeudp,rate=5M").ccid, 248);
        for text in [
            "",
            "ccid",
            "ccid=9",
            "rate=0",
            "speed=5M",
            "ccid=3,law=cubic",
            "ccid=248",
            "ccid=safeudp,law=cubic,rate=1M",
            "rate=1M,",
            "ccid=3,ccid=4",
            "rate=1M,shape=poisson:1M",
        ] {
            assert!(flow(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fastest_flow_is_asked_for_and_all_are_lowered() {
        let mut flows = ["rate=1M", "rate=5M", "ccid=3,rate=2M"].map(|text| flow(text).unwrap());
        assert_eq!(fastest(&flows, 1000), Shape::Cbr { bps: 5_000_000 });
        for flow in &mut flows {
            flow.lower(Some(2_000_000), 1000);
        }
        let rates = flows
            .each_ref()
            .map(|flow| flow.shape.mean_bps(1000).unwrap());
        assert_eq!(rates, [1_000_000, 2_000_000, 2_000_000]);
        flows[0].shape = Shape::Greedy;
        assert_eq!(fastest(&flows, 1000), Shape::Greedy);
        flows[0].lower(Some(7), 1000);
        assert_eq!(flows[0].shape, Shape::Cbr { bps: 7 });
    }
}
