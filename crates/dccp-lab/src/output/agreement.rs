//! A scenario in the simulator beside live runs of it: do they agree?

use super::read::{each, number, text};
use super::table::busiest_link;
use crate::metrics::mean;
use dccp_cli::quantity::show;
use dccp_plot::{Group, Grouped, PlotError, Spread};
use serde_json::Value;

/// Shorter queues delay nothing, and their ratios are chance: in packets.
const QUEUE_MIN: f64 = 1.0;

/// A quantity that both backends measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// Application data that arrived, after the discarded time.
    Goodput,
    /// The mean queue of the busiest link over the packets per second that it carried (Little's law).
    Delay,
    /// The share of lost packets.
    Loss,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Goodput, Self::Delay, Self::Loss];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Delay => "queueing delay",
            Self::Loss => "loss rate",
        }
    }

    /// The least and the greatest ratio of live to simulated means that count as agreement.
    pub const fn bounds(self) -> (f64, f64) {
        match self {
            Self::Goodput => (0.95, 1.05),
            Self::Delay => (0.8, 1.2),
            Self::Loss => (1.0 / 1.5, 1.5),
        }
    }

    /// With its unit.
    fn show(self, value: f64) -> String {
        match self {
            Self::Goodput => show::rate(value),
            Self::Delay => format!("{:.2} ms", value * 1e3),
            Self::Loss => format!("{:.4} %", value * 100.0),
        }
    }
}

/// A quantity of a flow, or the delay of a scenario, in both backends.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The scenario and, if it has several flows, the flow.
    pub name: String,
    /// The quantity.
    pub quantity: Quantity,
    /// Each simulated repetition.
    pub sim: Vec<f64>,
    /// Each live repetition.
    pub live: Vec<f64>,
}

impl Row {
    /// The mean of live runs over that of the simulator.
    pub fn ratio(&self) -> f64 {
        self.over_sim(mean(&self.live).unwrap_or(f64::NAN))
    }

    /// The ratio, and those of the least and the greatest live run.
    fn spread(&self) -> Spread {
        let live = || self.live.iter().copied();
        Spread {
            middle: self.ratio(),
            low: self.over_sim(live().fold(f64::INFINITY, f64::min)),
            high: self.over_sim(live().fold(0.0, f64::max)),
        }
    }

    /// A live value over the mean of the simulator. Nothing in both is the same.
    fn over_sim(&self, live: f64) -> f64 {
        let sim = mean(&self.sim).unwrap_or(f64::NAN);
        if live.max(sim) <= 0.0 {
            1.0
        } else {
            live / sim
        }
    }

    /// Whether both backends agree.
    pub fn holds(&self) -> bool {
        let (least, most) = self.quantity.bounds();
        (least..=most).contains(&self.ratio())
    }
}

/// Compares the cells of a scenario.
pub fn compare(name: &str, sim: &[Value], live: &[Value]) -> Vec<Row> {
    let flows = sim
        .first()
        .map_or(&Value::Null, |cell| &cell["summary"]["flows"]);
    let ids: Vec<&str> = each(flows).map(|flow| text(&flow["id"])).collect();
    let row = |name: String, quantity, of: &dyn Fn(&Value) -> Option<f64>| {
        let values = |cells: &[Value]| {
            cells
                .iter()
                .filter_map(|cell| of(&cell["summary"]))
                .collect()
        };
        Row {
            name,
            quantity,
            sim: values(sim),
            live: values(live),
        }
    };
    let mut rows = Vec::new();
    for (n, id) in ids.iter().enumerate() {
        let name = match ids.len() {
            1 => name.to_owned(),
            _ => format!("{name} {id}"),
        };
        let key = "throughput_after_discard_bps";
        rows.push(row(name.clone(), Quantity::Goodput, &|summary| {
            number(&summary["flows"][n][key])
        }));
        rows.push(row(name, Quantity::Loss, &|summary| {
            number(&summary["flows"][n]["loss"])
        }));
    }
    let queues = row(name.to_owned(), Quantity::Delay, &|summary| {
        number(&busiest_link(summary)?["queue_packets_mean"])
    });
    if mean(&queues.sim).is_some_and(|queue| queue >= QUEUE_MIN) {
        rows.push(row(name.to_owned(), Quantity::Delay, &delay));
    }
    rows
}

