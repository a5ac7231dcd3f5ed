//! The command line of `dccpmon` for each stream, and what cannot run on hosts.

use crate::run::live::{LiveError, kernel_law};
use crate::scenario::places::Host;
use crate::scenario::plan::{Flow, Kind, Run, Transport};
use core::time::Duration;
use dccp_historic::Inputs;
use dccp_proto::cc::registry::Ccids;
use dccp_proto::time::nanos;
use dccp_proto::{Config, Rate};
use dccp_sim::source::{Reading, Source};
use dccp_sim::tcp;

/// The shortest interval and the shortest test of `dccpmon`.
const LEAST: Duration = Duration::from_millis(100);
/// The longest interval between reports.
const INTERVAL_MAX: Duration = Duration::from_secs(1);
/// Larger datagrams may not fit an Ethernet with the headers of DCCP over UDP.
const DATAGRAM_MAX: usize = 1400;
/// Bytes of the head of a datagram of `dccpmon`.
const HEAD: usize = 32;

/// The test of one stream.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Test {
    /// The flow, as an index of the plan.
    pub(super) flow: usize,
    /// Its name.
    pub(super) id: String,
    /// When it begins.
    pub(super) begin: Duration,
    /// The command line.
    pub(super) words: Vec<String>,
    /// A command line that asks the first server whether it would run the test.
    pub(super) greeting: Vec<String>,
}

/// The tests of all streams.
pub(super) fn tests(run: &Run) -> Result<Vec<Test>, LiveError> {
    let mut tests = Vec::new();
    for (number, flow) in run.flows.iter().enumerate() {
        let route = route(run, flow)?;
        let load = load(flow, run.seed)?;
        for &begin in &flow.starts {
            let end = flow.stop.map_or(run.end, |stop| stop.min(run.end));
            let time = end.saturating_sub(begin);
            if time < LEAST {
                continue;
            }
            let interval = run.measure.interval.clamp(LEAST, INTERVAL_MAX).min(time);
            let general = ["--idle", "0", "--strict", "--json"].map(str::to_owned);
            let times = [
                "--time".into(),
                millis(time),
                "--interval".into(),
                millis(interval),
            ];
            let words = [
                &["bulk".to_owned()],
                &route.words[..],
                &load,
                &general,
                &times,
            ]
            .concat();
            let greeting = match &route.measuring {
                Some(server) => [&["bulk".to_owned()], &server[..], &general].concat(),
                None => words.clone(),
            };
            tests.push(Test {
                flow: number,
                id: flow.id.clone(),
                begin,
                words,
                greeting: [&greeting[..], &["--dry-run".to_owned()]].concat(),
            });
        }
    }
    Ok(tests)
}

