//! Where packets were lost, and how many in a row.

use crate::output::html::name_of;
use crate::output::text::{length_class, lengths};
use crate::schema::{Ledger, Summary};
use dccp::proto::number::to_f64;
use dccp_plot::{Bar, Bars, Bin, Bins, Histogram, Scale};
use dccp_report::{Section, Table};

pub(super) fn fill(section: &mut Section, summary: &Summary) {
    let ledgers: Vec<(u32, Ledger)> = (summary.flows.iter())
        .filter_map(|flow| Some((flow.id, flow.ledger?)))
        .collect();
    if ledgers.is_empty() {
        section.absent("TCP repeats what was lost, so no packet of its stream is missing.");
        return;
    }
    let whole = Ledger::sum(ledgers.iter().map(|(_, ledger)| ledger));
    section.text(&format!(
        "{} of {} packets that were sent did not arrive. {} of {} offered packets were not sent.",
        whole.lost(),
        whole.sent,
        whole.offered.saturating_sub(whole.sent),
        whole.offered
    ));
    let has_losses = places(&whole).iter().any(|(_, packets)| *packets > 0);
    if has_losses {
        section.figure(
            "Where packets were lost",
            &bars(&ledgers).to_svg(),
            &table(&ledgers),
        );
    } else {
        section.table(&table(&ledgers));
    }
    runs(section, summary);
}

/// The places of the losses of all flows; `None` if a flow has no ledger.
pub(super) fn sentence(summary: &Summary) -> Option<String> {
    let ledgers: Option<Vec<Ledger>> = summary.flows.iter().map(|flow| flow.ledger).collect();
    let whole = Ledger::sum(ledgers?.iter());
    let lost = places(&whole)
        .into_iter()
        .filter(|(_, packets)| *packets > 0);
    let lost: Vec<String> = lost
        .map(|(place, packets)| format!("{place} {packets}"))
        .collect();
    Some(if lost.is_empty() {
        format!("Lost: none of {} sent packets.", whole.sent)
    } else {
        format!("Lost: {}, of {} sent packets.", lost.join(", "), whole.sent)
    })
}

/// All places where packets were lost that had been sent.
fn places(ledger: &Ledger) -> Vec<(&'static str, u64)> {
    let mut places = ledger.losses().to_vec();
    places.push(("unknown", ledger.unknown));
    places
}

/// A bar for each flow, with the places that have losses in any of them.
fn bars(ledgers: &[(u32, Ledger)]) -> Bars {
    let whole = Ledger::sum(ledgers.iter().map(|(_, ledger)| ledger));
    let used: Vec<&str> = (places(&whole).iter())
        .filter(|(_, packets)| *packets > 0)
        .map(|(place, _)| *place)
        .collect();
    let bar = |(id, ledger): &(u32, Ledger)| Bar {
        name: name_of(*id),
        values: (places(ledger).iter())
            .filter(|(place, _)| used.contains(place))
            .map(|(_, packets)| to_f64(*packets))
            .collect(),
    };
    Bars {
        title: String::new(),
        x_label: "packets lost after they were sent".into(),
        parts: used.iter().map(ToString::to_string).collect(),
        bars: ledgers.iter().map(bar).collect(),
    }
}

fn table(ledgers: &[(u32, Ledger)]) -> Table {
    let names: Vec<String> = ledgers.iter().map(|(id, _)| name_of(*id)).collect();
    let mut headings = vec!["packets"];
    headings.extend(names.iter().map(String::as_str));
    let mut table = Table::numbers("", &headings);
    let columns: Vec<Vec<(&str, u64)>> = ledgers
        .iter()
        .map(|(_, ledger)| {
            let mut rows = vec![("offered", ledger.offered)];
            rows.extend(ledger.not_sent());
            rows.push(("sent", ledger.sent));
            rows.extend(places(ledger));
            rows.push(("in flight", ledger.in_flight));
            rows.push(("delivered", ledger.delivered));
            rows
        })
        .collect();
    let rows = columns.first().map_or(0, Vec::len);
    for row in 0..rows {
        let name = columns[0][row].0.to_owned();
        let counts = columns.iter().map(|column| column[row].1.to_string());
        table.row([name].into_iter().chain(counts));
    }
    table
}

/// The longest run of losses on a linear axis.
const LINEAR_MAX: u64 = 50;

/// Lengths of losses in a row.
fn runs(section: &mut Section, summary: &Summary) {
    let mut series = Vec::new();
    let mut table = Table::numbers("", &["flow", "packets in a row", "how often"]);
    for flow in &summary.flows {
        let Some(pattern) = &flow.loss_pattern else {
            continue;
        };
        let bin = |&(length, count): &(u64, u64)| {
            let (from, to) = length_class(length);
            Bin {
                from: to_f64(from) - 0.5,
                to: to_f64(to) + 0.5,
                count: to_f64(count),
            }
        };
        for (length, count) in &pattern.runs {
            table.row([name_of(flow.id), lengths(*length), count.to_string()]);
        }
        if !pattern.runs.is_empty() {
            series.push(Bins {
                name: name_of(flow.id),
                bins: pattern.runs.iter().map(bin).collect(),
            });
        }
        if let Some(model) = &pattern.gilbert {
            section.text(&format!(
                "Flow {}: a loss begins after {:.3} % of the packets and ends after {:.1} % of those lost (Gilbert's model).",
                flow.id,
                model.p * 100.0,
                model.r * 100.0
            ));
        }
    }
    if series.is_empty() {
        return;
    }
    let longest = summary
        .flows
        .iter()
        .filter_map(|flow| flow.loss_pattern.as_ref());
    let longest = longest
        .flat_map(|pattern| &pattern.runs)
        .map(|run| run.0)
        .max();
    let histogram = Histogram {
        title: String::new(),
        x_label: "packets lost in a row".into(),
        y_label: "how often".into(),
        // One long run would press all others into a line.
        x_scale: if longest > Some(LINEAR_MAX) {
            Scale::Log
        } else {
            Scale::Linear
        },
        y_scale: Scale::Log,
        series,
    };
    section.figure("Losses in a row", &histogram.to_svg(), &table);
}