/// The queueing delay of a cell in seconds, from its summary.
fn delay(summary: &Value) -> Option<f64> {
    let queue = number(&busiest_link(summary)?["queue_packets_mean"])?;
    let per_s = each(&summary["flows"]).filter_map(|flow| {
        let packet = number(&flow["delivered_bytes"])? / number(&flow["delivered_packets"])?;
        Some(number(&flow["throughput_after_discard_bps"])? / 8.0 / packet)
    });
    Some(queue / per_s.sum::<f64>()).filter(|delay| delay.is_finite())
}

/// The rows as a table.
pub fn table(rows: &[Row]) -> String {
    let head = ["", "", "simulator", "live", "ratio", "range", ""].map(str::to_owned);
    let mut lines = vec![head.to_vec()];
    for row in rows {
        let shown =
            |values: &[f64]| mean(values).map_or("-".into(), |mean| row.quantity.show(mean));
        let Spread { middle, low, high } = row.spread();
        lines.push(vec![
            row.name.clone(),
            row.quantity.name().to_owned(),
            shown(&row.sim),
            shown(&row.live),
            format!("{middle:.3}"),
            format!("{low:.3} to {high:.3}"),
            if row.holds() { "agrees" } else { "differs" }.to_owned(),
        ]);
    }
    super::table::aligned(&lines)
}

/// The rows as one picture: ratios of live runs to the simulator, with the range of the repetitions.
///
/// # Errors
/// There is nothing to draw.
pub fn picture(rows: &[Row]) -> Result<String, PlotError> {
    let mut names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    names.dedup();
    let bar = |name: &str, quantity: Quantity| {
        let mut rows = rows.iter();
        let row = rows.find(|row| row.name == name && row.quantity == quantity)?;
        Some(row.spread())
    };
    let group = |name: &&str| Group {
        name: (*name).to_owned(),
        bars: Quantity::ALL.map(|quantity| bar(name, quantity)).to_vec(),
    };
    let series = Quantity::ALL.map(|quantity| {
        let (least, most) = quantity.bounds();
        format!("{} ({least:.2}–{most:.2})", quantity.name())
    });
    Grouped {
        title: "Live runs beside the simulator: mean and range of the repetitions".into(),
        x_label: "live / simulator; in brackets the range of agreement".into(),
        series: series.to_vec(),
        groups: names.iter().map(group).collect(),
        reach: 1.0,
    }
    .to_svg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A cell of one flow: its goodput in Mbit/s, its loss, and the queue of its link.
    fn cell(mbit_per_s: f64, loss: f64, queue: f64) -> Value {
        json!({ "summary": {
            "flows": [{ "id": "f", "throughput_after_discard_bps": mbit_per_s * 1e6, "loss": loss,
                "delivered_bytes": 10_000, "delivered_packets": 10 }],
            "links": [{ "id": "l", "utilisation": 0.9, "queue_packets_mean": queue }] } })
    }

    #[test]
    fn means_are_compared_within_their_bounds() {
        let sim = [cell(8.0, 0.01, 10.0), cell(8.0, 0.03, 10.0)];
        let live = [cell(8.0, 0.03, 10.0), cell(8.4, 0.03, 15.5)];
        let rows = compare("n", &sim, &live);
        let found: Vec<_> = rows.iter().map(|row| (row.quantity, row.holds())).collect();
        assert_eq!(
            found,
            [
                (Quantity::Goodput, true),
                (Quantity::Loss, true),
                (Quantity::Delay, false)
            ]
        );
        // 10 packets at 1000 packets per second.
        assert!(rows[2].sim.iter().all(|delay| (delay - 0.01).abs() < 1e-12));
        let table = table(&rows);
        let delay = table.lines().nth(3).expect("a row");
        assert!(
            delay.contains("10.00 ms") && delay.ends_with("differs"),
            "{table}"
        );
        let svg = picture(&rows).expect("a picture");
        assert!(svg.contains("queueing delay (0.80–1.20)"), "{svg}");
    }

    #[test]
    fn short_queues_are_left_out_and_no_loss_agrees_with_none() {
        let cells = [cell(8.0, 0.0, 0.3)];
        let rows = compare("n", &cells, &cells);
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(Row::holds));
        let lossy = compare("n", &cells, &[cell(8.0, 0.001, 0.3)]);
        assert!(!lossy[1].holds());
    }
}
