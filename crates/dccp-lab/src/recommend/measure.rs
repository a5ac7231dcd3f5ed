//! The numbers of each stack on a path, draw by draw.

use super::Path;
use crate::judge::evaluate;
use crate::scenario::Scale;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The results of an experiment.
#[derive(Clone, PartialEq, Debug)]
pub struct Results {
    /// Its size.
    pub scale: Scale,
    /// Its cells, as results have them. Their series are not needed.
    pub cells: Vec<Value>,
}

/// A number that ranks stacks.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Criterion {
    /// Goodput, in bits per second. More is better.
    Goodput,
    /// Deviation of the goodput by its mean. Less is better.
    Stability,
    /// Added delay, in seconds. Less is better.
    Delay,
    /// Fairness or another share. More is better.
    Share,
}

impl Criterion {
    /// All, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Goodput, Self::Stability, Self::Delay, Self::Share];

    /// Its place in [`Criterion::ALL`].
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// An expression of a path.
type Expression = fn(&Path) -> Option<&str>;

/// The expressions of criteria.
pub(super) const EXPRESSIONS: [(Criterion, Expression); 4] = [
    (Criterion::Goodput, |path| Some(&path.goodput)),
    (Criterion::Stability, |path| path.stability.as_deref()),
    (Criterion::Delay, |path| path.delay.as_deref()),
    (Criterion::Share, |path| path.share.as_deref()),
];

/// The numbers of a stack in one draw.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Values {
    /// In the order of [`Criterion::ALL`].
    pub(super) criteria: [Option<f64>; 4],
    /// The stack's own part of the goodput.
    pub(super) own: Option<f64>,
}

/// A stack with its numbers in all draws.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Stack {
    pub(super) name: String,
    /// As many as the path has, in the order of repetitions.
    pub(super) draws: Vec<Values>,
}

/// The stacks of a path, in the order of the cells.
pub(super) fn stacks(path: &Path, cells: &[Value]) -> Result<Vec<Stack>, String> {
    let is_about_path = |cell: &&Value| {
        let mut place = path.place.iter();
        cell["error"].is_null() && place.all(|(name, value)| cell["variables"][name] == **value)
    };
    let mut repetitions: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for cell in cells.iter().filter(is_about_path) {
        let repeat = cell["repeat"].as_u64().unwrap_or(0);
        repetitions.entry(repeat).or_default().push(cell);
    }
    let first = repetitions.values().flatten().next();
    let first = first.ok_or("no cell of these results is about this path")?;
    let variables = first["variables"].as_object().into_iter().flatten();
    let axes = variables.map(|(name, _)| name.clone());
    let axes: Vec<String> = axes.filter(|name| !path.place.contains_key(name)).collect();
    let mut stacks: Vec<Stack> = Vec::new();
    for (n, cells) in repetitions.values().enumerate() {
        let mut note = |text: &str, set: &dyn Fn(&mut Values, f64)| -> Result<(), String> {
            for (labels, value) in evaluate(text, cells, &axes, &path.stacks)? {
                let name = labels.join(" × ");
                let known = stacks.iter().position(|stack| stack.name == name);
                let index = known.unwrap_or(stacks.len());
                if known.is_none() {
                    let draws = Vec::new();
                    stacks.push(Stack { name, draws });
                }
                let draws = &mut stacks[index].draws;
                draws.resize(repetitions.len(), Values::default());
                if value.is_finite() {
                    set(&mut draws[n], value);
                }
            }
            Ok(())
        };
        for (k, (_, expression)) in EXPRESSIONS.iter().enumerate() {
            if let Some(text) = expression(path) {
                note(text, &|values, value| values.criteria[k] = Some(value))?;
            }
        }
        if let Some(text) = &path.own {
            note(text, &|values, value| values.own = Some(value))?;
        }
    }
    Ok(stacks)
}

#[cfg(test)]
mod tests {
    use super::super::paths;
    use super::*;
    use crate::papers::EXPERIMENTS;
    use crate::scenario::plan::Run;
    use serde_json::json;

    /// A cell with a value for all that paths need.
    fn cell(run: &Run) -> Value {
        let flows = run.flows.iter().map(|flow| {
            json!({ "id": flow.id, "throughput_bps": 1e6, "share_bps": 1e6, "stability": 0.1,
                "datagrams": { "important_delivered_fraction": 0.9, "age_important_ns": { "p95": 1e6 } } })
        });
        json!({ "variables": run.cell.iter().cloned().collect::<BTreeMap<_, _>>(), "repeat": run.repeat, "error": null,
            "summary": { "flows": flows.collect::<Vec<_>>(), "asymmetry": 0.5, "rtt_increase_ns": 1e6,
                "rtt_ping_ns": { "avg": 7e7 } } })
    }

    #[test]
    fn each_path_has_numbers_of_each_stack() {
        for paths in paths().chunk_by(|a, b| a.experiment == b.experiment) {
            let mut experiments = EXPERIMENTS.iter();
            let experiment = experiments.find(|e| e.name == paths[0].experiment);
            let scenario = experiment.expect("an experiment").scenario(Scale::Full);
            let runs = scenario.expect("a scenario").runs;
            let cells: Vec<Value> = runs.iter().filter(|run| run.repeat < 2).map(cell).collect();
            for path in paths {
                has_numbers(path, &cells);
            }
        }
    }

    fn has_numbers(path: &Path, cells: &[Value]) {
        let stacks = stacks(path, cells).unwrap_or_else(|e| panic!("{}: {e}", path.name));
        assert!(stacks.len() > 1, "{}", path.name);
        for stack in &stacks {
            assert_eq!(stack.draws.len(), 2, "{}", path.name);
            for ((_, expression), value) in EXPRESSIONS.iter().zip(stack.draws[1].criteria) {
                let is_measured = expression(path).is_some();
                assert_eq!(
                    value.is_some(),
                    is_measured,
                    "{}: {}",
                    path.name,
                    stack.name
                );
            }
            let has_own = stack.draws[0].own.is_some();
            assert_eq!(has_own, path.own.is_some(), "{}", path.name);
        }
    }

    #[test]
    fn stack_without_a_value_in_a_draw_has_none() {
        let paths = paths();
        let path = paths.iter().find(|path| path.experiment == "e20-highspeed");
        let cell = |law: &str, repeat: u64, bps: Value| {
            json!({ "variables": { "law": law }, "repeat": repeat, "error": null,
                "summary": { "flows": [{ "id": "load", "throughput_bps": bps }] } })
        };
        let cells = [
            cell("reno", 3, json!(1e6)),
            cell("reno", 4, json!(null)),
            cell("highspeed", 4, json!(2e6)),
        ];
        let stacks = stacks(path.expect("a path"), &cells).expect("stacks");
        let goodput = |stack: &Stack| -> Vec<Option<f64>> {
            stack
                .draws
                .iter()
                .map(|values| values.criteria[0])
                .collect()
        };
        assert_eq!(goodput(&stacks[0]), [Some(1e6), None]);
        assert_eq!(goodput(&stacks[1]), [None, Some(2e6)]);
    }
}
