//! Rate and round trip over time.

use anyhow::Result;
use dccp_plot::{Figure, Panel, Series};

use super::CCIDS;
use super::result::{Document, Interval};

pub(super) fn draw(documents: &[(String, Document)]) -> Result<String> {
    let panel = |y_label: &str, value: fn(&Interval) -> f64| {
        let curve = |(ccid, (_, document)): (&u8, &(String, Document))| Series {
            name: format!("CCID {ccid}"),
            points: document
                .intervals
                .iter()
                .map(|interval| (interval.time_s(), value(interval)))
                .collect(),
        };
        Panel {
            y_label: y_label.into(),
            series: CCIDS.iter().zip(documents).map(curve).collect(),
            ..Panel::default()
        }
    };
    let figure = Figure {
        title: "Two DCCP flows share 50 Mbit/s, 40 ms, drop-tail".into(),
        x_label: "time, s".into(),
        panels: vec![
            panel("goodput, Mbit/s", Interval::rate_mbit_per_s),
            panel("round trip, ms", Interval::rtt_ms),
        ],
        marks: Vec::new(),
    };
    Ok(figure.to_svg()?)
}
