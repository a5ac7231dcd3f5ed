//! Words become values, or an error of two lines.

use super::*;
use crate::output::Format;

fn read(line: &str) -> Result<Command, Failure> {
    parse(line.split_whitespace().map(OsString::from))
}

fn bulk_of(line: &str) -> Bulk {
    match read(line) {
        Ok(Command::Bulk(bulk)) => *bulk,
        other => panic!("{other:?}"),
    }
}

fn lines(line: &str) -> String {
    let failure = read(line).unwrap_err();
    assert_eq!(failure.code, 2);
    failure.to_string()
}

#[test]
fn host_alone_means_a_bulk_test_of_ten_seconds() {
    let bulk = bulk_of("192.0.2.10");
    assert_eq!(bulk.host, "192.0.2.10");
    assert_eq!(bulk.duration, Duration::from_secs(10));
    assert_eq!(bulk.interval, Duration::from_secs(1));
    assert_eq!((bulk.udp_port, bulk.dccp_port), (14233, 5001));
    assert_eq!((bulk.flows, bulk.ccid, bulk.is_reverse), (1, 2, false));
    assert_eq!(bulk_of("bulk 192.0.2.10"), bulk);
    assert_eq!(bulk_of("-c 192.0.2.10"), bulk);
}

#[test]
fn iperf3s_letters_keep_their_meaning() {
    let bulk = bulk_of("-c h -t 5 -i 0.5 -b 50M -l 1200 -P 2 -R -p 7000 -6 -J");
    assert_eq!(bulk.duration, Duration::from_secs(5));
    assert_eq!(bulk.interval, Duration::from_millis(500));
    assert_eq!(bulk.rate_bps, Some(50_000_000));
    assert_eq!((bulk.length, bulk.flows), (Some(1200), 2));
    assert_eq!((bulk.udp_port, bulk.family), (7000, Family::V6));
    assert!(bulk.is_reverse && bulk.output.format == Format::Json);
    assert!(matches!(read("-s -1"), Ok(Command::Serve(s)) if s.is_one_off));
}

#[test]
fn empty_host_is_no_host() {
    let failure = parse([OsString::new()]).unwrap_err();
    assert_eq!(failure.what, "there is no host to measure to");
    assert_eq!(failure.code, 2);
}

#[test]
fn udp_sends_at_a_megabit_unless_a_rate_is_given() {
    assert_eq!(bulk_of("h -u").rate_bps, Some(1_000_000));
    assert_eq!(bulk_of("h -u -b 5M").rate_bps, Some(5_000_000));
    let burst = bulk_of("h -u --burst 2/10ms").shape;
    assert!(matches!(burst, Shape::Burst { .. }), "{burst:?}");
    for line in ["h -u -b 0", "h -b 0", "h"] {
        assert_eq!(bulk_of(line).shape, Shape::Greedy, "{line}");
    }
}

#[test]
fn live_view_has_more_points() {
    assert_eq!(bulk_of("h --live").interval, Duration::from_millis(200));
    assert_eq!(
        bulk_of("h --format live -t 1").interval,
        Duration::from_millis(100)
    );
    assert_eq!(bulk_of("h --live -t 1h").interval, Duration::from_secs(1));
    assert_eq!(bulk_of("h --live -i 2").interval, Duration::from_secs(2));
}

#[test]
fn help_fits_into_eighty_columns() {
    let root = command();
    let names = root.get_subcommands().map(clap::Command::get_name);
    let mut lines: Vec<Vec<&str>> = names
        .flat_map(|name| [vec![name, "--help"], vec![name, "-h"]])
        .collect();
    lines.push(vec!["--help"]);
    lines.push(vec!["serve", "--limits"]);
    for words in lines {
        let Ok(Command::Show(text)) = parse(words.iter().map(OsString::from)) else {
            panic!("{words:?}: no help");
        };
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{words:?}: {line}");
        }
    }
}

