//! Flows that record their datagrams, in the simulator: what becomes of each, choices at the sender, and links whose
//! rate is drawn from a preset.

use dccp_lab::run::outcome::{Datagram, Ending, FlowOutcome, Outcome};
use dccp_lab::run::sim;
use dccp_lab::scenario::plan::Run;
use dccp_lab::scenario::{Scale, Scenario};
use dccp_lab::summary::{FlowSummary, Summary, sum_up};
use dccp_sim::rate_trace::RateTrace;

/// The runs of a scenario.
fn runs(text: &str) -> Vec<Run> {
    let head = "schema = \"dccplab/1\"\nname = \"media\"\nseed = 5\n";
    let scenario = Scenario::parse(&(head.to_owned() + text), "media", Scale::Full);
    scenario.unwrap_or_else(|errors| panic!("{errors:#?}")).runs
}

/// The first run of a scenario, played.
fn played(text: &str) -> (Outcome, Summary) {
    let run = runs(text).remove(0);
    let outcome = sim::play(&run, None, |_| true).expect("a run");
    let outcome = outcome.expect("it is not stopped");
    let summary = sum_up(&run, &outcome);
    (outcome, summary)
}

/// Two nodes, a link of 50 kB/s there and of 100 Mbit/s back, and these flows; 15 s.
fn slow_link(flows: &str) -> String {
    format!(
        "[topology]\nnodes = [\"a\", \"b\"]\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"50kB/s\"\ndelay = \"25ms\"\nqueue = \"20p\"\n\
         back = {{ rate = \"100Mbit\" }}\n{flows}\n[measure]\nduration = \"15s\"\n"
    )
}

/// A source of 150 kB/s whose every tenth datagram is important, for 10 s.
fn source(transport: &str, keys: &str) -> String {
    format!(
        "[[flow]]\nid = \"app\"\nfrom = \"a\"\nto = \"b\"\nkind = \"cbr\"\nrate = \"150kB/s\"\nsize = \"1000B\"\n\
         transport = \"{transport}\"\nstop = \"10s\"\n{keys}\n"
    )
}

const CHOICE: &str =
    "important = { every = 10 }\nring = \"64p\"\nlate_choice = \"prefer-important\"";
const TRANSPORTS: [&str; 4] = ["udp", "tcp", "dccp/ccid2", "dccp/ccid3"];

fn first(outcome: &Outcome, summary: &Summary) -> (FlowOutcome, FlowSummary) {
    (outcome.flows[0].clone(), summary.flows[0].clone())
}

#[test]
fn every_datagram_has_one_ending_over_every_transport() {
    for transport in TRANSPORTS {
        let (outcome, summary) = played(&slow_link(&source(transport, CHOICE)));
        let (flow, flow_summary) = first(&outcome, &summary);
        let counted = flow_summary.datagrams.expect("a record");
        for part in [counted.all, counted.important] {
            let sum = part.delivered_packets
                + part.dropped_packets
                + part.lost_packets
                + part.open_packets;
            assert_eq!(sum, part.offered_packets, "{transport}: {part:?}");
        }
        let all = counted.all;
        // 150 in a second, from the opening of the connection until the stop.
        assert!(
            (1480..=1501).contains(&all.offered_packets),
            "{transport}: {all:?}"
        );
        let important = all.offered_packets.div_ceil(10);
        assert_eq!(counted.important.offered_packets, important, "{transport}");
        // The same counts by other ways.
        let totals = flow.totals;
        assert_eq!(
            all.dropped_packets, totals.dropped_by_sender_packets,
            "{transport}"
        );
        assert_eq!(
            totals.delivered_bytes / 1000,
            all.delivered_packets,
            "{transport}"
        );
        let lost_by_link: u64 = outcome.links[0].lost_packets.iter().map(|(_, n)| n).sum();
        match transport {
            "udp" => {
                // Those that are lost after the last that arrives are open.
                assert_eq!(all.lost_packets + all.open_packets, lost_by_link);
                assert!(all.dropped_packets == 0 && all.open_packets < 20, "{all:?}");
            }
            // A stream loses nothing; at its stop, the socket held 64 datagrams at most.
            "tcp" => assert!(all.lost_packets == 0 && all.open_packets <= 64, "{all:?}"),
            _ => {
                assert_eq!(
                    totals.delivered_packets, all.delivered_packets,
                    "{transport}"
                );
                assert!(all.lost_packets <= lost_by_link, "{transport}: {all:?}");
            }
        }
        let delivered = all.delivered_packets;
        assert!((380..=540).contains(&delivered), "{transport}: {all:?}");
    }
}

