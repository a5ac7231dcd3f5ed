//! An invented run: ten seconds over a link of 100 Mbit/s and 20 ms whose queue holds 100 packets.

use dccp_plot::{
    Band, Bar, Bars, Bin, Bins, Cdf, Distribution, Figure, Histogram, Level, Mark, Panel, Scale,
    Series,
};
use dccp_report::{Detail, Page, Section, Table};

const PACKET_BITS: f64 = 1400.0 * 8.0;
const LINK_PACKETS_PER_MS: f64 = 100e6 / PACKET_BITS / 1e3;
const IDLE_MS: f64 = 20.0;
const QUEUE_MAX: f64 = 100.0;
/// Delay in the sender's own queue.
const SEND_QUEUE_MS: f64 = 7.2;

/// The state of the flow at one time.
struct Sample {
    time_s: f64,
    rate_mbps: f64,
    window: f64,
    threshold: f64,
    network_ms: f64,
    lost: f64,
}

/// Samples every 20 ms: slow start, then the saw tooth of Reno.
fn samples() -> Vec<Sample> {
    let capacity = LINK_PACKETS_PER_MS * IDLE_MS;
    let mut window = 10.0;
    let mut threshold = f64::NAN;
    let mut samples = Vec::new();
    for n in 0..500 {
        let queue = f64::clamp(window - capacity, 0.0, QUEUE_MAX);
        // A little irregularity, as other traffic causes it.
        let noise = f64::from(n * 7_919 % 101) / 101.0;
        let network_ms = IDLE_MS + queue / LINK_PACKETS_PER_MS + 0.8 * noise * noise;
        let rate = f64::min(window / IDLE_MS, LINK_PACKETS_PER_MS);
        let overflow = f64::max(window - capacity - QUEUE_MAX, 0.0);
        samples.push(Sample {
            time_s: f64::from(n) * 0.02,
            rate_mbps: rate * PACKET_BITS / 1e3,
            window,
            threshold,
            network_ms,
            lost: overflow.floor(),
        });
        if overflow >= 1.0 {
            threshold = f64::min(window, capacity + QUEUE_MAX) / 2.0;
            window = threshold;
        } else if threshold.is_nan() {
            window *= 1.0 + 20.0 / network_ms;
        } else {
            window += 20.0 / network_ms;
        }
    }
    samples
}

