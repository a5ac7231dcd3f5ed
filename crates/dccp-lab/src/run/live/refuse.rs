//! Refuses plans that a live run cannot obey. Each refusal names the key of the scenario.

use super::LiveError;
use super::udp::HEAD;
use super::wire;
use crate::scenario::plan::{Alteration, Flow, Kind, Link, Machine, Network, Run, Transport};
use dccp_proto::Config;
use dccp_proto::cc::registry::Ccids;
use dccp_sim::link::TooBig;
use dccp_sim::machine::MachineConfig;
use dccp_sim::source::{App, Source};
use dccp_sim::{LinkConfig, tcp};
use socket2::{Domain, Protocol, Socket, Type};
use std::fs::{self, File};

/// Each stream has threads of its own.
const STREAMS_MAX: usize = 256;
/// The names of congestion controls of Linux, which are laws of plans.
const KERNEL_LAWS: [(&str, &str); 9] = [
    ("reno", "reno"),
    ("cubic", "cubic"),
    ("bbr", "bbr"),
    ("bic", "bic"),
    ("htcp", "htcp"),
    ("highspeed", "highspeed"),
    ("scalable", "scalable"),
    ("vegas", "vegas"),
    ("tcp-lp", "lp"),
];

/// The first thing that a live run cannot do.
pub(super) fn check(run: &Run) -> Result<(), LiveError> {
    let network = &run.network;
    for machine in &network.machines {
        of_machine(machine, network)?;
    }
    for link in &network.links {
        of_link(link, network)?;
    }
    for flow in &run.flows {
        of_flow(flow)?;
    }
    of_tcp_routes(run)?;
    has_devices(run)?;
    if run.streams() > STREAMS_MAX {
        let what = format!("{} streams are too many", run.streams());
        let next = format!("write at most {STREAMS_MAX}, or use --backend sim");
        return Err(LiveError::refused("[[flow]] cc", &what, &next));
    }
    Ok(())
}

/// The refusal of a setting that only the simulator has.
fn simulated(key: &str, what: &str) -> LiveError {
    LiveError::refused(key, what, "leave it out, or use --backend sim")
}

fn of_machine(machine: &Machine, network: &Network) -> Result<(), LiveError> {
    let own = MachineConfig::default();
    let asked = &machine.config;
    let (cost, own_cost) = (asked.ack_cost, own.ack_cost);
    let keys = [
        // Its costs of packets in flight are of old kernels only.
        (
            "cpu_model",
            (cost.tcp_search, cost.dccp_walk) == (own_cost.tcp_search, own_cost.dccp_walk),
        ),
        ("ack_cost", cost.each == own_cost.each),
        ("memory", asked.memory == own.memory),
        ("send_cost", asked.send_cost == own.send_cost),
        ("receive_cost", asked.receive_cost == own.receive_cost),
        ("wakeup", asked.wakeup == own.wakeup),
        ("batch", asked.batch == own.batch),
        ("quantum", asked.quantum == own.quantum),
        ("backlog", asked.backlog == own.backlog),
        (
            "local_congestion",
            asked.local_congestion == own.local_congestion,
        ),
        ("clock", asked.clock == own.clock),
    ];
    // A setting that this list lacks is none that a live run could obey.
    let other = ("settings", *asked == own);
    match keys.iter().chain([&other]).find(|(_, is_own)| !is_own) {
        None => Ok(()),
        Some((key, _)) => {
            let host = &network.nodes[machine.node];
            let what = format!("host {host} is this machine, with its own processor and clock");
            Err(simulated(&format!("[[host]] {key}"), &what))
        }
    }
}

fn of_link(link: &Link, network: &Network) -> Result<(), LiveError> {
    const MTU: core::ops::RangeInclusive<usize> = 68..=65_535;
    let key = |key: &str| format!("[[link]] {} {key}", link.id);
    for config in [&link.there, &link.back] {
        let LinkConfig { mtu, too_big, .. } = config;
        if !MTU.contains(mtu) {
            let what = format!("{mtu} B: must be from 68 to 65535 bytes");
            return Err(LiveError::refused(&key("mtu"), &what, "write another size"));
        }
        if *too_big == TooBig::Silent {
            let what = "the kernel's routers report packets that are too long";
            return Err(simulated(&key("pmtu_black_hole"), what));
        }
    }
    let is_switched = |what: &Alteration| matches!(what, Alteration::Up(_));
    let switches = link.changes.iter().any(|change| is_switched(&change.what));
    // As many links as nodes make a circle, so that there may be another way.
    if switches && network.links.len() >= network.nodes.len() {
        let what = "routes of a live run lead around no link that is down";
        return Err(simulated(&key("changes"), what));
    }
    Ok(())
}

