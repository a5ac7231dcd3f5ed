//! The work that a run is expected to make, to compare runs before they are played.

use crate::scenario::paths;
use crate::scenario::plan::{Backend, Flow, Run};
use dccp_proto::number::to_f64;
use dccp_sim::LinkConfig;
use dccp_sim::source::Source;

/// Bytes of a packet, where the flow does not say.
const PACKET: f64 = 1500.0;
/// Packets per second of a flow that neither a rate nor its source limits.
const UNLIMITED: f64 = 10_000.0;
/// Samples per second, by `agenda.rs`.
const SAMPLES: f64 = 100.0;

/// Events that the run is expected to make: packets on links, and samples. Windows and losses are not considered, so
/// it is an estimate, good within a small factor. A run in real time takes its own time.
pub(crate) fn expected(run: &Run) -> f64 {
    let time = run.end.as_secs_f64();
    if run.backend != Backend::Sim {
        return time;
    }
    let network = &run.network;
    let hosts = network.hosts(&run.flows);
    // Packets of all flows on both directions of each link.
    let mut packets = vec![0.0; 2 * network.links.len()];
    for flow in &run.flows {
        let Ok(path) = paths::path(network, &hosts, flow.from, flow.to) else {
            continue;
        };
        let steps = network.directions(&path);
        let rates = steps.iter().filter_map(|&n| rate(network.direction(n)));
        let sent = sent(flow, rates.fold(f64::INFINITY, f64::min), time);
        for n in steps {
            packets[n] += sent;
        }
    }
    let on_link = |(n, packets): (usize, &f64)| {
        let most = rate(network.direction(n)).map_or(f64::INFINITY, |rate| rate * time);
        packets.min(most)
    };
    let streams = to_f64(run.streams() as u64);
    time * SAMPLES * (1.0 + streams) + packets.iter().enumerate().map(on_link).sum::<f64>()
}

/// Packets that a flow sends, if its path carries `rate` packets per second.
fn sent(flow: &Flow, rate: f64, end: f64) -> f64 {
    let stop = flow.stop.map_or(end, |stop| stop.as_secs_f64().min(end));
    let time = (stop - flow.begin().as_secs_f64()).max(0.0);
    let most = if rate.is_finite() { rate } else { UNLIMITED } * time;
    let streams = to_f64(flow.starts.len() as u64);
    let own = match &flow.sender.source {
        Source::Bulk { count, .. } => to_f64(*count),
        Source::Cbr { interval, .. } | Source::Poisson { interval, .. } => {
            time / interval.as_secs_f64()
        }
        Source::OnOff {
            interval, on, off, ..
        } => {
            let (on, off) = (on.mean().as_secs_f64(), off.mean().as_secs_f64());
            time / interval.as_secs_f64() * on / (on + off)
        }
        Source::Sine { len, mean, .. } => time * mean.bytes_per_s() / to_f64(*len as u64),
        _ => f64::INFINITY,
    };
    most.min(streams * own)
}

/// Packets per second of a link with a rate.
fn rate(link: &LinkConfig) -> Option<f64> {
    link.rate.map(|rate| rate.bytes_per_s() / PACKET)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Scale, Scenario};

    fn work(rate: &str, flows: &str, duration: &str) -> f64 {
        let text = format!(
            "schema = \"dccplab/1\"\nname = \"n\"\nseed = 1\n[topology]\nnodes = [\"a\", \"r\", \"b\"]\n\
            [[link]]\nfrom = \"a\"\nto = \"r\"\nrate = \"1Gbit\"\n[[link]]\nfrom = \"r\"\nto = \"b\"\nrate = \"{rate}\"\n\
            {flows}[measure]\nduration = \"{duration}\"\n"
        );
        let scenario = Scenario::parse(&text, "f", Scale::Full).expect("a scenario");
        expected(&scenario.runs[0])
    }

    fn flow(id: &str, rest: &str) -> String {
        format!("[[flow]]\nid = \"{id}\"\nfrom = \"a\"\nto = \"b\"\n{rest}\n")
    }

    #[test]
    fn work_follows_the_narrowest_link_and_the_time() {
        let bulk = flow("f", "");
        // 12 Mbit/s: 1000 packets per second on each of two links, and 200 samples.
        assert!((work("12Mbit", &bulk, "10s") - 22_000.0).abs() < 1.0);
        assert!((work("12Mbit", &bulk, "20s") - 44_000.0).abs() < 1.0);
        assert!((work("120Mbit", &bulk, "10s") - 202_000.0).abs() < 1.0);
    }

    #[test]
    fn flows_share_a_link_and_slow_sources_send_less() {
        let two = flow("f", "") + &flow("g", "");
        // The first link could carry both; the second carries 1000 packets per second of them.
        assert!((work("12Mbit", &two, "10s") - 33_000.0).abs() < 1.0);
        let probe = flow("p", "kind = \"ping\"");
        // Ten pings per second.
        assert!((work("12Mbit", &probe, "10s") - 2_200.0).abs() < 1.0);
    }
}
