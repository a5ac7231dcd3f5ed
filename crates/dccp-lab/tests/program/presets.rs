//! Presets of links: the picture of their rates, and `dccplab trace`. `UPDATE=1 cargo test -p dccp-lab --test program presets`
//! draws the picture.

use core::time::Duration;
use dccp_plot::{Figure, Panel, Series};
use dccp_sim::Seed;
use dccp_sim::rate_trace::RateTrace;
use dccp_sim::rate_trace::model::{PRESETS, Preset};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The length of the picture's time axis in seconds.
const SHOWN_S: usize = 120;

fn panel(preset: &Preset) -> Panel {
    let trace = preset
        .model
        .draw(&Seed(1).stream(&format!("trace {}", preset.name)));
    let rates = trace.rates(Duration::from_millis(100));
    let point = |(n, bytes_per_s): (u32, f64)| (f64::from(n) / 10.0, bytes_per_s * 8.0 / 1e6);
    Panel {
        y_label: "Mbit/s".into(),
        series: vec![Series {
            name: preset.name.into(),
            points: (0..).zip(rates).map(point).take(10 * SHOWN_S).collect(),
        }],
        ..Panel::default()
    }
}

#[test]
fn picture_of_presets_is_current() {
    let figure = Figure {
        title: String::new(),
        x_label: "time, s".into(),
        panels: PRESETS.iter().map(panel).collect(),
        marks: Vec::new(),
    };
    let svg = figure.to_svg().expect("a picture");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/link-presets.svg");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &svg).expect("the picture is written");
    }
    let stored = fs::read_to_string(file).expect("the picture");
    assert!(
        stored == svg,
        "stale: UPDATE=1 cargo test -p dccp-lab --test program presets"
    );
}

fn trace(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dccplab"));
    command.arg("trace").args(words);
    command.output().expect("the program starts")
}

#[test]
fn trace_is_printed_for_other_programs() {
    let text = |words: &[&str]| {
        let output = trace(words);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let wifi = text(&["wifi", "--seed", "7", "--duration", "20s"]);
    let parsed = RateTrace::parse(&wifi).expect("mahimahi's format");
    let mbit_per_s = parsed.bytes_per_s() * 8.0 / 1e6;
    assert!((29.9..30.1).contains(&mbit_per_s), "{mbit_per_s}");
    assert!(wifi.ends_with("\n20000\n"));
    assert_eq!(text(&["wifi", "--seed", "7", "--duration", "20s"]), wifi);
    assert_ne!(text(&["wifi", "--seed", "8", "--duration", "20s"]), wifi);
}

#[test]
fn unknown_preset_is_refused_in_two_lines() {
    let output = trace(&["wfi"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].starts_with("error: ") && lines[1] == " next: did you mean wifi?",
        "{said}"
    );
}