#[test]
fn late_choice_saves_important_datagrams_and_other_senders_cannot_choose() {
    let of = |transport: &str, keys: &str| {
        let (outcome, summary) = played(&slow_link(&source(transport, keys)));
        first(&outcome, &summary).1
    };
    for transport in ["dccp/ccid2", "dccp/ccid3"] {
        let chosen = of(transport, CHOICE);
        let datagrams = chosen.datagrams.clone().expect("a record");
        assert_eq!(datagrams.important.dropped_packets, 0, "{transport}");
        // Nearly all of a tenth of 150 kB/s, of 50 kB/s or less.
        assert!(
            chosen.important_fraction > Some(0.24),
            "{transport}: {datagrams:?}"
        );
        let plain = of(transport, "important = { every = 10 }\nring = \"64p\"");
        let fraction = plain.important_fraction.expect("a share");
        assert!(fraction < 0.2, "{transport}: {fraction}");
        // Important datagrams overtake the others.
        let age = |summary: FlowSummary| {
            let ages = summary.datagrams.and_then(|d| d.age_important_ns);
            ages.expect("ages").p50
        };
        assert!(age(chosen) < age(plain) / 2, "{transport}");
    }
}

/// The values that a run measured of its flows and links, but the datagrams. Those that carry numbers hide whether they are
/// corrupt.
fn measured(mut outcome: Outcome) -> Outcome {
    for flow in &mut outcome.flows {
        flow.datagrams.clear();
        for totals in [&mut flow.totals, &mut flow.discarded] {
            totals.delivered_corrupt_packets = None;
        }
    }
    outcome
}

#[test]
fn keys_that_record_and_mark_change_no_numbers() {
    for transport in TRANSPORTS {
        let other = "[[flow]]\nid = \"other\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\n";
        let with = |keys: &str| {
            let flows = source(transport, keys) + other;
            measured(played(&slow_link(&flows)).0)
        };
        let plain = with("");
        assert!(plain.flows[1].totals.delivered_packets > 50, "{transport}");
        assert!(with("important = { every = 10 }") == plain, "{transport}");
        // The default of DCCP. TCP has none, and UDP needs none.
        let has_default = transport.starts_with("dccp") || transport == "udp";
        let same = with("ring = \"256p\"\nlate_choice = \"none\"") == plain;
        assert_eq!(same, has_default, "{transport}");
    }
}

/// A film of 9 datagrams every 120 ms: I, P, B.
fn film(transport: &str, keys: &str) -> String {
    format!(
        "[[flow]]\nid = \"film\"\nfrom = \"a\"\nto = \"b\"\nkind = \"media\"\npattern = \"IPB\"\n\
         pictures = [\"5000B\", \"3000B\", \"1000B\"]\nsize = \"1000B\"\ntransport = \"{transport}\"\n{keys}\n"
    )
}

#[test]
fn film_on_a_link_with_room_is_usable_without_stalls() {
    for transport in TRANSPORTS {
        let link = "[topology]\nnodes = [\"a\", \"b\"]\n\
            [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"8Mbit\"\ndelay = \"20ms\"\n";
        let film = film(transport, "deadline = \"150ms\"");
        let (_, summary) = played(&format!("{link}{film}[measure]\nduration = \"10s\"\n"));
        let frames = summary.flows[0].frames.clone().expect("a film");
        // 25 pictures in a second; those of the last 150 ms need not be decided.
        assert!(
            (240..=250).contains(&frames.offered_frames),
            "{transport}: {frames:?}"
        );
        let late = frames.offered_frames - frames.usable_frames;
        // Slow start of CCID 3 can delay the first pictures.
        assert!(late <= 4, "{transport}: {frames:?}");
        assert_eq!(frames.stalls, 0, "{transport}: {frames:?}");
        let age = frames.age_ns.expect("ages");
        // 20 ms, and a millisecond for each datagram with its headers.
        assert!(
            (21_000_000..22_000_000).contains(&age.min),
            "{transport}: {age:?}"
        );
        assert!(age.p50 < 60_000_000, "{transport}: {age:?}");
    }
}

