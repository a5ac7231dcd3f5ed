//! The experiments that redo the source papers, and the papers' claims. All files are part of the program.

mod claims;
mod scales;

pub use claims::{Claim, ClaimMark, ClaimVerdict, claims, judge};
pub use scales::Scales;

use crate::scenario::{Scale, Scenario, ScenarioError};

/// An experiment: a scenario file of `scenarios/papers`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Experiment {
    /// The file's name without its ending, such as `e01-throughput`.
    pub name: &'static str,
    /// The file's text.
    pub text: &'static str,
}

macro_rules! experiments {
    ($($name:literal)*) => {
        /// All experiments, in the order of their numbers.
        pub const EXPERIMENTS: &[Experiment] = &[$(Experiment {
            name: $name,
            text: include_str!(concat!("../../../../scenarios/papers/", $name, ".toml")),
        }),*];
    };
}

experiments! {
    "e01-throughput"
    "e02-long-path"
    "e05-sinusoidal-udp"
    "e06-fairness-within"
    "e07-pairs-ufl"
    "e09-pairs-caltech"
    "e10-reverse-traffic"
    "e11-txqueuelen"
    "e12-published-capacity"
    "e13-abilene"
    "e14-packet-ring"
    "e15-ring-rate"
    "e16-line-rate"
    "e17-ccid3-start"
    "e18-distance"
    "e19-cpu-against-rtt"
    "e20-highspeed"
    "e21-window"
    "e22-checksum"
    "e24-receive-memory"
    "e25-no-data-arrives"
    "f01-pairs-170ms"
    "f02-westwood"
    "f03-round-trips"
    "f04-10gbit"
    "f05-streams"
    "f06-rate-based"
    "f06-tfrc"
    "f07-model"
    "f08-response"
    "f09-ccid3"
    "f13-bit-errors"
    "f13-coverage"
    "f14-sendv"
    "f15-slow-receiver"
    "f16-one-way"
    "f17-one-law-two-transports"
    "f18-ack-vector"
    "f19-late-choice"
    "f20-today"
    "f21-scavengers"
    "f22-large-packets"
}

impl Experiment {
    /// The scenario.
    ///
    /// # Errors
    /// The file has mistakes, which a test excludes.
    pub fn scenario(&self, scale: Scale) -> Result<Scenario, Vec<ScenarioError>> {
        Scenario::parse(
            self.text,
            &format!("scenarios/papers/{}.toml", self.name),
            scale,
        )
    }

    /// Its subject: the first sentence of the file's comment.
    pub fn title(&self) -> String {
        let comment = self.text.lines().map_while(|line| line.strip_prefix('#'));
        let comment: Vec<&str> = comment.map(str::trim).collect();
        let comment = comment.join(" ");
        let end = comment.find(". ").or_else(|| comment.rfind('.'));
        comment[..end.unwrap_or(comment.len())].to_owned()
    }

    /// True if it is called `name`: the whole name, or its number such as `e01`.
    pub fn is_called(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.name == name || number(self.name) == name
    }
}

/// The number of an experiment: `e01` of `e01-throughput`.
pub fn number(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_scenario_of_the_papers_is_an_experiment() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/papers");
        let entries = fs::read_dir(folder).expect("the folder");
        let names =
            entries.filter_map(|entry| entry.expect("an entry").file_name().into_string().ok());
        let stored: BTreeSet<String> = names
            .filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned()))
            .filter(|name| name != "claims" && name != "paths")
            .collect();
        let known: BTreeSet<String> = EXPERIMENTS.iter().map(|e| e.name.to_owned()).collect();
        assert_eq!(known, stored);
    }

    #[test]
    fn title_is_a_sentence() {
        let title = |name| {
            let experiment = EXPERIMENTS.iter().find(|e| e.is_called(name));
            experiment.expect(name).title()
        };
        assert_eq!(
            title("e02"),
            "E02: the path of 170 ms that the talk announces"
        );
        assert!(title("e14").ends_with("with a packet ring and late choice"));
        assert!(
            EXPERIMENTS
                .iter()
                .all(|e| (20..250).contains(&e.title().len()))
        );
    }

    #[test]
    fn experiments_are_valid_at_both_scales_and_test_known_claims() {
        let claims = claims();
        let known: BTreeSet<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
        for experiment in EXPERIMENTS {
            for scale in [Scale::Full, Scale::Quick] {
                let scenario = experiment
                    .scenario(scale)
                    .unwrap_or_else(|errors| panic!("{errors:?}"));
                assert_eq!(scenario.name, experiment.name);
                assert!(
                    !scenario.expected.assertions.is_empty(),
                    "{}",
                    experiment.name
                );
                for claim in scenario
                    .expected
                    .assertions
                    .iter()
                    .filter_map(|a| a.claim.as_deref())
                {
                    assert!(known.contains(claim), "{}: {claim}", experiment.name);
                }
            }
        }
    }
}