fn series(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Series {
    Series {
        name: name.into(),
        points: points.collect(),
    }
}

fn over_time(samples: &[Sample]) -> Figure {
    let curve = |name: &str, value: fn(&Sample) -> f64| {
        series(name, samples.iter().map(|s| (s.time_s, value(s))))
    };
    let band = |name: &str, from: fn(&Sample) -> f64, to: fn(&Sample) -> f64| Band {
        name: name.into(),
        points: samples.iter().map(|s| (s.time_s, from(s), to(s))).collect(),
    };
    let level = |name: &str, value: f64| Level {
        name: name.into(),
        value,
    };
    let panel = |y_label: &str, series: Vec<Series>| Panel {
        y_label: y_label.into(),
        series,
        ..Panel::default()
    };
    Figure {
        title: String::new(),
        x_label: "time, s".into(),
        panels: vec![
            panel("goodput, Mbit/s", vec![curve("flow 1", |s| s.rate_mbps)]),
            Panel {
                bands: vec![
                    band("network", |_| 0.0, |s| s.network_ms),
                    band(
                        "send queue",
                        |s| s.network_ms,
                        |s| s.network_ms + SEND_QUEUE_MS,
                    ),
                ],
                levels: vec![level("idle", IDLE_MS)],
                ..panel(
                    "round trip, ms",
                    vec![curve("flow 1", |s| s.network_ms + SEND_QUEUE_MS)],
                )
            },
            panel(
                "window, packets",
                vec![
                    curve("cwnd", |s| s.window),
                    curve("ssthresh", |s| s.threshold),
                ],
            ),
            panel("lost packets", vec![curve("flow 1", |s| s.lost)]),
        ],
        marks: vec![Mark::At(6.0)],
    }
}

fn distribution(name: &str, values: impl Iterator<Item = f64>) -> Distribution {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let count = u32::try_from(values.len()).unwrap();
    let share = |n: u32| f64::from(n) / f64::from(count);
    Distribution {
        name: name.into(),
        points: (1..).map(share).zip(values).map(|(y, x)| (x, y)).collect(),
    }
}

fn delays(samples: &[Sample]) -> Cdf {
    let idle = (0..100).map(|n| IDLE_MS + f64::from(n * 37 % 100) / 200.0);
    let one_way = samples.iter().map(|s| s.network_ms - IDLE_MS / 2.0);
    Cdf {
        title: String::new(),
        x_label: "delay, ms".into(),
        x_scale: Scale::Linear,
        series: vec![
            distribution(
                "round trip",
                samples.iter().map(|s| s.network_ms + SEND_QUEUE_MS),
            ),
            distribution("one way", one_way),
            distribution("round trip, idle", idle),
        ],
        marks: vec![0.5, 0.99, 0.999],
        reach: 0.0,
    }
}

const PLACES: [&str; 4] = ["send queue", "network", "receiving host", "application"];
/// Lost packets of two flows at each place.
const LOST: [(&str, [u32; 4]); 2] = [("flow 1", [0, 61, 18, 0]), ("flow 2", [3, 44, 0, 0])];

fn losses() -> Bars {
    let bar = |(name, counts): (&str, [u32; 4])| Bar {
        name: name.into(),
        values: counts.into_iter().map(f64::from).collect(),
    };
    Bars {
        title: String::new(),
        x_label: "packets that were not delivered".into(),
        parts: PLACES.map(String::from).into(),
        bars: LOST.into_iter().map(bar).collect(),
    }
}

/// Lengths of losses in a row, and how often they occurred.
const RUNS: [(u32, u32); 6] = [(1, 57), (2, 11), (3, 4), (4, 2), (9, 1), (18, 1)];

fn runs() -> Histogram {
    let bin = |(length, count)| Bin {
        from: f64::from(length) - 0.5,
        to: f64::from(length) + 0.5,
        count: f64::from(count),
    };
    Histogram {
        title: String::new(),
        x_label: "packets lost in a row".into(),
        y_label: "how often".into(),
        x_scale: Scale::Linear,
        y_scale: Scale::Log,
        series: vec![Bins {
            name: "flow 1".into(),
            bins: RUNS.into_iter().map(bin).collect(),
        }],
    }
}

fn late() -> Histogram {
    let bin = |n: u32| Bin {
        from: 2_f64.powi(n.cast_signed()) * 100.0,
        to: 2_f64.powi(n.cast_signed() + 1) * 100.0,
        count: (40_000.0 * 0.3_f64.powi(n.cast_signed())).floor(),
    };
    Histogram {
        title: String::new(),
        x_label: "packet sent later than its schedule, ns".into(),
        y_label: "packets".into(),
        x_scale: Scale::Log,
        y_scale: Scale::Log,
        series: vec![Bins {
            name: "flow 1".into(),
            bins: (0..10).map(bin).collect(),
        }],
    }
}

fn verdict(section: &mut Section) {
    let evidence = [
        "The round trip rose from 20.3 ms idle to 38.4 ms at the 99th percentile.",
        "61 of 79 lost packets were lost in the network, each time when the queue was full.",
        "Processors were 11 % and 14 % busy.",
    ];
    section
        .lead("Limited by the network: its queue was full at 100 Mbit/s.")
        .list(evidence)
        .text("18 packets were lost in the receiving host. A larger buffer prevents this:")
        .code("sysctl -w net.core.rmem_max=4194304");
}

fn summary(section: &mut Section) {
    let headings = [
        "flow",
        "goodput, Mbit/s",
        "loss, %",
        "RTT p50, ms",
        "RTT p99, ms",
    ];
    let mut table = Table::numbers("Two flows, ten seconds", &headings);
    table
        .row(["1", "94.4", "0.09", "35.1", "38.4"])
        .row(["2", "4.1", "1.20", "35.3", "–"]);
    section.table(&table);
}

fn rates(section: &mut Section) {
    let samples = samples();
    let headings = ["time, s", "goodput, Mbit/s", "RTT, ms", "cwnd, packets"];
    let mut table = Table::numbers("", &headings);
    for s in samples.iter().step_by(25) {
        let rtt = s.network_ms + SEND_QUEUE_MS;
        let cells = [s.time_s, s.rate_mbps, rtt, s.window];
        table.row(cells.map(|cell| format!("{cell:.1}")));
    }
    let caption = "Rate, delay, window and loss. The mark is at 6 s.";
    section.figure(caption, &over_time(&samples).to_svg(), &table);
}

fn lost(section: &mut Section) {
    let mut places = Table::numbers("", &["flow", PLACES[0], PLACES[1], PLACES[2], PLACES[3]]);
    for (name, counts) in LOST {
        let counts = counts.map(|count| count.to_string());
        places.row([name.to_owned()].into_iter().chain(counts));
    }
    let mut lengths = Table::numbers("", &["length", "how often"]);
    for (length, count) in RUNS {
        lengths.row([length.to_string(), count.to_string()]);
    }
    section
        .text("79 of 84,365 packets of flow 1 were not delivered (0.09 %).")
        .figure("Where packets were lost", &losses().to_svg(), &places)
        .figure("Losses in a row", &runs().to_svg(), &lengths);
}

fn delay(section: &mut Section) {
    let mut table = Table::numbers("", &["delay, ms", "min", "p50", "p99", "max", "samples"]);
    table
        .row(["round trip", "27.2", "35.1", "38.4", "38.9", "500"])
        .row(["one way (± 0.2)", "10.0", "17.9", "21.2", "21.7", "500"])
        .row(["round trip, idle", "20.0", "20.3", "20.5", "20.5", "100"]);
    let caption = "Distribution of delays";
    section.figure(caption, &delays(&samples()).to_svg(), &table);
}

fn schedule(section: &mut Section) {
    let mut table = Table::numbers("", &["", "asked", "achieved"]);
    table.row(["gap between packets, µs", "120.0", "120.2"]);
    let nothing = Cdf {
        series: Vec::new(),
        ..delays(&[])
    };
    section
        .table(&table)
        .figure("Lateness of packets", &late().to_svg(), &table)
        .figure("Departures", &nothing.to_svg(), &table);
}

fn hosts(section: &mut Section) {
    let mut hosts = Table::words("", &["", "client", "server"]);
    hosts
        .row(["system", "Linux 6.12.9", "Linux 6.1.0"])
        .row(["clock source", "tsc", "kvm-clock"])
        .row(["busiest core", "11 %", "14 %"])
        .row(["packets dropped by the socket", "0", "18"]);
    section.table(&hosts);
}

fn record(section: &mut Section) {
    section
        .code("dccpmon host.example --time 10s --html run.html")
        .absent("TCP was not measured, so there is nothing to compare with.");
}

/// A page with a chart.
pub(super) fn zoomable() -> Page {
    let detail = Detail {
        picture_points: 200,
        zoom_points: 400,
    };
    Page::new("run").section("Over time", |section| {
        let table = Table::numbers("", &["time, s"]);
        section.chart("Rate over time", &over_time(&samples()), detail, &table);
    })
}

/// The page of the run. A peer could have chosen the title.
pub(super) fn page(title: &str) -> Page {
    Page::new(title)
        .subtitle("2026-11-23 19:15 UTC · dccpmon 1.0.0 · 10 s · DCCP CCID 2 (reno) over UDP")
        .section("Verdict", verdict)
        .section("Summary", summary)
        .section("Over time", rates)
        .section("Losses", lost)
        .section("Delay", delay)
        .section("Schedule", schedule)
        .section("Both hosts", hosts)
        .section("Record", record)
}