#[test]
fn window_is_that_of_the_kernels_sockets() {
    assert_eq!(bulk_of("h -u -w 64K").socket_buffer, Some(65_536));
    assert_eq!(bulk_of("h --tcp --window 4M").socket_buffer, Some(4 << 20));
    assert_eq!(bulk_of("h --tcp").socket_buffer, None);
}

#[test]
fn short_test_has_one_interval() {
    assert_eq!(bulk_of("h -t 0.5").interval, Duration::from_millis(500));
    assert_eq!(bulk_of("h -t 1.5").interval, Duration::from_secs(1));
    assert_eq!(bulk_of("h -t 10ms").interval, Duration::from_millis(100));
    assert_eq!(bulk_of("h -t 2 -i 2").interval, Duration::from_secs(2));
    for line in ["h -t 2 -i 2.1", "h -i 99ms"] {
        assert!(lines(line).contains("must be at least 100ms"), "{line}");
    }
}

#[test]
fn law_is_reno_by_default() {
    assert_eq!(bulk_of("h").law, NamedLaw::default());
    let law = bulk_of("h --law cubic:fast_convergence=no").law;
    assert_eq!(law.to_string(), "cubic:fast_convergence=no");
}

/// Command lines with a mistake, and the error of each.
const MISTAKES: &[(&str, &str)] = &[
    (
        "h -t 5x",
        "error: --time 5x: 'x' is not a unit of time\n next: write 5s, 5m or 5 (seconds)",
    ),
    (
        "serve --rate-limit 0",
        "error: --rate-limit 0: must be greater than 0\n next: write bits per second: 9600, 50M or 1.5G",
    ),
    (
        "h -b 0.4",
        "error: --bitrate 0.4: '0.4' is less than 1 bit/s\n next: write bits per second: 9600, 50M or 1.5G",
    ),
    (
        "h -p -1",
        "error: --port -1: must be a whole number from 1 to 65535\n next: write for example 1",
    ),
    (
        "h --snap 10",
        "error: --snap: there is no pcapng file for packets\n next: add --pcap FILE, or leave --snap out",
    ),
    (
        "sweep h --resume",
        "error: --resume: there is no file with points\n next: add --out FILE, or leave --resume out",
    ),
    (
        "h --until-ci 0",
        "error: --until-ci 0: must be greater than 0\n next: write 2%, or --repeat N for a number of runs",
    ),
    (
        "h -P 33",
        "error: --parallel 33: must be a whole number from 1 to 32\n next: write for example 1",
    ),
    (
        "h --law cubik",
        "error: --law cubik: cubik: there is no such law\n next: did you mean cubic?",
    ),
    (
        "h --law fast:alpha=0",
        "error: --law fast:alpha=0: alpha=0: not allowed\n next: write a number from 1 to 100000",
    ),
    (
        "h --law bic --ccid 3",
        "error: --law: only CCID 2 has laws\n next: leave --ccid out, or --law",
    ),
    (
        "h --law bic -R",
        "error: --law: the server sends, and the law is the sender's choice\n next: leave -R out, or start the test from the other host",
    ),
    (
        "h -t 0",
        "error: --time 0: must be greater than 0 and at most 24h\n next: write 5s, 5m or 5 (seconds)",
    ),
    (
        "h -l 9",
        "error: --length 9: must be 32 to 65000 bytes\n next: write for example --length 1400",
    ),
    (
        "h --ccid 7",
        "error: --ccid 7: there is no such congestion control\n next: choose one of 2 (tcp-like), 3 (tfrc), 4 (tfrc-sp), 248 (safeudp)",
    ),
    (
        "h -u -w 2047",
        "error: --window 2047: must be 2048 to 1073741824 bytes\n next: write for example --window 4M",
    ),
    (
        "h -w 64K",
        "error: --window: flows over DCCP have no socket of the kernel each\n next: leave --window out, or choose --transport udp or tcp",
    ),
    (
        "h -p 0",
        "error: --port 0: must be a whole number from 1 to 65535\n next: write for example 1",
    ),
    (
        "h --over tcp",
        "error: --over tcp: must be udp or ip\n next: write --over udp or --over ip",
    ),
    (
        "h --intervall 1",
        "error: --intervall: there is no such option\n next: did you mean --interval?",
    ),
    (
        "h -t -5",
        "error: --time -5: '-5' is not a time\n next: write 5s, 5m or 5 (seconds)",
    ),
    (
        "h h2",
        "error: h2: one word too many\n next: write one host, and a letter before each value",
    ),
    (
        "serve h",
        "error: h: one word too many\n next: write `dccpmon serve` and options; it needs no host",
    ),
    (
        "serve --one-off=3",
        "error: --one-off takes no value\n next: `dccpmon serve --help` lists the options",
    ),
    (
        "serve --what",
        "error: --what: there is no such option\n next: `dccpmon serve --help` lists the options",
    ),
    (
        "",
        "error: there is no host to measure to\n next: write `dccpmon HOST`, or `dccpmon serve` on the other host",
    ),
    (
        "bulk",
        "error: there is no host to measure to\n next: write `dccpmon HOST`, or `dccpmon serve` on the other host",
    ),
    (
        "man",
        "error: there is no folder for the pages\n next: write for example `dccpmon man pages`",
    ),
    (
        "completions csh",
        "error: csh: completions for this shell do not exist\n next: write bash, elvish, fish, powershell or zsh",
    ),
    (
        "completions",
        "error: there is no shell to complete for\n next: write bash, elvish, fish, powershell or zsh",
    ),
];

