//! The papers' claims and their marks.

use crate::judge::verdict::{AssertionVerdict, Mark};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A claim of a paper, paraphrased.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// `C01` and so on.
    pub id: String,
    /// The claim.
    pub says: String,
    /// The paper and the place in it.
    pub source: String,
    /// Why no run can decide it.
    pub untestable: Option<String>,
    /// The finding of our runs about a claim that fails or needs an artefact.
    pub finding: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<Claim>,
}

/// Where a claim stands.
#[derive(Serialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum ClaimMark {
    /// All assertions without an artefact hold.
    Holds,
    /// Only those with an artefact hold.
    Artefact,
    /// Some do not hold.
    Fails,
    /// No run can decide it.
    Untestable,
    /// Its runs are missing.
    Open,
}

/// A claim and where it stands.
#[derive(Serialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct ClaimVerdict {
    /// `C01` and so on.
    pub id: String,
    /// The claim.
    pub says: String,
    /// The paper and the place in it.
    pub source: String,
    /// Where it stands.
    pub mark: ClaimMark,
    /// The artefact that it needs.
    pub artefact: Option<String>,
    /// The least share of repetitions that agree with an assertion about it.
    #[schemars(range(min = 0, max = 1))]
    pub share: Option<f64>,
    /// The experiments that test it.
    pub experiments: Vec<String>,
    /// Why it is not testable, or what our runs show.
    pub remark: Option<String>,
    /// The assertions about it that do not hold, in words.
    pub failing: Vec<String>,
}

/// All claims, in the order of their numbers.
///
/// # Panics
/// The stored file has a mistake, which a test excludes.
pub fn claims() -> Vec<Claim> {
    let text = include_str!("../../../../scenarios/papers/claims.toml");
    let file: File = toml::from_str(text).expect("the stored claims");
    file.claim
}

/// The marks of claims after some experiments: their names, and the verdicts of their assertions.
pub fn judge(claims: &[Claim], results: &[(&str, Vec<AssertionVerdict>)]) -> Vec<ClaimVerdict> {
    claims
        .iter()
        .map(|claim| judge_one(claim, results))
        .collect()
}

fn judge_one(claim: &Claim, results: &[(&str, Vec<AssertionVerdict>)]) -> ClaimVerdict {
    let about = results.iter().flat_map(|(experiment, verdicts)| {
        let verdicts = verdicts.iter();
        let own = verdicts.filter(|v| v.claim.as_deref() == Some(&claim.id));
        own.map(move |verdict| (*experiment, verdict))
    });
    let about: Vec<(&str, &AssertionVerdict)> = about.collect();
    let (plain, historic): (Vec<&AssertionVerdict>, Vec<&AssertionVerdict>) = (about.iter())
        .map(|(_, verdict)| *verdict)
        .partition(|verdict| verdict.artefact.is_none());
    let mark = match (&claim.untestable, all(&plain), all(&historic)) {
        (Some(_), ..) => ClaimMark::Untestable,
        (None, Mark::Holds, _) => ClaimMark::Holds,
        (None, _, Mark::Holds) => ClaimMark::Artefact,
        (None, Mark::Fails, _) | (None, _, Mark::Fails) => ClaimMark::Fails,
        (None, Mark::Unknown, Mark::Unknown) => ClaimMark::Open,
    };
    let deciding = match mark {
        ClaimMark::Artefact => &historic,
        _ => &plain,
    };
    let mut experiments: Vec<String> = about.iter().map(|(name, _)| (*name).to_owned()).collect();
    experiments.dedup();
    let failing = deciding.iter().filter(|v| v.mark == Mark::Fails);
    let needs_remark = !matches!(mark, ClaimMark::Holds | ClaimMark::Open);
    ClaimVerdict {
        id: claim.id.clone(),
        says: claim.says.clone(),
        source: claim.source.clone(),
        mark,
        artefact: historic
            .first()
            .and_then(|v| v.artefact.clone())
            .filter(|_| mark == ClaimMark::Artefact),
        share: deciding.iter().filter_map(|v| v.share).reduce(f64::min),
        experiments,
        remark: (claim.untestable.clone().or(claim.finding.clone())).filter(|_| needs_remark),
        failing: failing.map(|v| v.says.clone()).collect(),
    }
}

/// The mark of several assertions together.
fn all(verdicts: &[&AssertionVerdict]) -> Mark {
    let has = |mark| verdicts.iter().any(|verdict| verdict.mark == mark);
    if has(Mark::Fails) {
        Mark::Fails
    } else if verdicts.is_empty() || has(Mark::Unknown) {
        Mark::Unknown
    } else {
        Mark::Holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Expectation;

    fn verdict(mark: Mark, share: f64, artefact: Option<&str>) -> AssertionVerdict {
        AssertionVerdict {
            claim: Some("C01".into()),
            kind: Expectation::Order,
            says: format!("{mark:?}"),
            that: String::new(),
            artefact: artefact.map(str::to_owned),
            mark,
            share: Some(share),
            repetitions: 5,
            holds_for_means: Some(mark == Mark::Holds),
            groups: Vec::new(),
            problem: None,
        }
    }

    fn mark_of(verdicts: Vec<AssertionVerdict>) -> (ClaimMark, Option<f64>, usize) {
        let claim = Claim {
            id: "C01".into(),
            says: "it works".into(),
            source: "a paper".into(),
            untestable: None,
            finding: Some("why".into()),
        };
        let judged = judge(&[claim], &[("e01", verdicts)]).remove(0);
        (judged.mark, judged.share, judged.failing.len())
    }

    #[test]
    fn claim_holds_if_all_its_assertions_hold() {
        let (holds, fails) = (
            |s| verdict(Mark::Holds, s, None),
            |s| verdict(Mark::Fails, s, None),
        );
        assert_eq!(
            mark_of(vec![holds(1.0), holds(0.9)]),
            (ClaimMark::Holds, Some(0.9), 0)
        );
        assert_eq!(
            mark_of(vec![holds(1.0), fails(0.4)]),
            (ClaimMark::Fails, Some(0.4), 1)
        );
        assert_eq!(mark_of(Vec::new()), (ClaimMark::Open, None, 0));
        let unknown = verdict(Mark::Unknown, 1.0, None);
        assert_eq!(mark_of(vec![holds(1.0), unknown]).0, ClaimMark::Open);
    }

    #[test]
    fn claim_that_needs_an_artefact_says_so() {
        let with = verdict(Mark::Holds, 0.95, Some("txqueuelen"));
        let without = verdict(Mark::Fails, 0.1, None);
        assert_eq!(
            mark_of(vec![with.clone(), without]),
            (ClaimMark::Artefact, Some(0.95), 0)
        );
        let both_fail = vec![
            verdict(Mark::Fails, 0.0, Some("txqueuelen")),
            verdict(Mark::Fails, 0.0, None),
        ];
        assert_eq!(mark_of(both_fail).0, ClaimMark::Fails);
    }

    #[test]
    fn stored_claims_are_numbered_in_order() {
        let ids: Vec<String> = claims().into_iter().map(|claim| claim.id).collect();
        let expected: Vec<String> = (1..=ids.len()).map(|n| format!("C{n:02}")).collect();
        assert_eq!(ids, expected);
    }
}
