//! `cargo xtask goals`: writes `docs/dccpmon-goals.md`, which shows each goal of dccpmon with the tests that show it.
//!
//! A comment `// goal 7: …` in a test, or above it, says that the test shows row 7 of `specs/dccpmon-goals.toml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail};
use regex_lite::Regex;
use serde::Deserialize;

use crate::tree::{self, File};

const GOALS: &str = "specs/dccpmon-goals.toml";
const PAGE: &str = "docs/dccpmon-goals.md";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only compare the page with the tests
    #[arg(long)]
    check: bool,
}

impl Args {
    /// The checks that a submission must pass.
    pub(crate) fn checking() -> Self {
        Self { check: true }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Goals {
    group: Vec<Group>,
}

/// Some rows under a title.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    title: String,
    goal: Vec<Goal>,
}

/// A row of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Goal {
    row: u32,
    feature: String,
    /// A command that shows it, because no test can.
    command: Option<String>,
    /// The part that is missing.
    lacks: Option<String>,
}

/// A test that shows a goal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Test {
    name: String,
    path: String,
}

/// The tests of each row.
type Tests = BTreeMap<u32, Vec<Test>>;

/// Writes the page, or compares it. Returns whether each row is shown and the page is up to date.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let goals: Goals = toml::from_str(&fs::read_to_string(GOALS).context(GOALS)?).context(GOALS)?;
    let tests = tests(&tree::files()?)?;
    let mistakes = mistakes(&goals, &tests);
    for mistake in &mistakes {
        println!("goals: {mistake}");
    }
    let page = page(&goals, &tests);
    if !args.check {
        fs::write(PAGE, page).context(PAGE)?;
    } else if fs::read_to_string(PAGE).unwrap_or_default() != page {
        println!("goals: {PAGE} is not up to date: run `cargo xtask goals`");
        return Ok(false);
    }
    Ok(mistakes.is_empty())
}

/// Finds the tests that name goals.
fn tests(files: &[File]) -> Result<Tests> {
    let comment = Regex::new(r"^\s*// goals? ([0-9, and]+):")?;
    let function = Regex::new(r"^\s*(?:pub )?(?:async )?fn ([a-z0-9_]+)")?;
    let mut tests = Tests::new();
    // The tests of this command have examples of such comments.
    let is_shown_by = |file: &&File| file.is_rust() && !file.path.starts_with("xtask/");
    for file in files.iter().filter(is_shown_by) {
        let lines: Vec<&str> = file.text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(rows) = comment.captures(line) else {
                continue;
            };
            let Some(name) = function_at(&lines, at, &function) else {
                bail!("{}:{}: the goal belongs to no test", file.path, at + 1);
            };
            let test = Test {
                name: name.to_owned(),
                path: file.path.clone(),
            };
            for row in rows[1].split(|c: char| !c.is_ascii_digit()) {
                if let Ok(row) = row.parse() {
                    tests.entry(row).or_default().push(test.clone());
                }
            }
        }
    }
    for tests in tests.values_mut() {
        tests.sort();
        tests.dedup();
    }
    Ok(tests)
}

/// Returns the function that begins behind the comment at a line, or that the comment is in.
fn function_at<'a>(lines: &[&'a str], at: usize, function: &Regex) -> Option<&'a str> {
    let name = |line: &&'a str| {
        let name = function.captures(line)?.get(1)?;
        line.get(name.range())
    };
    let is_between = |line: &&&str| {
        let line = line.trim();
        line.is_empty() || line.starts_with("//") || line.starts_with("#[")
    };
    let after = lines.iter().skip(at + 1);
    let next = after.clone().find(|line| !is_between(line)).and_then(name);
    next.or_else(|| lines.iter().take(at).rev().find_map(name))
}

/// Rows without evidence, and tests that name rows that do not exist.
fn mistakes(goals: &Goals, tests: &Tests) -> Vec<String> {
    let all: Vec<&Goal> = goals.group.iter().flat_map(|group| &group.goal).collect();
    let mut mistakes = Vec::new();
    for goal in &all {
        let is_shown = goal.command.is_some() || tests.contains_key(&goal.row);
        if !is_shown && goal.lacks.is_none() {
            mistakes.push(format!("row {}: no test shows it", goal.row));
        }
    }
    for (row, tests) in tests {
        if !all.iter().any(|goal| goal.row == *row) {
            mistakes.push(format!("{}: there is no row {row}", tests[0].name));
        }
    }
    mistakes
}