/// The emulator needs TUN devices.
fn has_devices(run: &Run) -> Result<(), LiveError> {
    if run
        .network
        .links
        .iter()
        .all(|link| wire::fits_kernel(link, true))
    {
        return Ok(());
    }
    let device = File::options().read(true).write(true).open("/dev/net/tun");
    device.map(drop).map_err(|error| LiveError::no_tun(&error))
}

fn of_flow(flow: &Flow) -> Result<(), LiveError> {
    let key = |key: &str| format!("[[flow]] {} {key}", flow.id);
    let refuse = |name: &str, what: &str| Err(simulated(&key(name), what));
    match (&flow.sender.source, &flow.transport) {
        (Source::Frames(_), _) => return refuse("kind", "live runs have no media flows yet"),
        (Source::Script(_) | Source::Silent, _) => {
            return refuse("kind", "live runs have no such flows");
        }
        (Source::Requests { .. }, Transport::Tcp(_)) => {
            return refuse("kind", "live runs have no requests over TCP yet");
        }
        (_, Transport::Tcp(_)) if flow.kind == Kind::Probe => {
            return refuse("kind", "live runs have no pings over TCP yet");
        }
        _ => {}
    }
    if flow.sender.logs {
        return refuse(choice_of(flow), "live runs record no single datagrams");
    }
    if flow.receiver.slow_receiver {
        return refuse("slow_receiver", "live runs report no Slow Receiver");
    }
    match &flow.transport {
        Transport::Dccp(config) => of_dccp(config, &key),
        Transport::Tcp(config) => of_tcp(flow, config, &key),
        Transport::Udp => of_udp(flow, &key),
    }
}

/// The key that makes the simulator record each datagram of a flow.
fn choice_of(flow: &Flow) -> &'static str {
    match &flow.sender {
        App {
            important_every: Some(_),
            ..
        } => "important",
        App { ring, .. } if ring.prefers_important => "late_choice",
        // Both may have the value that they have by default.
        _ => "ring or late_choice",
    }
}

fn of_dccp(config: &Config, key: &dyn Fn(&str) -> String) -> Result<(), LiveError> {
    let own = Config::default();
    let what = "live links change no bits";
    if config.send_cscov != own.send_cscov {
        return Err(simulated(&key("coverage"), what));
    }
    if config.data_checksum != own.data_checksum {
        return Err(simulated(&key("data_checksum"), what));
    }
    if config.ccids == Ccids::default() {
        return Ok(());
    }
    Err(simulated(
        &key("tfrc"),
        "live runs have our CCID 3 only, not models of other programs",
    ))
}

/// Losses over UDP are found by numbers in the datagrams.
fn of_udp(flow: &Flow, key: &dyn Fn(&str) -> String) -> Result<(), LiveError> {
    let (Source::Cbr { len, .. }
    | Source::Poisson { len, .. }
    | Source::OnOff { len, .. }
    | Source::Sine { len, .. }
    | Source::Requests { len, .. }
    | Source::Bulk { len, .. }) = flow.sender.source
    else {
        return Ok(());
    };
    if len >= HEAD {
        return Ok(());
    }
    let what = format!("a datagram of {len} B has no room for its number and time");
    let next = format!("write a size of {HEAD}B or more");
    Err(LiveError::refused(&key("size"), &what, &next))
}

