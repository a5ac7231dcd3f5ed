//! Prints what `spec-report` found.

use std::collections::BTreeSet;
use std::fmt;

use super::{Evidence, Requirement};

/// How many of a set of requirements are obeyed, shown, or knowingly broken.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    total: usize,
    implemented: usize,
    tested: usize,
    excepted: usize,
    /// Neither cited by code nor excepted.
    uncovered: usize,
}

/// The SHOULDs in scope that code neither follows nor an exception explains.
pub(super) fn unexplained_shoulds(evidence: &Evidence) -> Vec<&Requirement> {
    let all = evidence.requirements.iter();
    let is_explained = |r: &Requirement| {
        evidence.implemented.contains(&r.id) || evidence.exceptions.contains_key(&r.id)
    };
    all.filter(|r| r.is_in_scope() && r.is_should() && !is_explained(r))
        .collect()
}

impl Totals {
    pub(super) fn of_musts(evidence: &Evidence) -> Self {
        let all = evidence.requirements.iter();
        let musts = all.filter(|r| r.is_in_scope() && r.is_must());
        Self::of(evidence, musts)
    }

    fn of<'a>(evidence: &Evidence, set: impl Iterator<Item = &'a Requirement>) -> Self {
        let mut totals = Self::default();
        for Requirement { id, .. } in set {
            let implemented = evidence.implemented.contains(id);
            let excepted = evidence.exceptions.contains_key(id);
            totals.total += 1;
            totals.implemented += usize::from(implemented);
            totals.tested += usize::from(evidence.tested.contains(id));
            totals.excepted += usize::from(excepted);
            totals.uncovered += usize::from(!implemented && !excepted);
        }
        totals
    }

    /// Every rule is obeyed or excepted, and 95 % are shown by a test.
    pub(super) fn is_enough(&self) -> bool {
        self.uncovered == 0 && self.tested * 100 >= self.total * 95
    }

    fn columns(&self) -> String {
        format!(
            "{:>5} {:>12} {:>7} {:>9}",
            self.total, self.implemented, self.tested, self.excepted
        )
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            total,
            implemented,
            tested,
            excepted,
            ..
        } = self;
        write!(
            f,
            "MUST {total}, implemented {implemented}, tested {tested}, excepted {excepted}"
        )
    }
}

/// A line for each section, then one for each level.
pub(super) fn print_table(evidence: &Evidence) {
    let in_scope = || evidence.requirements.iter().filter(|r| r.is_in_scope());
    let heading = |name: &str| {
        println!(
            "{name:<64} {:>5} {:>12} {:>7} {:>9}",
            "IDs", "implemented", "tested", "excepted"
        );
    };
    heading("Section");
    let mut last = "";
    for Requirement { section, .. } in in_scope() {
        if section != last {
            last = section;
            let totals = Totals::of(evidence, in_scope().filter(|r| r.section == *section));
            println!("{:<64} {}", clip(section), totals.columns());
        }
    }
    println!();
    heading("Level");
    let levels: BTreeSet<_> = in_scope().map(|r| &r.level).collect();
    for level in levels {
        let totals = Totals::of(evidence, in_scope().filter(|r| r.level == *level));
        println!("{level:<64} {}", totals.columns());
    }
}

pub(super) fn print_exceptions(evidence: &Evidence) {
    println!("\nExceptions, with their reasons:");
    for (id, reason) in &evidence.exceptions {
        println!("  {id}: {}", reason.trim());
    }
}

/// The rules that lack code, then those that lack a test.
pub(super) fn print_missing(evidence: &Evidence) {
    let kinds = [("code", &evidence.implemented), ("test", &evidence.tested)];
    for (kind, cited) in kinds {
        println!("\nMUST without {kind}:");
        let musts = evidence
            .requirements
            .iter()
            .filter(|r| r.is_in_scope() && r.is_must());
        for r in musts.filter(|r| !cited.contains(&r.id)) {
            let excepted = if evidence.exceptions.contains_key(&r.id) {
                " (excepted)"
            } else {
                ""
            };
            println!("  {}{excepted} {}", r.id, r.text);
        }
    }
}

/// The SHOULDs that need code or an exception.
pub(super) fn print_unexplained(evidence: &Evidence) {
    println!("\nSHOULD without code and without an exception:");
    for r in unexplained_shoulds(evidence) {
        println!("  {} {}", r.id, r.text);
    }
}

/// The other RFCs' rules, and which of them are obeyed all the same.
pub(super) fn print_out_of_scope(evidence: &Evidence) {
    println!("\nOf RFCs outside the totals (c: in code, t: in a test):");
    for r in evidence.requirements.iter().filter(|r| !r.is_in_scope()) {
        let code = if evidence.implemented.contains(&r.id) {
            'c'
        } else {
            '-'
        };
        let test = if evidence.tested.contains(&r.id) {
            't'
        } else {
            '-'
        };
        println!("  {code}{test} {} [{}] {}", r.id, r.level, r.text);
    }
}

fn clip(heading: &str) -> String {
    if heading.chars().count() <= 64 {
        return heading.to_owned();
    }
    heading.chars().take(63).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parse_requirements;
    use super::*;

    fn evidence(implemented: &[&str], tested: &[&str], excepted: &[&str]) -> Evidence {
        let text = "## 1\n- **4340-1-1** [MUST] a\n- **4340-1-2** [MUST NOT] b\n- **4340-1-3** [MAY] c\n- **9897-1-1** [MUST] d\n";
        let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        Evidence {
            requirements: parse_requirements(text),
            implemented: set(implemented),
            tested: set(tested),
            exceptions: excepted
                .iter()
                .map(|id| ((*id).to_owned(), String::new()))
                .collect(),
        }
    }

    #[test]
    fn the_last_line_counts_the_musts_in_scope() {
        let evidence = evidence(
            &["4340-1-1", "4340-1-3", "9897-1-1"],
            &["4340-1-1"],
            &["4340-1-2"],
        );
        let totals = Totals::of_musts(&evidence);
        assert_eq!(
            totals.to_string(),
            "MUST 2, implemented 1, tested 1, excepted 1"
        );
    }

    #[test]
    fn a_should_needs_code_or_an_exception() {
        let mut evidence = evidence(&[], &[], &[]);
        evidence.requirements = parse_requirements(
            "## 1\n- **4340-1-1** [SHOULD] a\n- **4340-1-2** [SHOULD NOT] b\n- **9897-1-1** [SHOULD] c\n",
        );
        let ids = |e: &Evidence| {
            let shoulds = unexplained_shoulds(e).into_iter();
            shoulds.map(|r| r.id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(ids(&evidence), ["4340-1-1", "4340-1-2"]);
        evidence.implemented.insert("4340-1-1".to_owned());
        evidence
            .exceptions
            .insert("4340-1-2".to_owned(), String::new());
        assert!(ids(&evidence).is_empty());
    }

    #[test]
    fn a_must_needs_code_or_an_exception_and_most_need_a_test() {
        let both = ["4340-1-1", "4340-1-2"];
        let enough =
            |code, tests, except| Totals::of_musts(&evidence(code, tests, except)).is_enough();
        assert!(enough(&both, &both, &[]));
        assert!(enough(&both[..1], &both, &both[1..]));
        assert!(!enough(&both[..1], &both, &[]));
        assert!(!enough(&both, &both[..1], &[]));
    }
}