#[test]
fn datagrams_that_miss_their_deadline_do_not_leave() {
    let choice = "ring = \"64p\"\nlate_choice = \"prefer-important\"\ndeadline = \"400ms\"";
    // 75 kB/s; the I pictures take 42.
    let (outcome, summary) = played(&slow_link(&film("dccp/ccid2", choice)));
    let (flow, flow_summary) = first(&outcome, &summary);
    let delivered = |d: &Datagram| match d.ending {
        Ending::Delivered { age_ns, .. } => Some(age_ns),
        _ => None,
    };
    let oldest = flow.datagrams[0].iter().filter_map(delivered).max();
    // They leave before 400 ms. Then there is the queue of 20 packets, 0.43 s, and the delay.
    assert!(oldest.is_some_and(|age| age < 900_000_000), "{oldest:?}");
    let counted = flow_summary.datagrams.expect("a record");
    assert!(counted.all.dropped_packets > 100, "{counted:?}");
    let frames = flow_summary.frames.expect("a film");
    assert!(frames.usable_frames > 0, "{frames:?}");
    assert!(frames.usable_frames < frames.offered_frames, "{frames:?}");
}

/// The trace of the first link's way there in each run.
fn traces(text: &str) -> Vec<RateTrace> {
    let trace = |run: Run| run.network.links[0].there.trace.clone().expect("a trace");
    runs(text).into_iter().map(trace).collect()
}

fn with_preset(trace: &str, rest: &str) -> String {
    format!(
        "[topology]\nnodes = [\"a\", \"r\", \"b\"]\n\
         [[link]]\nid = \"drawn\"\nfrom = \"a\"\nto = \"r\"\ntrace = {trace}\n\
         [[link]]\nfrom = \"r\"\nto = \"b\"\n{rest}\n"
    )
}

const BULK: &str = "[[flow]]\nid = \"load\"\nfrom = \"a\"\nto = \"b\"\nstop = \"4s\"\n";

#[test]
fn traces_come_from_the_seed_and_the_name_of_their_link() {
    let text = with_preset("\"preset:wifi\"", &format!("rate = \"1Gbit\"\n{BULK}"));
    let repeated = traces(&format!("{text}[measure]\nrepeat = 2\n"));
    assert_eq!(traces(&text)[0], repeated[0]);
    assert_ne!(repeated[0], repeated[1], "each repetition draws its own");
    // Neither another link with a preset nor another flow changes it.
    let more = with_preset(
        "\"preset:wifi\"",
        &format!("trace = \"preset:mobile\"\n{BULK}"),
    );
    assert_eq!(traces(&more)[0], repeated[0]);
    let renamed = traces(&text.replace("drawn", "other"));
    assert_ne!(renamed[0], repeated[0]);
    let run = runs(&text).remove(0);
    let link = &run.network.links[0];
    assert_ne!(
        link.there.trace, link.back.trace,
        "each direction has its own"
    );
}

#[test]
fn preset_brings_delay_and_queue_and_keys_replace_them() {
    let link = |trace: &str, keys: &str| {
        let text = with_preset(trace, &format!("rate = \"1Gbit\"\n{BULK}"));
        let text = text.replace("trace = ", &format!("{keys}\ntrace = "));
        runs(&text).remove(0).network.links.remove(0)
    };
    let satellite = link("\"preset:satellite\"", "");
    let (delay, queue) = (satellite.there.delay, satellite.there.queue);
    assert_eq!(
        (delay.as_millis(), satellite.back.delay.as_millis()),
        (300, 300)
    );
    let changed = link(
        "{ preset = \"satellite\", mean = \"4Mbit\" }",
        "rtt = \"2ms\"",
    );
    assert_eq!(changed.there.delay.as_millis(), 1);
    assert_ne!(changed.there.queue, queue, "0.6 s at another rate");
    let own = link("\"preset:satellite\"", "queue = \"9p\"");
    assert_ne!(own.there.queue, queue);
    let slow_back = link("\"preset:dsl\"", "back = { rate = \"1Mbit\" }");
    assert!(slow_back.there.trace.is_some() && slow_back.back.trace.is_none());
    let mean = |link: &dccp_lab::scenario::plan::Link| {
        let trace = link.there.trace.as_ref().expect("a trace");
        trace.bytes_per_s() * 8.0 / 1e6
    };
    assert!(
        (mean(&satellite) - 20.0).abs() < 0.1,
        "{}",
        mean(&satellite)
    );
    assert!((mean(&changed) - 4.0).abs() < 0.1, "{}", mean(&changed));
}

#[test]
fn bulk_flow_takes_the_rate_of_a_preset() {
    let text = with_preset(
        "{ preset = \"dsl\", duration = \"2s\" }",
        &format!("rate = \"1Gbit\"\n{BULK}"),
    );
    let (outcome, _) = played(&text);
    let last = outcome.flows[0].intervals.last().expect("an interval");
    // 16 Mbit/s of packets.
    assert!(
        (14e6..16e6).contains(&last.goodput_bps),
        "{}",
        last.goodput_bps
    );
}
