//! The paths of `scenarios/papers/paths.toml`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A path, and the expressions that give the numbers of each stack on it.
#[derive(Deserialize, Serialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// The path in words.
    pub name: String,
    /// The round trip without load.
    pub round_trip: String,
    /// The window in words.
    pub window: String,
    /// The other traffic in a few words. Paths with the same words form a section of the page.
    pub traffic: String,
    /// The experiment.
    pub experiment: String,
    /// The values of variables that choose its cells.
    #[serde(rename = "where")]
    pub place: BTreeMap<String, String>,
    /// The variables whose values together are a stack.
    pub stacks: Vec<String>,
    /// Goodput, of all flows together if the path is shared.
    pub(crate) goodput: String,
    /// The stack's own part of the goodput.
    pub(crate) own: Option<String>,
    /// The stability of the stack's flow.
    pub(crate) stability: Option<String>,
    /// The delay that the traffic adds.
    pub(crate) delay: Option<String>,
    /// The name of `delay`, if it is not the added delay.
    pub delay_of: Option<String>,
    /// A share that must be high, such as fairness.
    pub(crate) share: Option<String>,
    /// The name of `share`.
    pub share_of: Option<String>,
    /// The tests that are missing, in words.
    pub(crate) untested: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    path: Vec<Path>,
}

/// All paths, in the order of the file.
///
/// # Panics
/// The stored file has a mistake, which a test excludes.
pub fn paths() -> Vec<Path> {
    let text = include_str!("../../../../scenarios/papers/paths.toml");
    let file: File = toml::from_str(text).expect("the stored paths");
    file.path
}

#[cfg(test)]
mod tests {
    use super::super::measure::EXPRESSIONS;
    use super::*;
    use crate::judge::check::{Context, expression};
    use crate::papers::EXPERIMENTS;
    use crate::scenario::Scale;
    use std::collections::BTreeSet;

    #[test]
    fn each_path_is_about_cells_and_values_of_its_experiment() {
        for paths in paths().chunk_by(|a, b| a.experiment == b.experiment) {
            let name = &paths[0].experiment;
            let experiment = EXPERIMENTS.iter().find(|e| e.name == *name);
            let experiment = experiment.unwrap_or_else(|| panic!("{name}"));
            let scenario = experiment.scenario(Scale::Full).expect("a scenario");
            let flows = scenario.runs.iter().flat_map(|run| &run.flows);
            let context = Context {
                axes: scenario.expected.axes.clone(),
                flows: flows.map(|flow| flow.id.clone()).collect(),
                links: Vec::new(),
                hosts: Vec::new(),
            };
            for path in paths {
                is_about(path, &context);
            }
        }
    }

    fn is_about(path: &Path, context: &Context) {
        let axis = |name: &String| context.axes.iter().find(|(axis, _)| axis == name);
        for (name, value) in &path.place {
            let is_value = axis(name).is_some_and(|(_, labels)| labels.contains(value));
            assert!(is_value, "{}: {name} = {value}", path.name);
        }
        for stack in &path.stacks {
            assert!(axis(stack).is_some(), "{}: {stack}", path.name);
        }
        for (criterion, of) in EXPRESSIONS {
            if let Some(text) = of(path) {
                let checked = expression(text, context);
                assert!(checked.is_ok(), "{}: {criterion:?}: {checked:?}", path.name);
            }
        }
        assert_eq!(
            path.share.is_some(),
            path.share_of.is_some(),
            "{}",
            path.name
        );
    }

    #[test]
    fn names_of_paths_are_unique_and_cover_the_kinds_of_traffic() {
        let paths = paths();
        let names: BTreeSet<&str> = paths.iter().map(|path| &path.name[..]).collect();
        assert_eq!(names.len(), paths.len());
        let experiments: BTreeSet<&str> = paths.iter().map(|path| &path.experiment[..]).collect();
        let runs = paths.chunk_by(|a, b| a.experiment == b.experiment).count();
        assert_eq!(
            runs,
            experiments.len(),
            "paths of an experiment follow each other"
        );
        let kinds: BTreeSet<&str> = paths.iter().map(|path| &path.traffic[..]).collect();
        for kind in [
            "quiet",
            "lossy",
            "reverse traffic",
            "beside others",
            "queue management",
        ] {
            assert!(kinds.contains(kind), "no {kind}");
        }
    }
}
