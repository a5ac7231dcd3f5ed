//! How to repeat the run.

use super::super::read::{each, text};
use super::Source;
use dccp_report::{Section, Table};

/// The line below the title.
pub(super) fn line(source: &Source) -> String {
    let record = &source.document["record"];
    format!(
        "{} {} · backend {} · seed {} · program {}",
        text(&record["program"]),
        text(&record["version"]),
        text(&record["backend"]),
        record["seed"],
        text(&record["program_hash"]).get(..12).unwrap_or_default()
    )
}

pub(super) fn fill(section: &mut Section, source: &Source) {
    let record = &source.document["record"];
    let words: Vec<String> = each(&record["argv"])
        .map(|word| quoted(text(word)))
        .collect();
    section
        .text("This command repeats the run:")
        .code(&words.join(" "));
    let mut table = Table::words("Versions and hashes", &["what", "value"]);
    table
        .row(["result", &source.file])
        .row(["schema", text(&source.document["schema"])])
        .row(["status", text(&source.document["status"])])
        .row(["version", text(&record["version"])])
        .row(["backend", text(&record["backend"])])
        .row(["seed", &record["seed"].to_string()])
        .row(["hash of the program", text(&record["program_hash"])])
        .row(["hash of the scenario", text(&record["scenario_hash"])]);
    section.table(&table);
    match record["scenario"].as_str() {
        Some(scenario) => section.heading("Scenario").code(scenario),
        None => section.absent("The result is of a version that did not keep the scenario."),
    };
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        let words = ["law=fast", "a b", "it's", "reno*16", ""].map(quoted);
        assert_eq!(
            words,
            ["law=fast", "'a b'", "'it'\\''s'", "'reno*16'", "''"]
        );
    }
}
