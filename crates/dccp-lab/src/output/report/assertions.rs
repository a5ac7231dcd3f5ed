//! The assertions with their marks, and what each group of cells gave.

use super::super::count;
use super::super::read::{each, text};
use super::super::verdicts::four_digits;
use super::{Source, mark};
use dccp_report::{Section, Table};
use serde_json::Value;

pub(super) fn fill(section: &mut Section, source: &Source) {
    let assertions: Vec<&Value> = each(&source.document["assertions"]).collect();
    if assertions.is_empty() {
        section.absent("The scenario asserts nothing.");
        return;
    }
    let headings = [
        "says",
        "mark",
        "share of repetitions",
        "kind",
        "claim",
        "only with artefact",
    ];
    let mut table = Table::words("What the scenario asserts", &headings);
    for assertion in &assertions {
        table.row([
            text(&assertion["says"]).to_owned(),
            mark(&assertion["mark"]),
            percent(&assertion["share"]),
            text(&assertion["kind"]).to_owned(),
            dash(text(&assertion["claim"])),
            dash(text(&assertion["artefact"])),
        ]);
    }
    section.table(&table);
    for assertion in assertions {
        let groups = each(&assertion["groups"]).count();
        let summary = format!("{} ({})", text(&assertion["says"]), count(groups, "group"));
        section.folded(&summary, false, |section| {
            section
                .code(text(&assertion["that"]))
                .table(&of_groups(assertion));
        });
    }
}

fn of_groups(assertion: &Value) -> Table {
    let headings = ["where", "left side", "right side", "repetitions", "held"];
    let mut table = Table::numbers("Both sides of the comparison", &headings);
    for group in each(&assertion["groups"]) {
        let pairs = group["where"].as_object().into_iter().flatten();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name} = {}", text(value)))
            .collect();
        table.row([
            dash(&pairs.join(", ")),
            number(&group["left"]),
            number(&group["right"]),
            assertion["repetitions"].to_string(),
            group["held"].to_string(),
        ]);
    }
    table
}

fn percent(share: &Value) -> String {
    let share = share.as_f64();
    share.map_or_else(|| "–".into(), |share| format!("{:.0} %", share * 100.0))
}

fn number(value: &Value) -> String {
    let value = value.as_f64();
    value.map_or_else(|| "–".into(), four_digits)
}

fn dash(text: &str) -> String {
    if text.is_empty() {
        "–".into()
    } else {
        text.to_owned()
    }
}
