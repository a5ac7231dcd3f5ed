//! Pages of large campaigns stay small enough to send, and are made in time.

use crate::parts::{parse, section};
use crate::{document, file, page, text};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

/// Cells of many laws in many repetitions, whose series are noise.
fn campaign(laws: u64, repetitions: u64, intervals: u64) -> Value {
    let mut document = document();
    let cell = document["cells"][0].clone();
    let cells = (0..laws * repetitions).map(|n| {
        let mut cell = cell.clone();
        let law = format!("law {}", n / repetitions);
        cell["label"] = json!(law);
        cell["variables"] = json!({ "law": law });
        cell["repeat"] = json!(n % repetitions);
        let flow = &mut cell["summary"]["flows"][0];
        flow["throughput_after_discard_bps"] = json!(1_000_000 + 4_000 * (n * 7 % repetitions));
        let series = &mut cell["series"];
        series["t_ns"] = json!(
            (1..=intervals)
                .map(|t| t * 1_000_000_000)
                .collect::<Vec<_>>()
        );
        // Noise, which neither decimation nor compression can shorten.
        let mut state = n + 1;
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % 100_000_000
        };
        let mut column = || json!((0..intervals).map(|_| noise()).collect::<Vec<_>>());
        for flow in series["flows"].as_array_mut().expect("flows") {
            for key in ["goodput_bps", "cwnd_packets", "rtt_ns"] {
                flow[key] = column();
            }
        }
        for link in series["links"].as_array_mut().expect("links") {
            // Of a dumbbell, one queue is long. The page leaves the others out.
            let is_neck = link["id"] == "neck" && link["direction"] == "there";
            link["queue_packets_mean"] = if is_neck { column() } else { json!([]) };
        }
        cell
    });
    document["cells"] = Value::Array(cells.collect());
    document
}

#[test]
fn page_of_98_cells_has_at_most_5_megabytes() {
    // As the SLAC paper's matrix of laws has: two flows, 20 minutes, every second.
    let path = file("campaign.json");
    fs::write(&path, campaign(98, 1, 1_200).to_string()).expect("a file");
    let (_, html) = page("campaign.html", &[text(&path)]);
    println!("{} bytes", html.len());
    assert!(html.len() <= 5_000_000, "{} bytes", html.len());
    assert_eq!(html.matches("<figure class=\"series\">").count(), 96);
}

#[test]
fn page_of_2400_cells_has_means_and_some_repetitions() {
    let path = file("repetitions.json");
    fs::write(&path, campaign(48, 50, 20).to_string()).expect("a file");
    #[expect(clippy::disallowed_methods, reason = "the time that the program takes")]
    let begun = Instant::now();
    let (_, html) = page("repetitions.html", &[text(&path)]);
    let taken = begun.elapsed();
    println!("{} bytes in {taken:?}", html.len());
    assert!(html.len() <= 5_000_000, "{} bytes", html.len());
    // The program of the tests is not optimised. An optimised one takes a tenth of this time.
    assert!(taken < Duration::from_secs(100), "{taken:?}");
    assert_eq!(html.matches("<figure class=\"series\">").count(), 48);
    let document = parse(&html);
    let tables = section(&document, "Tables");
    assert!(tables.contains("1.098 (1.049 to 1.147)"), "{tables}");
    let charts = section(&document, "Cells over time");
    assert!(
        charts.contains("the one with the median goodput of all flows is shown"),
        "{charts}"
    );
}