fn of_tcp(
    flow: &Flow,
    config: &tcp::Config,
    key: &dyn Fn(&str) -> String,
) -> Result<(), LiveError> {
    if config.ack_every != tcp::Config::default().ack_every {
        let what = "the kernel decides when TCP acknowledges";
        return Err(simulated(&key("ack_ratio"), what));
    }
    if config.is_paced {
        let what = "the kernel's congestion control decides whether TCP is paced";
        return Err(simulated(&key("pacing"), what));
    }
    let law = kernel_law(flow)?;
    let inputs = [
        ("count", flow.inputs.counts_acks),
        ("clock_granularity", !flow.inputs.tick.is_zero()),
    ];
    if let Some((name, _)) = inputs.iter().find(|(_, is_asked)| *is_asked) {
        let what = "the kernel counts and measures for its congestion control";
        return Err(simulated(&key(name), what));
    }
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    // The kernel would load a module for the name, if this program may do that.
    match socket.set_tcp_congestion(law.as_bytes()) {
        Ok(()) => Ok(()),
        Err(_) => Err(no_law(flow, law)),
    }
}

/// The kernel's name of a flow's law.
pub(in crate::run) fn kernel_law(flow: &Flow) -> Result<&'static str, LiveError> {
    let law = flow.law.as_deref().unwrap_or("reno");
    let known = KERNEL_LAWS.iter().find(|(name, _)| *name == law);
    known
        .map(|(_, name)| *name)
        .ok_or_else(|| no_law(flow, law))
}

fn no_law(flow: &Flow, law: &str) -> LiveError {
    const LIST: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let has = fs::read_to_string(LIST).unwrap_or_default();
    let has: Vec<&str> = has.split_whitespace().collect();
    LiveError::refused(
        &format!("[[flow]] {} cc", flow.id),
        &format!("this kernel's TCP has no {law}; it has {}", has.join(", ")),
        "write one of these, load the kernel's module, or use --backend sim",
    )
}