fn millis(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// The machines of a flow, as words.
struct Route {
    words: Vec<String>,
    /// The server that measures to another; `None`: this machine measures.
    measuring: Option<Vec<String>>,
}

fn route(run: &Run, flow: &Flow) -> Result<Route, LiveError> {
    let place = |node: usize| {
        let name = &run.network.nodes[node];
        let place = run.places.iter().find(|place| place.node == node);
        place.map(|place| &place.host).ok_or_else(|| {
            LiveError::refused(
                "--backend hosts",
                &format!("node {name} of flow {} has no machine", flow.id),
                &format!("write --host {name}=HOST, or --host {name}=here"),
            )
        })
    };
    let target = |host: &Host| {
        let mut words = vec![host.name.clone()];
        words.extend(
            host.port
                .iter()
                .flat_map(|port| ["--port".into(), port.to_string()]),
        );
        words
    };
    match (place(flow.from)?, place(flow.to)?) {
        (Some(from), Some(to)) => Ok(Route {
            words: [&["--from".to_owned(), from.to_string()], &target(to)[..]].concat(),
            measuring: Some(target(from)),
        }),
        (None, Some(to)) => Ok(Route {
            words: target(to),
            measuring: None,
        }),
        (Some(from), None) => Ok(Route {
            words: [&target(from)[..], &["--reverse".to_owned()]].concat(),
            measuring: None,
        }),
        (None, None) => Err(LiveError::refused(
            &format!("[[flow]] {}", flow.id),
            "both ends would be on this machine",
            "name another machine with --host, or use --backend live",
        )),
    }
}

/// The transport and the load of a flow, as words.
fn load(flow: &Flow, seed: u64) -> Result<Vec<String>, LiveError> {
    let refuse = |key: &str, what: &str| {
        let key = format!("[[flow]] {} {key}", flow.id);
        let next = "leave it out, or use --backend live or sim";
        Err(LiveError::refused(&key, what, next))
    };
    if flow.sender.logs {
        return refuse(
            "important, ring or late_choice",
            "runs on hosts record no single datagrams",
        );
    }
    if flow.kind == Kind::Probe {
        return refuse(
            "kind",
            "runs on hosts have no pings; the round trips of flows are measured",
        );
    }
    let mut words = match &flow.transport {
        Transport::Dccp(config) => {
            if let Some(key) = key_of_dccp(config, flow) {
                return refuse(key, "dccpmon has no such option");
            }
            dccp_words(config, flow)
        }
        Transport::Tcp(config) => {
            if let Some(key) = key_of_tcp(config, flow) {
                return refuse(key, "dccpmon has no such option");
            }
            let law = kernel_law(flow)?;
            vec!["--tcp".into(), "--congestion".into(), law.into()]
        }
        Transport::Udp => vec!["--udp".into()],
    };
    let is_tcp = matches!(flow.transport, Transport::Tcp(_));
    let mut size = |len: usize| words.extend(["--length".into(), len.max(HEAD).to_string()]);
    let shape = match flow.sender.source {
        Source::Bulk { count, .. } if is_tcp && count < u64::MAX => {
            return refuse("amount", "TCP carries a stream of bytes, not packets");
        }
        Source::Bulk { len, count } => {
            if !is_tcp && len < DATAGRAM_MAX {
                size(len);
            }
            let packets = (count < u64::MAX).then(|| vec!["--count".into(), count.to_string()]);
            packets.unwrap_or_default()
        }
        Source::Cbr { len, interval, .. } => {
            size(len);
            vec!["--spacing".into(), format!("{}ns", nanos(interval))]
        }
        Source::Poisson { len, interval, .. } => {
            size(len);
            let rate = bits(Rate::over(len as u64, interval).bits_per_s());
            vec![
                "--shape".into(),
                format!("poisson:{rate}"),
                "--seed".into(),
                seed.to_string(),
            ]
        }
        Source::Sine {
            len,
            mean,
            swing,
            period,
        } => {
            size(len);
            let (mean, swing) = (mean.bits_per_s(), swing.bits_per_s());
            let [least, most] = [mean - swing, mean + swing].map(bits);
            vec![
                "--shape".into(),
                format!("sine:{least}..{most}/{}ns", nanos(period)),
            ]
        }
        _ => return refuse("kind", "dccpmon has no such load"),
    };
    words.extend(shape);
    Ok(words)
}

fn bits(per_s: f64) -> String {
    format!("{per_s:.0}")
}

fn dccp_words(config: &Config, flow: &Flow) -> Vec<String> {
    let ccid = config.tx_ccids.first().copied().unwrap_or(2);
    let mut words = vec!["--ccid".into(), ccid.to_string()];
    if let Some(law) = &flow.law {
        words.extend(["--law".into(), law.clone()]);
    }
    if flow.sender.obeys {
        words.push("--obey".into());
    }
    words
}

/// The first setting of DCCP other than the controller and its law.
fn key_of_dccp(config: &Config, flow: &Flow) -> Option<&'static str> {
    let own = Config::default();
    let keys = [
        ("tfrc", config.ccids != Ccids::default()),
        ("profile", config.safe_udp.profile != own.safe_udp.profile),
        (
            "count or clock_granularity",
            flow.inputs != Inputs::default(),
        ),
        ("window", config.max_window != own.max_window),
        ("ack_ratio", config.ack_ratio != own.ack_ratio),
        ("ecn", config.ecn != own.ecn),
        ("pacing", config.pacing != own.pacing),
        ("read_rate", flow.receiver.reading != Reading::AtOnce),
        ("coverage", config.send_cscov != own.send_cscov),
        ("data_checksum", config.data_checksum != own.data_checksum),
    ];
    first_set(&keys)
}

/// The first setting of TCP other than its congestion control.
fn key_of_tcp(config: &tcp::Config, flow: &Flow) -> Option<&'static str> {
    let own = tcp::Config::default();
    let keys = [
        (
            "count or clock_granularity",
            flow.inputs != Inputs::default(),
        ),
        ("window", config.max_window != own.max_window),
        ("ack_ratio", config.ack_every != own.ack_every),
        ("ecn", config.ecn != own.ecn),
        ("pacing", config.is_paced != own.is_paced),
    ];
    first_set(&keys)
}

