//! Which stack for which path? An answer from the results of our own experiments.
//!
//! ```text
//! paths.toml ─ paths ─→ Path;  results ─ measure ─→ values of each stack in each draw ─ rank ─→ Ranking ─ words ─→ sentences
//! ```
//! `scenarios/papers/paths.toml` names the experiment and the cells of each path. The rules are in `rank.rs`,
//! and [`RULES`] has them in words.

mod measure;
mod paths;
mod rank;
mod words;

pub use measure::{Criterion, Results};
pub use paths::{Path, paths};
pub use rank::{Ranked, Ranking};
pub use words::{RULES, bare, draws, heading, shown};

use crate::papers::{Scales, number};
use crate::scenario::Scale;
use serde::Serialize;

/// The rankings of all paths that the results are about, and the paths without results.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct Advice {
    /// `full`, `quick` or `mixed`.
    pub scale: &'static str,
    /// How stacks are ranked and recommended.
    pub rules: &'static [&'static str],
    /// The paths with results.
    pub paths: Vec<PathAdvice>,
    /// The experiments whose results are missing.
    pub missing: Vec<Missing>,
}

/// The ranking of one path.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct PathAdvice {
    /// The path.
    #[serde(flatten)]
    pub path: Path,
    /// The size of its experiment.
    pub scale: Scale,
    /// The stacks in the order of their ranks.
    #[serde(flatten)]
    pub ranking: Ranking,
    /// The stacks that are recommended, each as good as the others. Empty: none is clearly the best.
    pub recommended: Vec<String>,
    /// True if too few draws were run for more than a hint.
    pub is_hint: bool,
    /// The recommendation in words.
    pub recommendation: String,
    /// The sentence about tests that are missing.
    pub not_tested: String,
}

/// An experiment without results.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// The experiment.
    pub experiment: String,
    /// The paths that need it.
    pub paths: Vec<String>,
    /// Why its results are not enough, if there are some.
    pub problem: Option<String>,
    /// The command that makes them.
    pub next: String,
}

/// Ranks the stacks of all paths. `load` returns the results of an experiment, if there are some; only one is kept at a
/// time, because large ones fill the memory. `command` is the one that makes missing results, such as
/// `dccplab reproduce`.
///
/// # Errors
/// Those of `load`.
pub fn recommend<E>(
    mut load: impl FnMut(&str) -> Result<Option<Results>, E>,
    command: &str,
) -> Result<Advice, E> {
    let mut advice = Advice {
        scale: "full",
        rules: &RULES,
        paths: Vec::new(),
        missing: Vec::new(),
    };
    let mut scales = Vec::new();
    for paths in paths().chunk_by(|a, b| a.experiment == b.experiment) {
        let experiment = &paths[0].experiment;
        let results = load(experiment)?;
        scales.extend(
            results
                .iter()
                .map(|results| (experiment.clone(), results.scale)),
        );
        for path in paths {
            match results.as_ref().map(|results| advise(path, results)) {
                Some(Ok(one)) => advice.paths.push(one),
                Some(Err(problem)) => advice.note_missing(path, Some(problem), command),
                None => advice.note_missing(path, None, command),
            }
        }
    }
    advice.scale = Scales::of(scales.iter().map(|(name, scale)| (&name[..], *scale))).word();
    Ok(advice)
}

fn advise(path: &Path, result: &Results) -> Result<PathAdvice, String> {
    let stacks = measure::stacks(path, &result.cells)?;
    let ranking = rank::ranking(&stacks);
    Ok(PathAdvice {
        scale: result.scale,
        recommended: (words::recommended(&ranking).into_iter())
            .map(|ranked| ranked.stack.clone())
            .collect(),
        is_hint: words::is_hint(&ranking),
        recommendation: words::recommendation(path, &ranking),
        not_tested: words::not_tested(path, &ranking),
        path: path.clone(),
        ranking,
    })
}

impl Advice {
    fn note_missing(&mut self, path: &Path, problem: Option<String>, command: &str) {
        let mut known = self.missing.iter_mut();
        if let Some(known) = known.find(|missing| missing.experiment == path.experiment) {
            known.paths.push(path.name.clone());
            known.problem = known.problem.take().or(problem);
            return;
        }
        let number = number(&path.experiment);
        self.missing.push(Missing {
            experiment: path.experiment.clone(),
            paths: vec![path.name.clone()],
            problem,
            next: format!("{command} {number}"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A cell of e20: goodput and stability of a law in a draw.
    fn cell(law: &str, repeat: u64, mbps: f64, stability: f64) -> Value {
        json!({ "variables": { "law": law }, "phase": null, "repeat": repeat, "error": null,
            "summary": { "flows": [{ "id": "load", "throughput_bps": mbps * 1e6, "stability": stability }] } })
    }

    /// The advice if there are results of e20 alone.
    fn advice(cells: &[Value]) -> Advice {
        let load = |experiment: &str| -> Result<_, core::convert::Infallible> {
            let results = || Results {
                scale: Scale::Full,
                cells: cells.to_vec(),
            };
            Ok((experiment == "e20-highspeed").then(results))
        };
        let Ok(advice) = recommend(load, "dccplab reproduce");
        advice
    }

    #[test]
    fn path_with_results_has_a_ranking_and_others_are_missing() {
        let of_draw = |n| [cell("reno", n, 60.0, 0.3), cell("highspeed", n, 90.0, 0.1)];
        let advice = advice(&(0..5).flat_map(of_draw).collect::<Vec<_>>());
        assert_eq!(advice.scale, "full");
        let [path] = &advice.paths[..] else {
            panic!("{:?}", advice.paths);
        };
        assert_eq!(path.recommended, ["highspeed"]);
        assert!(!path.is_hint);
        assert!(
            path.recommendation.contains("90.0 Mbit/s"),
            "{}",
            path.recommendation
        );
        assert!(
            path.not_tested.contains("laws other than Reno"),
            "{}",
            path.not_tested
        );
        let e07 = advice
            .missing
            .iter()
            .find(|m| m.experiment == "e07-pairs-ufl");
        assert_eq!(e07.map(|m| &m.next[..]), Some("dccplab reproduce e07"));
        let names = advice.missing.iter().map(|m| &m.experiment[..]);
        assert!(names.clone().all(|name| name != "e20-highspeed"));
        let f20 = advice.missing.iter().find(|m| m.experiment == "f20-today");
        assert_eq!(f20.map(|m| m.paths.len()), Some(3));
    }

    #[test]
    fn experiment_without_the_cells_of_a_path_says_so() {
        let mut failed = cell("reno", 0, 1.0, 0.0);
        failed["error"] = json!("broken");
        let advice = advice(&[failed]);
        assert!(advice.paths.is_empty());
        let e20 = advice
            .missing
            .iter()
            .find(|m| m.experiment == "e20-highspeed");
        let problem = e20.and_then(|m| m.problem.clone()).expect("a problem");
        assert!(problem.contains("no cell"), "{problem}");
    }
}