// goal 50: values with units, strictly read.
#[test]
fn mistake_yields_an_error_of_two_lines() {
    for (line, text) in MISTAKES {
        assert_eq!(lines(line), *text, "{line}");
    }
}

#[test]
fn options_that_do_not_fit_together_yield_an_error_of_two_lines() {
    for (line, text) in [
        (
            "h --noise 5%",
            "error: --noise: there is no baseline that figures may be worse than\n next: add --baseline FILE, or leave --noise out",
        ),
        (
            "h -p 1 -p 2",
            "error: --port is given twice\n next: leave one of them out",
        ),
        (
            "h -4 -6",
            "error: -4 and -6 exclude each other\n next: leave both out to use what the host's name gives",
        ),
    ] {
        assert_eq!(lines(line), text, "{line}");
    }
}

#[test]
fn ccid_248_needs_a_rate_and_obedience_needs_ccid_248() {
    let rate = "\n next: give the rate with -b, as in -b 20M, or a pattern with --shape, --burst or --spacing";
    for (line, what) in [
        ("h --ccid safeudp", "--ccid"),
        ("h --ccid 248 -b 0", "--ccid"),
        ("h -R --ccid 248", "--ccid"),
        ("h --bidir --server-ccid 248", "--server-ccid"),
    ] {
        let text = format!("error: {what} 248: it needs data with a rate of their own{rate}");
        assert_eq!(lines(line), text, "{line}");
    }
    assert_eq!(
        lines("h --flow ccid=248"),
        "error: --flow ccid=248: CCID 248 needs data with a rate of their own\n next: add the rate, as in --flow ccid=248,rate=20M"
    );
    for line in ["h --obey -b 1M", "h -u --obey", "h --flow rate=1M --obey"] {
        assert_eq!(
            lines(line),
            "error: --obey: only CCID 248 gives advice\n next: add --ccid 248 and a rate, or leave --obey out",
            "{line}"
        );
    }
    for line in [
        "h --ccid safeudp -b 5M --obey",
        "h --ccid 248 --burst 10/10ms",
        "h --bidir --server-ccid 248 -b 5M --obey",
        "h --flow ccid=safeudp,rate=1M --flow ccid=3 --obey",
    ] {
        let asked = bulk_of(line);
        assert!(asked.has_safe_udp(), "{line}");
        assert_eq!(asked.obeys, line.contains("--obey"), "{line}");
    }
}

