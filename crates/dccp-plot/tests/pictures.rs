//! Whole pictures as text. `UPDATE=1 cargo test -p dccp-plot --test pictures` writes them again: look at them then.

use dccp_plot::{
    Edge, Figure, Group, Grouped, HeatMap, Node, Panel, PlotError, Row, Series, Shades, Spread,
    Strip, Topology,
};
use std::fs;

/// Compares a picture with the stored one.
fn check(name: &str, svg: Result<String, PlotError>) {
    let path = format!("{}/tests/pictures/{name}.svg", env!("CARGO_MANIFEST_DIR"));
    let svg = svg.expect("a picture");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &svg).expect("the picture is written");
    }
    let stored = fs::read_to_string(&path).expect("a stored picture");
    assert!(
        stored == svg,
        "{path} differs: UPDATE=1 cargo test -p dccp-plot --test pictures, then look at it"
    );
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn heat_map_is_as_stored() {
    let map = HeatMap {
        title: "asymmetry".into(),
        x_label: "cross".into(),
        y_label: "major".into(),
        value_label: "asymmetry".into(),
        columns: texts(&["reno", "fast", "scalable"]),
        rows: texts(&["reno", "fast", "scalable"]),
        values: vec![
            vec![Some(0.01), Some(-0.4), Some(-0.72)],
            vec![Some(0.41), Some(0.0), None],
            vec![Some(0.7), Some(0.63), Some(-0.02)],
        ],
        shades: Shades::Diverging {
            middle: 0.0,
            reach: 1.0,
        },
    };
    check("heat", map.to_svg());
}

#[test]
fn grouped_bars_are_as_stored() {
    let bar = |middle, low, high| Some(Spread { middle, low, high });
    let group = |name: &str, bars: [Option<Spread>; 2]| Group {
        name: name.into(),
        bars: bars.into(),
    };
    let bars = Grouped {
        title: "stability".into(),
        x_label: "standard deviation divided by mean".into(),
        series: texts(&["4MiB", "8MiB"]),
        groups: vec![
            group("reno*16", [bar(0.08, 0.07, 0.1), bar(0.11, 0.11, 0.11)]),
            group("fast", [bar(0.2, 0.12, 0.31), None]),
        ],
        reach: 0.5,
    };
    check("grouped", bars.to_svg());
}

#[test]
fn schedule_is_as_stored() {
    let row = |name: &str, spans: &[(f64, f64)]| Row {
        name: name.into(),
        spans: spans.into(),
    };
    let strip = Strip {
        title: String::new(),
        x_label: "time, s".into(),
        rows: vec![
            row("path1", &[(0.0, 7200.0)]),
            row("path2", &[(900.0, 4500.0)]),
            row("path3", &[(1800.0, 2400.0), (3000.0, 5400.0)]),
        ],
    };
    check("strip", strip.to_svg());
}

#[test]
fn network_is_as_stored() {
    let node = |name: &str, is_host: bool| Node {
        name: name.into(),
        is_host,
    };
    let edge = |from: usize, to: usize, label: &str| Edge {
        from,
        to,
        label: label.into(),
        is_strong: from == 2 && to == 3,
    };
    let network = Topology {
        title: String::new(),
        nodes: vec![
            node("a", true),
            node("b", true),
            node("left", false),
            node("right", false),
            node("c", true),
            node("d", true),
        ],
        edges: vec![
            edge(0, 2, "1 Gbit/s"),
            edge(1, 2, "1 Gbit/s"),
            edge(2, 3, "50 Mbit/s"),
            edge(3, 4, "1 Gbit/s"),
            edge(3, 5, "1 Gbit/s"),
        ],
    };
    check("topology", network.to_svg());
}

#[test]
fn decimated_curve_is_as_stored() {
    let point = |n: i32| {
        let time = f64::from(n) / 100.0;
        // A saw tooth with one dip of a single sample.
        let value = if n == 3_333 { 1.0 } else { 20.0 + time % 7.0 };
        (time, value)
    };
    let figure = Figure {
        title: String::new(),
        x_label: "time, s".into(),
        panels: vec![Panel {
            y_label: "window, packets".into(),
            series: vec![Series {
                name: "reno".into(),
                points: (0..6_000).map(point).collect(),
            }],
            reach: 40.0,
            ..Panel::default()
        }],
        marks: Vec::new(),
    };
    check("decimated", figure.decimated(200).to_svg());
}
