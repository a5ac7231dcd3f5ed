//! Finds what limited a flow, with the evidence.

mod buffers;

use crate::output::{safeudp as safe_udp, text};
use crate::schema::{Ledger, Limit, Transport, Verdict};
use crate::wire::figures::{Host, RxTotal, TxTotal};
use buffers::{
    of_paused_receiver, of_receive_window, of_receiver, of_send_buffer, of_socket_buffer,
};
use dccp::proto::number::to_f64;
use dccp_cli::quantity::show as units;

/// The figures of a flow that the verdict is made from.
pub(crate) struct Sight<'a> {
    pub(crate) transport: Transport,
    pub(crate) tx: &'a TxTotal,
    pub(crate) rx: Option<&'a RxTotal>,
    pub(crate) ledger: &'a Ledger,
    /// The size of the sockets' buffers that was asked for, in bytes.
    pub(crate) socket_buffer: Option<u64>,
    /// The rate asked for.
    pub(crate) rate_bps: Option<u64>,
    pub(crate) goodput_bps: Option<f64>,
    pub(crate) sender: Option<&'a Host>,
    pub(crate) receiver: Option<&'a Host>,
}

/// A thread that ran or waited for a core for this share of the time had work all the time.
const BUSY: f64 = 0.9;
/// More than this share of the samples is most of the time.
const MOST: f64 = 0.5;
/// With this share of the rate that was asked for, it is reached.
const REACHED: f64 = 0.98;
/// This share of what left is a loss that holds a sender back.
const LOSS: f64 = 1e-5;
/// A queue adds at least this to the least round trip, and at least the share.
const QUEUE_NS: u64 = 2_000_000;
const QUEUE_SHARE: f64 = 0.25;

/// The limit of a flow. The ends come first, because a limit at an end explains what is seen in between.
pub(crate) fn limit_of(sight: &Sight<'_>) -> Limit {
    let rules = [
        of_socket_buffer,
        of_receiver,
        of_application,
        of_paused_receiver,
        of_cpu,
        of_pacing_error,
        of_safe_udp,
        of_sequence_window,
        of_receive_window,
        of_send_buffer,
        of_network,
        of_random_loss,
        of_slow_start,
        of_window,
        of_rate,
        of_interface,
    ];
    let found = rules.iter().find_map(|rule| rule(sight));
    found.unwrap_or_else(|| unknown(sight))
}

/// No rule fits: the evidence is what the samples show.
fn unknown(s: &Sight<'_>) -> Limit {
    let samples = &s.tx.samples;
    let part = |n| units::percent(share(n, samples.n));
    let evidence = match samples.n {
        0 => "the sender has no states to look at".into(),
        n => format!(
            "of {n} samples, nothing waited in {}, the window was full in {}, data waited for a rate in {}",
            part(samples.idle),
            part(samples.window_full),
            part(samples.paced)
        ),
    };
    limit(
        Verdict::Unknown,
        "no sample shows what limited the flow",
        vec![evidence],
    )
}

fn limit(verdict: Verdict, sentence: &str, evidence: Vec<String>) -> Limit {
    Limit {
        verdict,
        sentence: sentence.into(),
        evidence,
        command: None,
    }
}

/// A rate that was asked for and reached, or an empty send buffer most of the time.
fn of_application(s: &Sight<'_>) -> Option<Limit> {
    let idle = share(s.tx.samples.idle, s.tx.samples.n);
    let mut evidence = Vec::new();
    // Only a transport with congestion control has samples.
    if s.tx.samples.n > 0 {
        evidence.push(format!(
            "nothing waited to be sent in {} of the samples",
            units::percent(idle)
        ));
    }
    let is_reached = match s.rate_bps {
        None => idle > MOST,
        Some(asked) => {
            evidence.push(format!(
                "asked for {}, got {}",
                units::rate(to_f64(asked)),
                text::rate(s.goodput_bps)
            ));
            s.goodput_bps >= Some(to_f64(asked) * REACHED)
        }
    };
    is_reached.then(|| {
        limit(
            Verdict::Application,
            "the application offered no more",
            evidence,
        )
    })
}

fn of_cpu(s: &Sight<'_>) -> Option<Limit> {
    let ends = [(s.sender, "the sender"), (s.receiver, "the receiver")];
    let evidence: Vec<String> = ends
        .into_iter()
        .filter_map(|(host, name)| busiest(host, name))
        .collect();
    (!evidence.is_empty()).then(|| limit(Verdict::Cpu, "a thread had work all the time", evidence))
}