#[test]
fn wrong_transport_yields_an_error_of_two_lines() {
    for (line, text) in [
        (
            "h -u --ccid 3",
            "error: --ccid: UDP has no congestion control of DCCP\n next: leave --ccid out, or choose --transport dccp",
        ),
        (
            "h --tcp --law cubic",
            "error: --law: TCP has no congestion control of DCCP\n next: leave --law out, or choose --transport dccp",
        ),
        (
            "h -C cubic",
            "error: --congestion: DCCP does not use the system's TCP\n next: choose --transport tcp, or a law of DCCP with --law",
        ),
        (
            "h --tcp -C ../x",
            "error: --congestion ../x: must be the name of a congestion control of TCP\n next: write for example --congestion cubic",
        ),
        (
            "h -u --pcap a",
            "error: --pcap, --qlog: the packets of UDP belong to the system\n next: leave them out, or choose --transport dccp",
        ),
        (
            "h --pcap a --repeat 2",
            "error: --pcap, --qlog: each repetition would replace the files of the one before\n next: leave them out, or leave --repeat and --until-ci out",
        ),
        (
            "h --pcap a --qlog a",
            "error: --pcap and --qlog: must be different files\n next: write for example --pcap packets.pcapng --qlog packets.sqlog",
        ),
        (
            "h --transport sctp",
            "error: --transport sctp: must be dccp, udp or tcp\n next: write for example --transport udp",
        ),
    ] {
        assert_eq!(lines(line), text, "{line}");
    }
}

#[test]
fn options_of_iperf3_that_change_nothing_are_noted() {
    let bulk = bulk_of("-c h -Z --get-server-output -T name");
    assert_eq!(bulk.title.as_deref(), Some("name"));
    let words: Vec<&str> = bulk
        .notes
        .iter()
        .filter_map(|n| n.split(':').next())
        .collect();
    assert_eq!(words, ["-Z", "--get-server-output"]);
    assert!(bulk_of("h").notes.is_empty());
}

#[test]
fn flows_have_their_own_values() {
    let bulk = bulk_of("h --flow ccid=3,rate=5M --flow law=cubic");
    assert_eq!((bulk.flows, bulk.own.len()), (2, 2));
    assert_eq!(bulk.cc(0), None);
    assert_eq!(bulk.cc(1).as_deref(), Some("cubic"));
    assert_eq!(
        lines("h --flow speed=5M"),
        "error: --flow speed=5M: 'speed=5M' is not ccid=, rate=, shape= or law=\n next: write for example --flow ccid=3,rate=5M or --flow shape=poisson:5M,law=cubic"
    );
    assert!(lines("h --flow rate=1M -P 2").contains("exclude each other"));
    assert!(lines("h --flow rate=1M -b 2M").contains("exclude each other"));
}

// goal 14: both directions at the same time.
#[test]
fn bidir_doubles_the_flows() {
    let bulk = bulk_of("h --bidir -P 2");
    assert!(bulk.is_both && bulk.flows == 4);
    let forward: Vec<bool> = (0..4).map(|flow| bulk.client_sends(flow)).collect();
    assert_eq!(forward, [true, true, false, false]);
    assert!(bulk_of("h").client_sends(0) && !bulk_of("h -R").client_sends(0));
    assert_eq!(
        lines("h --bidir -P 17"),
        "error: -P 17: --bidir doubles the flows, and a test has 32 at most\n next: write -P 16"
    );
    assert!(lines("h --bidir -R").contains("exclude each other"));
}