fn first_set(keys: &[(&'static str, bool)]) -> Option<&'static str> {
    let set = keys.iter().find(|(_, is_set)| *is_set);
    set.map(|(key, _)| *key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::places::Place;
    use crate::scenario::{Scale, Scenario};

    /// The run of a flow with these keys, between these machines.
    fn run(keys: &str, places: [&str; 2]) -> Run {
        let text = format!(
            "schema = \"dccplab/1\"\nname = \"n\"\nseed = 7\n[topology]\nnodes = [\"a\", \"b\"]\n\
            [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Mbit\"\n\
            [[flow]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\n{keys}\n[measure]\nduration = \"3s\"\n"
        );
        let scenario = Scenario::parse(&text, "f", Scale::Full).unwrap();
        let place = |(node, text): (usize, &str)| Place {
            node,
            host: (text != "here").then(|| text.parse().unwrap()),
        };
        let mut run = scenario.runs[0].clone();
        run.places = places.into_iter().enumerate().map(place).collect();
        run
    }

    fn words(keys: &str, places: [&str; 2]) -> String {
        let tests = tests(&run(keys, places)).unwrap();
        tests[0].words.join(" ")
    }

    #[test]
    fn words_name_machines_transport_and_load() {
        let end = "--idle 0 --strict --json --time 3000ms --interval 1000ms";
        for (keys, places, wanted) in [
            ("", ["here", "h"], "h --ccid 2"),
            ("", ["h:9", "here"], "h --port 9 --reverse --ccid 2"),
            (
                "cc = \"cubic\"",
                ["g:8", "h:9"],
                "--from g:8 h --port 9 --ccid 2 --law cubic",
            ),
            (
                "transport = \"dccp/ccid3\"\nsize = \"200B\"",
                ["here", "h"],
                "h --ccid 3 --length 200",
            ),
            (
                "transport = \"tcp\"\ncc = \"tcp-lp\"",
                ["here", "h"],
                "h --tcp --congestion lp",
            ),
            (
                "kind = \"cbr\"\nrate = \"8Mbit\"\nsize = \"1000B\"\ntransport = \"dccp/safeudp\"\nobeys = true",
                ["here", "h"],
                "h --ccid 248 --obey --length 1000 --spacing 1000000ns",
            ),
            (
                "kind = \"udp\"\nshape = \"cbr:8Mbit\"\nsize = \"1000B\"",
                ["here", "h"],
                "h --udp --length 1000 --spacing 1000000ns",
            ),
            (
                "kind = \"poisson\"\nrate = \"4Mbit\"\nsize = \"500B\"\ntransport = \"udp\"",
                ["here", "h"],
                "h --udp --length 500 --shape poisson:4000000 --seed",
            ),
            (
                "kind = \"udp\"\nshape = \"sine:2Mbit..6Mbit/10s\"\nsize = \"500B\"",
                ["here", "h"],
                "h --udp --length 500 --shape sine:2000000..6000000/10000000000ns",
            ),
        ] {
            let words = words(keys, places);
            assert!(words.starts_with(&format!("bulk {wanted}")), "{words}");
            assert!(words.ends_with(end), "{words}");
        }
    }

    #[test]
    fn each_stream_has_a_test_from_its_begin_to_its_stop() {
        let keys = "cc = \"reno*2\"\nstart = \"1s\"\nstop = \"2s\"\nstagger = \"500ms\"";
        let tests = tests(&run(keys, ["here", "h"])).unwrap();
        let begins: Vec<u128> = tests.iter().map(|test| test.begin.as_millis()).collect();
        assert_eq!(begins, [1000, 1500]);
        assert!(
            tests[1]
                .words
                .join(" ")
                .ends_with("--time 500ms --interval 500ms")
        );
    }

    #[test]
    fn server_that_measures_is_asked_first() {
        let greeting = |places| tests(&run("", places)).unwrap()[0].greeting.join(" ");
        let end = "--idle 0 --strict --json --dry-run";
        assert_eq!(greeting(["g:8", "h:9"]), format!("bulk g --port 8 {end}"));
        assert!(greeting(["here", "h:9"]).starts_with("bulk h --port 9 --ccid 2"));
    }

    #[test]
    fn what_hosts_cannot_do_is_named() {
        for (keys, key) in [
            ("kind = \"ping\"", "kind"),
            ("kind = \"requests\"\nanswer = \"1000B\"", "kind"),
            (
                "kind = \"onoff\"\nrate = \"1Mbit\"\non = \"1s\"\noff = \"1s\"",
                "kind",
            ),
            ("window = \"64KiB\"", "window"),
            ("ecn = false", "ecn"),
            ("read_rate = \"1Mbit\"", "read_rate"),
            (
                "transport = \"dccp/safeudp\"\nkind = \"cbr\"\nrate = \"1Mbit\"\nprofile = \"provisioned\"",
                "profile",
            ),
            ("coverage = \"header\"", "coverage"),
            ("data_checksum = \"deliver\"", "data_checksum"),
            ("transport = \"dccp/ccid3\"\ntfrc = \"tfrc-ns2\"", "tfrc"),
            ("transport = \"tcp\"\nack_ratio = 4", "ack_ratio"),
            ("transport = \"tcp\"\namount = \"1MB\"", "amount"),
            ("transport = \"tcp\"\ncc = \"fast\"", "cc"),
        ] {
            let error = tests(&run(keys, ["here", "h"])).unwrap_err();
            assert!(
                error.what.starts_with(&format!("[[flow]] f {key}: ")),
                "{error}"
            );
            assert!(error.is_refusal);
        }
        let error = tests(&run("", ["here", "here"])).unwrap_err();
        assert!(error.what.contains("both ends"), "{error}");
        let mut unplaced = run("", ["here", "h"]);
        unplaced.places.pop();
        let error = tests(&unplaced).unwrap_err();
        assert_eq!(
            error.what,
            "--backend hosts: node b of flow f has no machine"
        );
    }
}