fn page(goals: &Goals, tests: &Tests) -> String {
    let none = Vec::new();
    let shown_by = |goal: &Goal| {
        let tests = tests.get(&goal.row).unwrap_or(&none);
        let tests = tests
            .iter()
            .map(|test| format!("[`{}`](../{})", test.name, test.path));
        let command = goal.command.iter().map(|command| format!("`{command}`"));
        tests.chain(command).collect::<Vec<_>>()
    };
    let met = |goal: &Goal| match (&goal.lacks, shown_by(goal).is_empty()) {
        (None, _) => "yes",
        (Some(_), false) => "partly",
        (Some(_), true) => "no",
    };
    let all = goals.group.iter().flat_map(|group| &group.goal);
    let count = |word| all.clone().filter(|goal| met(goal) == word).count();
    let mut page = format!(
        "# Goals of dccpmon\n\nGenerated by `cargo xtask goals` from `{GOALS}` and from the tests, whose comments name the rows \
         that they show.\n\n{} rows are met, {} in part, {} not.\n",
        count("yes"),
        count("partly"),
        count("no")
    );
    for group in &goals.group {
        let _ = write!(
            page,
            "\n## {}\n| row | goal | met | shown by | lacks |\n|---|---|---|---|---|\n",
            group.title
        );
        for goal in &group.goal {
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} |",
                goal.row,
                goal.feature.replace('|', "\\|"),
                met(goal),
                shown_by(goal).join(", "),
                goal.lacks.as_deref().unwrap_or_default()
            );
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: &str = "
// goals 1 and 2: both.
#[test]
fn above() {}

#[test]
fn inside() {
    let x = 1;
    // goal 4: four.
    assert_eq!(x, 1);
}
";

    fn found() -> Tests {
        tests(&[File::new("crates/x/tests/all.rs", TESTS)]).unwrap()
    }

    fn goals(text: &str) -> Goals {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn comments_belong_to_the_test_around_or_below() {
        let names: Vec<_> = found()
            .into_iter()
            .map(|(row, tests)| (row, tests[0].name.clone()))
            .collect();
        let expected = [(1, "above"), (2, "above"), (4, "inside")];
        assert_eq!(names, expected.map(|(row, name)| (row, name.to_owned())));
    }

    #[test]
    fn row_without_evidence_and_unknown_row_are_mistakes() {
        let goals = goals(
            "[[group]]\ntitle = \"T\"\ngoal = [\n{ row = 1, feature = \"a\" },\n{ row = 2, feature = \"b\" },\n\
             { row = 3, feature = \"c\" },\n{ row = 5, feature = \"d\", lacks = \"all\" },\n]\n",
        );
        assert_eq!(
            mistakes(&goals, &found()),
            ["row 3: no test shows it", "inside: there is no row 4"]
        );
    }

    #[test]
    fn page_tells_what_is_met() {
        let goals = goals(
            "[[group]]\ntitle = \"T\"\ngoal = [\n{ row = 1, feature = \"a|b\" },\n{ row = 4, feature = \"c\", lacks = \"half\" },\n\
             { row = 6, feature = \"d\", lacks = \"all\" },\n{ row = 7, feature = \"e\", command = \"run\" },\n]\n",
        );
        let page = page(&goals, &found());
        for line in [
            "2 rows are met, 1 in part, 1 not.",
            "| 1 | a\\|b | yes | [`above`](../crates/x/tests/all.rs) |  |",
            "| 4 | c | partly | [`inside`](../crates/x/tests/all.rs) | half |",
            "| 6 | d | no |  | all |",
            "| 7 | e | yes | `run` |  |",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
    }

    #[test]
    fn rows_of_the_goal_file_are_unique() {
        let goals = goals(include_str!("../../specs/dccpmon-goals.toml"));
        let rows: Vec<u32> = goals
            .group
            .iter()
            .flat_map(|g| &g.goal)
            .map(|g| g.row)
            .collect();
        let mut unique = rows.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(rows, unique);
    }
}