/// The thread of an end that had work all the time; `None` if all had pauses. Without the times of threads, the
/// process itself counts as one.
fn busiest(host: Option<&Host>, name: &str) -> Option<String> {
    let host = host?;
    let Some(threads) = &host.delta.threads else {
        let percent = cpu_percent(host)?;
        return (percent >= BUSY * 100.0).then(|| format!("{name} uses {percent:.0} % of a core"));
    };
    let busy = threads.runnable_max_ratio;
    let waiting_ns = to_f64(host.delta.wall_ns) * busy - to_f64(threads.cpu_max_ns);
    (busy >= BUSY).then(|| {
        let mut text = format!(
            "{name}'s thread \"{}\" had work for {} of the time",
            threads.busiest,
            units::percent(busy)
        );
        if waiting_ns > to_f64(host.delta.wall_ns) * 0.1 {
            text.push_str(", and waited for a core in part of it");
        }
        text
    })
}

/// The sender woke up too late for its schedule, although no thread was busy.
fn of_pacing_error(s: &Sight<'_>) -> Option<Limit> {
    let schedule = s.tx.schedule.as_ref()?;
    let due = s.tx.offered + schedule.skipped_packets;
    (share(schedule.skipped_packets, due) > 1.0 - REACHED).then(|| {
        let evidence = format!(
            "{} of {due} packets were left out because the sender woke up too late",
            schedule.skipped_packets
        );
        limit(
            Verdict::PacingError,
            "the sending program did not run when packets were due",
            vec![evidence],
        )
    })
}

/// CCID 248 dropped datagrams, or the sender followed its advice.
fn of_safe_udp(s: &Sight<'_>) -> Option<Limit> {
    let of = s.tx.safe_udp.as_ref()?;
    let dropped = s.ledger.dropped_ccid;
    let mut evidence = Vec::new();
    if share(dropped, s.ledger.offered) > 1.0 - REACHED {
        evidence.push(format!(
            "{dropped} of {} datagrams dropped",
            s.ledger.offered
        ));
    }
    evidence.extend(
        of.obeyed_min_bps
            .map(|bps| format!("the sender obeyed down to {}", units::rate(bps))),
    );
    if evidence.is_empty() {
        return None;
    }
    let places = safe_udp::places(&of.missing);
    evidence.push(format!("missing packets: {}", places.join(", ")));
    Some(limit(
        Verdict::CongestionControl,
        "CCID 248 protected the network from the rate",
        evidence,
    ))
}

/// The Sequence Window was too small for the path.
fn of_sequence_window(s: &Sight<'_>) -> Option<Limit> {
    let part = share(s.tx.samples.sequence_window_full, s.tx.samples.n);
    (part > MOST).then(|| {
        let evidence = format!(
            "the Sequence Window was nearly full in {} of the samples",
            units::percent(part)
        );
        limit(
            Verdict::Window,
            "the Sequence Window was too small for the path",
            vec![evidence],
        )
    })
}

/// Packets lost in the network, as evidence. TCP has sent them again.
fn lost(s: &Sight<'_>) -> Option<String> {
    if let Some(tcp) = &s.tx.tcp {
        let resent = tcp.retransmitted_segments;
        let is_much = share(tcp.retransmitted_bytes, tcp.sent_bytes) > LOSS;
        return is_much.then(|| format!("{resent} segments sent again"));
    }
    let lost = s.ledger.lost_network;
    (share(lost, s.ledger.sent) > LOSS).then(|| format!("{lost} packets lost"))
}

/// How far round trips are above the least one, and the name of that figure. Those at losses show best whether a queue was
/// full: a busy host lengthens others too. Without them, the 90th percentile counts.
fn queue_ns(s: &Sight<'_>) -> Option<(&'static str, u64)> {
    let rtt = s.tx.rtt_ns.as_ref()?;
    let (name, ns) = match &s.tx.loss_rtt_ns {
        Some(at) => ("median RTT at losses", at.p50.unwrap_or(whole_ns(at.mean))),
        None => ("p90 RTT", rtt.p90.unwrap_or(rtt.max)),
    };
    Some((name, ns.saturating_sub(rtt.min)))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a mean of round trips is not negative and below 2^53"
)]
fn whole_ns(ns: f64) -> u64 {
    ns as u64
}

/// The queueing delay as evidence.
fn queue_delay(s: &Sight<'_>) -> Option<String> {
    let (name, ns) = queue_ns(s)?;
    Some(format!("{name} - min = {} ms", units::millis(ns)))
}

