//! The question of a run, its answer, and reasons to doubt it.

use super::super::count;
use super::super::read::{each, text};
use super::Source;
use dccp_report::Section;
use serde_json::Value;

pub(super) fn fill(section: &mut Section, source: &Source) {
    section.lead(&verdict(&source.document));
    section.text(&asked(source));
    let warnings = shortened(warnings(source));
    if warnings.is_empty() {
        section.text("Nothing disturbed the run: no warning, no failed cell, no broken flow.");
    } else {
        section.heading("Warnings").list(warnings);
    }
}

/// How many expectations hold.
pub(super) fn verdict(document: &Value) -> String {
    let holds = |list: &Value| {
        let marked: Vec<&Value> = each(list).filter(|item| item["mark"].is_string()).collect();
        let held = marked.iter().filter(|item| item["mark"] == "holds").count();
        (held, marked.len())
    };
    let (held, all) = holds(&document["assertions"]);
    let (tables_held, tables) = holds(&document["published"]);
    let assertions = match all {
        0 => "The scenario asserts nothing".to_owned(),
        _ => format!("{held} of {} hold", count(all, "assertion")),
    };
    match tables {
        0 => format!("{assertions}."),
        _ => format!(
            "{assertions}; {tables_held} of {} agree.",
            count(tables, "published table")
        ),
    }
}

/// The first warnings, and the number of the others.
pub(super) fn shortened(mut warnings: Vec<String>) -> Vec<String> {
    const WARNINGS_MAX: usize = 40;
    let left = warnings.len().saturating_sub(WARNINGS_MAX);
    if left > 0 {
        warnings.truncate(WARNINGS_MAX);
        warnings.push(format!("And {}.", count(left, "more warning")));
    }
    warnings
}

fn asked(source: &Source) -> String {
    let record = &source.document["record"];
    let published = match text(&record["source"]) {
        "" => String::new(),
        paper => format!(" It redoes: {paper}."),
    };
    let values = |name: &String| {
        let mut values: Vec<&str> = Vec::new();
        for group in source.groups() {
            let value = group.variable(name);
            if !values.contains(&value) {
                values.push(value);
            }
        }
        format!("{name} = {}", values.join(", "))
    };
    let variables: Vec<String> = source.variables().iter().map(values).collect();
    let variables = match variables.len() {
        0 => String::new(),
        _ => format!(" The variables were {}.", variables.join("; ")),
    };
    let groups = source.groups();
    let repeats = groups
        .iter()
        .map(|group| group.cells.len())
        .max()
        .unwrap_or(1);
    let repeats = match repeats {
        1 => String::new(),
        n => format!(", up to {n} repetitions of each"),
    };
    let time = each(&source.document["cells"]).filter_map(|cell| cell["duration_ns"].as_f64());
    let backend = text(&record["backend"]);
    let clock = match backend {
        "sim" => "virtual time",
        _ => "real time",
    };
    format!(
        "{} was run on the backend {backend}: {}{repeats}, {:.0} s of {clock}.{published}{variables}",
        source.name(),
        count(source.cells().len(), "cell"),
        time.sum::<f64>() / 1e9,
    )
}

/// Why a reader should doubt: missing and failed cells, broken flows, and what the run itself says.
pub(super) fn warnings(source: &Source) -> Vec<String> {
    let mut warnings = Vec::new();
    if source.document["status"] == "interrupted" {
        warnings.push("The run was interrupted: cells are missing.".to_owned());
    }
    for cell in source.cells() {
        let label = match text(&cell["label"]) {
            "" => source.name(),
            label => label,
        };
        if let Some(error) = cell["error"].as_str() {
            warnings.push(format!("{label}: the cell failed: {error}."));
        }
        let own = each(&cell["warnings"]).map(|warning| format!("{label}: {}", text(warning)));
        warnings.extend(own);
        let flows = each(&cell["summary"]["flows"]);
        for (flow, why) in flows.filter_map(|flow| Some((flow, flow["broken"].as_str()?))) {
            warnings.push(format!(
                "{label}: the flow {} broke off: {why}.",
                text(&flow["id"])
            ));
        }
    }
    if let Err(reason) = &source.scenario {
        warnings.push(format!("Topology and schedule are missing: {reason}."));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn verdict_counts_what_holds() {
        let document = json!({
            "assertions": [{ "mark": "holds" }, { "mark": "fails" }, { "mark": "holds" }],
            "published": [{ "mark": "holds" }, { "mark": null }],
        });
        assert_eq!(
            verdict(&document),
            "2 of 3 assertions hold; 1 of 1 published table agree."
        );
        assert_eq!(verdict(&json!({})), "The scenario asserts nothing.");
    }
}
