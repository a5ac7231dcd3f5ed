//! A page of a large campaign stays small enough to send.

use crate::{document, file, page, text};
use serde_json::{Value, json};
use std::fs;

/// 98 cells, as the SLAC paper's matrix of laws has: two flows, 20 minutes, every second.
fn campaign() -> Value {
    let mut document = document();
    let cell = document["cells"][0].clone();
    let cells = (0..98_u64).map(|n| {
        let mut cell = cell.clone();
        cell["label"] = json!(format!("law {n}"));
        cell["variables"] = json!({ "law": format!("law {n}") });
        let series = &mut cell["series"];
        series["t_ns"] = json!(
            (1..=1_200_u64)
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
        let mut column = || json!((0..1_200).map(|_| noise()).collect::<Vec<_>>());
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
    let path = file("campaign.json");
    fs::write(&path, campaign().to_string()).expect("a file");
    let (_, html) = page("campaign.html", &[text(&path)]);
    println!("{} bytes", html.len());
    assert!(html.len() <= 5_000_000, "{} bytes", html.len());
    assert_eq!(html.matches("<figure class=\"series\">").count(), 98);
}
