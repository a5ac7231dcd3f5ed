//! Reads `specs/requirements.md`.

use regex_lite::Regex;

/// The RFCs and drafts whose rules this project obeys as a whole. The report's totals are theirs.
pub(crate) const SCOPE: [&str; 10] = [
    "4340",
    "4341",
    "4342",
    "4828",
    "5348",
    "5595",
    "5596",
    "5622",
    "6773",
    "ratelimited",
];

/// One numbered rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    /// For example `4340-7.5.4-3`.
    pub(crate) id: String,
    /// The word in brackets: `MUST`, `MUST NOT`, `SHOULD`, `FACT`, …
    pub(crate) level: String,
    /// The heading above it, without its number signs.
    pub(crate) section: String,
    pub(crate) text: String,
}

impl Requirement {
    pub(crate) fn rfc(&self) -> &str {
        self.id.split('-').next().unwrap_or_default()
    }

    pub(crate) fn is_in_scope(&self) -> bool {
        SCOPE.contains(&self.rfc())
    }

    pub(crate) fn is_should(&self) -> bool {
        matches!(self.level.as_str(), "SHOULD" | "SHOULD NOT" | "RECOMMENDED")
    }

    pub(crate) fn is_must(&self) -> bool {
        matches!(self.level.as_str(), "MUST" | "MUST NOT")
    }
}

/// All rules in order, withdrawn ones left out.
pub(crate) fn parse(text: &str) -> Vec<Requirement> {
    let entry = Regex::new(r"^- \*\*([^*]+)\*\* \[([A-Z ]+)\] (.*)$").expect("a valid pattern");
    let mut section = String::new();
    let mut requirements = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.clone_into(&mut section);
        }
        let Some(found) = entry.captures(line) else {
            continue;
        };
        if found[3].starts_with("(withdrawn)") {
            continue;
        }
        requirements.push(Requirement {
            id: found[1].to_owned(),
            level: found[2].to_owned(),
            section: section.clone(),
            text: found[3].to_owned(),
        });
    }
    requirements
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
## 4. Sequence numbers (RFC 4340 §7)
### 4.1 Variables
- **ID** = `<rfc>-<section>-<n>`
- **4340-7.5.4-1** [MUST] Ignore it; a MAY here, a SHOULD there.
- **4340-7.5.4-2** [MUST NOT] (withdrawn)
- **5634-L-1** [LOCAL] Parse only.
## 5. Events
- **4340-A-1** [MUST NOT] Never.
";

    #[test]
    fn the_bracket_is_the_level() {
        let found = parse(TEXT);
        let ids: Vec<_> = found
            .iter()
            .map(|r| (r.id.as_str(), r.level.as_str()))
            .collect();
        let expected = [
            ("4340-7.5.4-1", "MUST"),
            ("5634-L-1", "LOCAL"),
            ("4340-A-1", "MUST NOT"),
        ];
        assert_eq!(ids, expected);
        assert_eq!(found[0].section, "4. Sequence numbers (RFC 4340 §7)");
        assert_eq!(found[2].section, "5. Events");
        assert!(found[0].is_must() && !found[1].is_must() && found[2].is_must());
        assert!(found[0].is_in_scope() && !found[1].is_in_scope());
    }

    #[test]
    fn every_requirement_is_read_and_has_an_id_of_its_own() {
        let text = include_str!("../../../specs/requirements.md");
        let found = parse(text);
        let lines = text.lines().filter(|line| {
            line.starts_with("- **") && line.contains("** [") && !line.contains("(withdrawn)")
        });
        assert_eq!(found.len(), lines.count());
        let mut ids: Vec<_> = found.iter().map(|r| &r.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), found.len(), "an ID is used twice");
    }
}
