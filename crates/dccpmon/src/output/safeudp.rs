//! CCID 248 in words: its states, its conclusions, and the places of missing packets.

use crate::output::text;
use crate::schema::{Conclusion, Missing, SafeUdp};
use dccp_cli::quantity::show as units;

/// The state as the profile writes it: `ADVISORY`.
pub(crate) fn state(name: &str) -> String {
    name.replace('_', " ").to_uppercase()
}

/// The places of missing packets. The doubtful one appears only with packets.
pub(crate) fn places(of: &Missing) -> Vec<String> {
    let mut places = vec![
        format!("network {}", of.network_packets),
        format!("sending host {}", of.sending_host_packets),
        format!("receiving host {}", of.receiving_host_packets),
    ];
    if of.unknown_host_packets > 0 {
        places.push(format!("host? {}", of.unknown_host_packets));
    }
    places
}

/// The time in each state, and the rates.
pub(crate) fn states(of: &SafeUdp) -> Vec<String> {
    let times = of.time_ns.iter();
    let times = times.map(|(name, ns)| format!("{} {} s", state(name), units::seconds(*ns)));
    let rates = [
        ("least advised rate", of.advised_min_bps),
        ("least cap", of.cap_min_bps),
        ("obeyed down to", of.obeyed_min_bps),
    ];
    let rates = rates.into_iter();
    times
        .chain(rates.filter_map(|(name, bps)| Some(format!("{name} {}", units::rate(bps?)))))
        .collect()
}

/// The trips, each with its time and cause.
pub(crate) fn trips(of: &SafeUdp) -> Vec<String> {
    let trips = of.trips.iter();
    trips
        .map(|trip| format!("{} at {} s", trip.cause, units::seconds(trip.at_ns)))
        .collect()
}

/// A conclusion with its time.
pub(crate) fn timed(of: &Conclusion) -> String {
    let repeated = match of.times_n {
        0 | 1 => String::new(),
        n => format!(" ({n} times, to {} s)", units::seconds(of.last_ns)),
    };
    format!(
        "{} s {}{repeated}",
        units::seconds(of.at_ns),
        conclusion(of)
    )
}

/// A conclusion in words.
pub(crate) fn conclusion(of: &Conclusion) -> String {
    let rate = text::rate(of.rate_bps);
    match of.code.as_str() {
        "congestion" => format!(
            "congestion: at most {rate} advised, X_tfrc {}, loss {}",
            text::rate(of.tfrc_bps),
            of.loss_ratio.map_or("-".into(), text::percent)
        ),
        "limited" => format!("enforcement: what exceeds {rate} is dropped"),
        "dropped" => format!("datagrams beyond {rate} dropped"),
        "host_tx" => format!("the sending host is a bottleneck at {rate}"),
        "host_rx" => format!("the receiving host is a bottleneck at {rate}"),
        "transient" => "the congestion was transient".into(),
        "within_share" => "congestion, but the rate is within its share".into(),
        "complied" => "the advice was followed".into(),
        "cleared" => "the congestion is over".into(),
        "refused" => "a circuit breaker ended the connection".into(),
        "not_listening" => "no application listens at the peer".into(),
        "blocked" => "the peer forbids data for a round trip".into(),
        other => other.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conclusions_have_their_time_and_figures() {
        let advice = Conclusion {
            at_ns: 1_230_000_000,
            last_ns: 2_500_000_000,
            times_n: 5,
            code: "congestion".into(),
            rate_bps: Some(7.3e6),
            tfrc_bps: Some(5e6),
            loss_ratio: Some(0.02),
        };
        assert_eq!(
            timed(&advice),
            "1.23 s congestion: at most 7.30 Mbit/s advised, X_tfrc 5.00 Mbit/s, loss 2.00 % (5 times, to 2.5 s)"
        );
        let cleared = Conclusion {
            code: "cleared".into(),
            times_n: 1,
            ..Conclusion::default()
        };
        assert_eq!(timed(&cleared), "0 s the congestion is over");
        assert_eq!(state("start_up"), "START UP");
    }
}