/// Window and ECN of TCP belong to a route, so they are the same for all flows from one host to another.
fn of_tcp_routes(run: &Run) -> Result<(), LiveError> {
    let tcp = |flow: &Flow| match &flow.transport {
        Transport::Tcp(config) => Some((config.max_window, config.ecn)),
        _ => None,
    };
    for (n, flow) in run.flows.iter().enumerate() {
        let Some(own) = tcp(flow) else {
            continue;
        };
        let same_way = |other: &&Flow| (other.from, other.to) == (flow.from, flow.to);
        let others = run.flows[..n].iter().filter(same_way);
        if others.filter_map(tcp).any(|other| other != own) {
            let what = "all TCP flows from one host to another have the same window and ecn";
            let key = format!("[[flow]] {} window", flow.id);
            return Err(LiveError::refused(
                &key,
                what,
                "write the same, or give it hosts of its own",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Scale, Scenario};

    /// The refusal of a scenario with these keys of the link and of the flow, and with these sections.
    fn refusal(link: &str, flow: &str, more: &str) -> Option<String> {
        let text = format!(
            "schema = \"dccplab/1\"\nname = \"n\"\nseed = 1\n[topology]\nnodes = [\"a\", \"b\"]\n\
            [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Mbit\"\n{link}\n\
            [[flow]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n{more}\n[measure]\nduration = \"1s\"\n"
        );
        let run = Scenario::parse(&text, "f", Scale::Full)
            .unwrap()
            .runs
            .remove(0);
        check(&run).err().map(|error| error.to_string())
    }

    #[expect(clippy::too_many_lines, reason = "a table")]
    #[test]
    fn keys_that_live_runs_cannot_obey_are_named() {
        let second = |keys: &str| {
            format!("[[flow]]\nid = \"g\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\n{keys}")
        };
        let tcp = "transport = \"tcp\"";
        for (link, flow, more, key) in [
            (
                "",
                "",
                "[[host]]\nnode = \"a\"\nsend_cost = \"1us\"",
                "[[host]] send_cost",
            ),
            (
                "",
                "",
                "[[host]]\nnode = \"a\"\nclock = { offset = \"1s\" }",
                "[[host]] clock",
            ),
            (
                "pmtu_black_hole = true",
                "",
                "",
                "[[link]] a-b pmtu_black_hole",
            ),
            (
                "",
                "transport = \"dccp/ccid3\"\ntfrc = \"tfrc-ns2\"",
                "",
                "[[flow]] f tfrc",
            ),
            (
                "",
                "transport = \"tcp\"\nack_ratio = 4",
                "",
                "[[flow]] f ack_ratio",
            ),
            (
                "",
                "read_rate = \"1Mbit\"\nslow_receiver = true",
                "",
                "[[flow]] f slow_receiver",
            ),
            ("", "coverage = \"header\"", "", "[[flow]] f coverage"),
            (
                "",
                "data_checksum = \"drop\"",
                "",
                "[[flow]] f data_checksum",
            ),
            (
                "",
                "transport = \"tcp\"\npacing = true",
                "",
                "[[flow]] f pacing",
            ),
            (
                "",
                "transport = \"tcp\"\ncc = \"fast\"",
                "",
                "[[flow]] f cc",
            ),
            (
                "",
                "transport = \"tcp\"\ncc = \"cubic:beta=0.5\"",
                "",
                "[[flow]] f cc",
            ),
            ("", "cc = \"reno*300\"", "", "[[flow]] cc"),
            ("", tcp, &second("window = \"64KiB\""), "[[flow]] g window"),
            (
                "",
                "kind = \"cbr\"\nrate = \"1Mbit\"\ntransport = \"udp\"\nsize = \"8B\"",
                "",
                "[[flow]] f size",
            ),
            (
                "",
                "kind = \"ping\"\ntransport = \"tcp\"",
                "",
                "[[flow]] f kind",
            ),
            (
                "",
                "kind = \"requests\"\nanswer = \"1000B\"\ntransport = \"tcp\"",
                "",
                "[[flow]] f kind",
            ),
            (
                "",
                "",
                "[[host]]\nnode = \"a\"\nack_cost = \"1us\"",
                "[[host]] ack_cost",
            ),
            (
                "",
                "",
                "[[host]]\nnode = \"a\"\nmemory = { buffer = \"2KiB\", pool = \"1MiB\", refill = \"1s\" }",
                "[[host]] memory",
            ),
            (
                "",
                "",
                "[[host]]\nnode = \"a\"\ncpu_model = \"sack2003\"",
                "[[host]] cpu_model",
            ),
            (
                "",
                "",
                "[[host]]\nnode = \"b\"\ncpu_model = \"dccp2007\"",
                "[[host]] cpu_model",
            ),
            (
                "",
                "transport = \"tcp\"\ncount = \"acks\"",
                "",
                "[[flow]] f count",
            ),
            (
                "",
                "transport = \"tcp\"\nclock_granularity = \"10ms\"",
                "",
                "[[flow]] f clock_granularity",
            ),
            (
                "",
                "kind = \"cbr\"\nrate = \"100kbit\"\nimportant = { every = 4 }",
                "",
                "[[flow]] f important",
            ),
            (
                "",
                "kind = \"poisson\"\nrate = \"100kbit\"\nlate_choice = \"prefer-important\"",
                "",
                "[[flow]] f late_choice",
            ),
            (
                "",
                "kind = \"cbr\"\nrate = \"100kbit\"\nring = \"64p\"\ntransport = \"tcp\"",
                "",
                "[[flow]] f ring or late_choice",
            ),
            (
                "",
                "kind = \"media\"\npictures = [\"9B\", \"9B\", \"9B\"]\nsize = \"99B\"",
                "",
                "[[flow]] f kind",
            ),
        ] {
            let said = refusal(link, flow, more).unwrap_or_else(|| panic!("{key} is accepted"));
            assert!(said.starts_with(&format!("{key}: ")), "{key}: {said}");
        }
    }

    #[test]
    fn plans_of_the_usual_kinds_are_accepted() {
        for flow in [
            "",
            "transport = \"dccp/ccid3\"",
            "transport = \"tcp\"\nwindow = \"64KiB\"\necn = true",
            "kind = \"udp\"\nshape = \"sine:200kbit..800kbit/10s\"",
            "kind = \"ping\"",
            "kind = \"requests\"\nanswer = \"1000B\"",
            // Our CCID 2 runs the law itself.
            "count = \"acks\"\nclock_granularity = \"10ms\"",
        ] {
            assert_eq!(
                refusal("delay = \"1ms\"\nloss = \"1%\"", flow, ""),
                None,
                "{flow}"
            );
        }
    }

    #[test]
    fn law_that_the_kernel_lacks_is_refused_with_those_that_it_has() {
        let said = refusal("", "transport = \"tcp\"\ncc = \"ledbat\"", "").unwrap();
        assert!(
            said.contains("no ledbat; it has ") && said.contains("reno"),
            "{said}"
        );
    }
}