/// Whether losses are those of a queue. Without round trips they are taken for that.
fn has_queue(s: &Sight<'_>) -> bool {
    let least = s.tx.rtt_ns.as_ref().map(|rtt| to_f64(rtt.min));
    let (Some(least), Some((_, queue))) = (least, queue_ns(s)) else {
        return true;
    };
    queue >= QUEUE_NS && to_f64(queue) >= least * QUEUE_SHARE
}

/// Only a queue delays and marks packets.
fn of_network(s: &Sight<'_>) -> Option<Limit> {
    let mut evidence = Vec::new();
    if has_queue(s) {
        evidence.extend(lost(s));
    }
    if share(s.ledger.lost_sender_queue, s.ledger.sent) > LOSS {
        let lost = s.ledger.lost_sender_queue;
        evidence.push(format!("{lost} packets lost in the sending host's queue"));
    }
    if share(s.tx.marked, s.ledger.sent) > LOSS {
        evidence.push(format!("{} packets marked", s.tx.marked));
    }
    if evidence.is_empty() {
        return None;
    }
    evidence.extend(queue_delay(s));
    Some(limit(
        Verdict::NetworkQueue,
        "a queue in the network was full",
        evidence,
    ))
}

/// The network lost packets without a queue. A congestion control takes them for congestion.
fn of_random_loss(s: &Sight<'_>) -> Option<Limit> {
    let mut evidence = vec![lost(s)?];
    evidence.extend(queue_delay(s).map(|delay| format!("{delay}: no queue")));
    if s.transport == Transport::Udp {
        return Some(limit(
            Verdict::NetworkQueue,
            "the network lost packets, though no queue in it was full",
            evidence,
        ));
    }
    let option = match s.tx.tcp {
        Some(_) => "--congestion",
        None => "--law",
    };
    let cc = s.tx.connection.cc.as_deref();
    let other = cc
        .is_some_and(|cc| cc != "bbr")
        .then(|| format!("{option} bbr"));
    Some(Limit {
        command: other,
        ..limit(
            Verdict::CongestionControl,
            "the congestion control slowed down for losses that no queue caused",
            evidence,
        )
    })
}

fn of_slow_start(s: &Sight<'_>) -> Option<Limit> {
    let part = share(s.tx.samples.slow_start, s.tx.samples.n);
    (part > MOST).then(|| {
        let evidence = format!("slow start in {} of the samples", units::percent(part));
        limit(
            Verdict::CongestionControl,
            "slow start lasted most of the time",
            vec![evidence],
        )
    })
}

fn of_window(s: &Sight<'_>) -> Option<Limit> {
    let part = share(s.tx.samples.window_full, s.tx.samples.n);
    (part > MOST).then(|| {
        let evidence = format!(
            "the congestion window was full in {} of the samples",
            units::percent(part)
        );
        limit(
            Verdict::CongestionControl,
            "the congestion window was full",
            vec![evidence],
        )
    })
}

fn of_rate(s: &Sight<'_>) -> Option<Limit> {
    let part = share(s.tx.samples.paced, s.tx.samples.n);
    (part > MOST).then(|| {
        let evidence = format!(
            "data waited for the controller's rate in {} of the samples",
            units::percent(part)
        );
        limit(
            Verdict::CongestionControl,
            "data waited for the rate of the congestion control",
            vec![evidence],
        )
    })
}

/// Nothing slowed a sender without congestion control down but the room in its own host's queue.
fn of_interface(s: &Sight<'_>) -> Option<Limit> {
    let is_greedy = s.transport == Transport::Udp && s.rate_bps.is_none() && s.ledger.sent > 0;
    let threads = s.sender?.delta.threads.as_ref().filter(|_| is_greedy)?;
    let evidence = format!(
        "the sender's busiest thread had work for {} of the time, and waited for room in the socket in the rest",
        units::percent(threads.runnable_max_ratio)
    );
    Some(limit(
        Verdict::NetworkQueue,
        "the interface of the sending host took no more",
        vec![evidence],
    ))
}

/// CPU time of a process in percent of one core.
pub(crate) fn cpu_percent(host: &Host) -> Option<f64> {
    let cpu = host.delta.process_cpu_ns?;
    let wall = host.delta.wall_ns;
    (wall > 0).then(|| to_f64(cpu) * 100.0 / to_f64(wall))
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    to_f64(part) / to_f64(whole)
}

#[cfg(test)]
mod tests;
