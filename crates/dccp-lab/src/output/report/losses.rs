//! The fate of each flow's datagrams.

use super::super::read::number;
use super::Source;
use super::delays::name_of;
use super::groups::sample_words;
use dccp_plot::{Bar, Bars};
use dccp_report::{Section, Table};
use serde_json::Value;

/// More bars would hide what matters: the table has all.
const BARS_MAX: usize = 40;

/// The columns of the table: keys of a flow's summary, and their headings.
const COLUMNS: [(&str, &str); 10] = [
    ("sent_packets", "sent"),
    ("delivered_packets", "delivered"),
    ("lost_packets", "lost"),
    (
        "dropped_by_receiver_packets",
        "dropped by the receiving host",
    ),
    ("dropped_by_sender_packets", "no room in the send queue"),
    ("delivered_corrupt_packets", "delivered corrupt"),
    ("reported_corrupt_packets", "reported corrupt"),
    ("retransmitted_packets", "sent again"),
    ("marked_packets", "marked"),
    ("loss_events", "loss events"),
];

const PLACES: [&str; 3] = ["send queue", "network", "receiving host"];

pub(super) fn fill(section: &mut Section, source: &Source) {
    let groups = source.groups();
    let flows = groups.iter().flat_map(|group| {
        let flows = group.flows();
        flows.map(|flow| (name_of(&group.label, flow), flow))
    });
    let flows: Vec<(String, &Value)> = flows.collect();
    let lossy: Vec<_> = flows
        .iter()
        .filter(|(_, flow)| places(flow).iter().any(|n| *n > 0.0))
        .collect();
    section.text(&format!(
        "Lost are the datagrams that the sender's transport declared lost; with UDP and CCIDs 3 and 4, those that the \
         receiver misses. Of each cell, {} counts.",
        sample_words(&groups)
    ));
    if lossy.is_empty() {
        section
            .absent("No flow lost a datagram, so there is no picture.")
            .table(&table(&flows));
        return;
    }
    if lossy.len() > BARS_MAX {
        section.text(&format!(
            "The picture shows the first {BARS_MAX} of {} flows with losses, and the table all.",
            lossy.len()
        ));
    }
    let bars = lossy.iter().take(BARS_MAX).map(|(name, flow)| Bar {
        name: name.clone(),
        values: places(flow).into(),
    });
    let picture = Bars {
        title: String::new(),
        x_label: "datagrams that were not delivered".into(),
        parts: PLACES.map(String::from).into(),
        bars: bars.collect(),
    };
    section.figure(
        "Where datagrams were lost",
        &picture.to_svg(),
        &table(&flows),
    );
}

/// Losses at each of [`PLACES`]. Datagrams that the receiving host dropped had arrived, so they are not among the lost.
fn places(flow: &Value) -> [f64; 3] {
    let count = |key: &str| number(&flow[key]).unwrap_or(0.0);
    [
        "dropped_by_sender_packets",
        "lost_packets",
        "dropped_by_receiver_packets",
    ]
    .map(count)
}

fn table(flows: &[(String, &Value)]) -> Table {
    // Columns without any value say nothing.
    let is_used = |(key, _): &&(&str, &str)| {
        let is_first = COLUMNS[..3].iter().any(|(first, _)| first == key);
        is_first
            || flows
                .iter()
                .any(|(_, flow)| number(&flow[key]).is_some_and(|n| n > 0.0))
    };
    let columns: Vec<_> = COLUMNS.iter().filter(is_used).collect();
    let heads = columns.iter().map(|(_, head)| *head);
    let heads: Vec<&str> = core::iter::once("datagrams").chain(heads).collect();
    let mut table = Table::numbers("Datagrams of each flow", &heads);
    for (name, flow) in flows {
        let cells = columns.iter().map(|(key, _)| match &flow[*key] {
            Value::Null => "–".to_owned(),
            count => count.to_string(),
        });
        table.row(core::iter::once(name.clone()).chain(cells));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn drops_of_the_receiving_host_are_beside_the_losses_of_the_network() {
        let flow = json!({ "lost_packets": 10, "dropped_by_receiver_packets": 4, "dropped_by_sender_packets": 2 });
        let packets = |flow: &Value| places(flow).map(|packets| format!("{packets}"));
        assert_eq!(packets(&flow), ["2", "10", "4"]);
        assert_eq!(packets(&json!({ "lost_packets": null })), ["0"; 3]);
    }

    #[test]
    fn columns_without_values_are_left_out() {
        let flow = json!({ "sent_packets": 5, "delivered_packets": 5, "lost_packets": null, "marked_packets": 0,
            "retransmitted_packets": 3 });
        let html = table(&[("a: flow".to_owned(), &flow)]).to_string();
        assert!(html.contains("sent again") && !html.contains("marked"));
        assert!(html.contains("<td>5</td><td>5</td><td>–</td><td>3</td>"));
    }
}