// goal 14: both directions of one connection.
#[test]
fn one_connection_has_a_flow_of_each_end() {
    let bulk = bulk_of("h --bidir --one-connection -P 2 --server-ccid 3");
    assert_eq!((bulk.flows, bulk.connections()), (4, 2));
    let connections: Vec<u32> = (0..4).map(|flow| bulk.connection_of(flow)).collect();
    assert_eq!(connections, [0, 1, 0, 1]);
    let ccids: Vec<u8> = (0..4).map(|flow| bulk.values_of(flow).ccid).collect();
    assert_eq!(ccids, [2, 2, 3, 3]);
    let apart = bulk_of("h --bidir -P 2");
    assert_eq!((apart.connections(), apart.connection_of(3)), (4, 3));
    assert!(bulk_of("h --bidir --one-connection --tcp").is_one_connection);
    for (line, text) in [
        (
            "h --one-connection",
            "error: --one-connection: only one end sends\n next: add --bidir, or leave --one-connection out",
        ),
        (
            "h --bidir --one-connection -u",
            "error: --one-connection: UDP has no connections\n next: leave --one-connection out, or choose --transport dccp or tcp",
        ),
        (
            "stream h --bidir --one-connection",
            "error: --one-connection: echoes would wait behind the data of their direction\n next: leave --one-connection out, or run `dccpmon bulk` without --echo",
        ),
        (
            "h -R --server-ccid 3",
            "error: --server-ccid: without --bidir all flows have one sender\n next: write --ccid, or add --bidir",
        ),
        (
            "h --bidir --tcp --server-ccid 3",
            "error: --server-ccid: TCP has no congestion control of DCCP\n next: leave --server-ccid out, or choose --transport dccp",
        ),
    ] {
        assert_eq!(lines(line), text, "{line}");
    }
}

#[test]
fn samples_need_a_sender_and_a_document() {
    assert_eq!(
        bulk_of("h --sample 5ms -J").sample,
        Some(Duration::from_millis(5))
    );
    assert!(bulk_of("h --sample 1ms --save f").sample.is_some());
    for (line, text) in [
        (
            "h --sample 5ms",
            "error: --sample: the samples stand in the JSON document\n next: add -J, --json-stream or --save FILE",
        ),
        (
            "h --sample 5ms -J -R",
            "error: --sample: the server sends, and samples are those of the sender\n next: leave -R out, or start the test from the other host",
        ),
        (
            "h --sample 5ms -J -u",
            "error: --sample: UDP has no congestion control\n next: leave --sample out",
        ),
        (
            "h --sample 10us -J",
            "error: --sample 10us: must be 1ms to 1m\n next: write for example --sample 5ms",
        ),
    ] {
        assert_eq!(lines(line), text, "{line}");
    }
}

#[test]
fn planned_option_is_reported_as_not_implemented() {
    for line in ["h -B h2", "h -n 1M"] {
        assert!(lines(line).contains("not implemented yet\n"), "{line}");
    }
}

#[test]
fn help_is_printed_without_an_error() {
    assert!(matches!(read("--help"), Ok(Command::Show(text)) if text.contains("Exit codes")));
    assert!(
        matches!(read("bulk --help"), Ok(Command::Show(text)) if text.contains("3 (TFRC)") && text.contains("--obey"))
    );
    assert!(matches!(read("--version"), Ok(Command::Show(_))));
}

#[test]
fn idle_path_is_probed_for_a_tenth_of_the_test() {
    let idle = |line: &str| bulk_of(line).idle_time();
    assert_eq!(idle("h -t 2"), Duration::from_millis(200));
    assert_eq!(idle("h -t 60 --idle 3s"), Duration::from_secs(3));
    assert_eq!(idle("h --idle 0"), Duration::ZERO);
    assert!(lines("h --idle 6s").contains("--idle 6s: must be at most 5s"));
}

#[test]
fn repetitions_have_a_limit() {
    assert_eq!(bulk_of("h").runs_max, 1);
    assert_eq!(bulk_of("h --repeat 3").runs_max, 3);
    let until = bulk_of("h --until-ci 2%");
    assert_eq!((until.runs_max, until.until_ci), (50, Some(0.02)));
    let both = bulk_of("h --repeat 5 --until-ci 0.1");
    assert_eq!((both.runs_max, both.until_ci), (5, Some(0.1)));
}
