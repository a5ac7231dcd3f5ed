//! Finds requirement IDs in source text.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex_lite::Regex;

use crate::syntax;
use crate::tree::File;

/// The IDs that a file cites.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Citations {
    pub(super) code: BTreeSet<String>,
    pub(super) tests: BTreeSet<String>,
}

pub(super) fn of_file(file: &File) -> Citations {
    let mut citations = Citations::default();
    if file.is_test() {
        citations.tests.extend(ids(&file.text).map(|(_, id)| id));
        return citations;
    }
    let tests = file.syntax().map(syntax::test_ranges);
    let tests = tests.unwrap_or_default();
    for (at, id) in ids(&file.text) {
        let is_test = tests.iter().any(|range| range.contains(&at));
        let set = if is_test {
            &mut citations.tests
        } else {
            &mut citations.code
        };
        set.insert(id);
    }
    citations
}

/// Every ID that `text` cites, with its place.
pub(crate) fn cited_ids(text: &str) -> Vec<(usize, String)> {
    ids(text).collect()
}

static FIRST: LazyLock<Regex> = LazyLock::new(|| {
    let rfcs = "4340|4341|4342|4828|5238|5348|5595|5596|5597|5622|5634|5762|6323|6335|6773|8083|8084|8311|9897|ratelimited";
    let pattern =
        format!(r"\b(?:(?:{rfcs})-(?:[0-9]+(?:\.[0-9]+)*|[AL])-|LINUX-C?|AMB-)([0-9]+)\b");
    Regex::new(&pattern).expect("a valid pattern")
});

/// A continuation: `, -2` and `…-5`, also where a comment goes on in the next line.
static NEXT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^(?:\s*(?:,|/|and|,\s+and)(?:\s|//[/!]?|\*)*-|\s*(…|–|\.\.|to)\s*-)([0-9]+)\b";
    Regex::new(pattern).expect("a valid pattern")
});

fn ids(text: &str) -> impl Iterator<Item = (usize, String)> {
    FIRST.captures_iter(text).flat_map(move |first| {
        let (whole, number) = (first.get(0), first.get(1));
        let (whole, number) = (whole.expect("group 0"), number.expect("group 1"));
        let stem = &text[whole.start()..number.start()];
        let mut last: u32 = number.as_str().parse().unwrap_or(0);
        let mut numbers = vec![last];
        let mut end = whole.end();
        while let Some(next) = NEXT.captures(&text[end..]) {
            let n: u32 = next[2].parse().unwrap_or(0);
            let is_range = next.get(1).is_some() && n < last + 100;
            numbers.extend(if is_range { last + 1..n + 1 } else { n..n + 1 });
            last = n;
            end += next[0].len();
        }
        let at = whole.start();
        numbers.into_iter().map(move |n| (at, format!("{stem}{n}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        ids(text).map(|(_, id)| id).collect()
    }

    #[test]
    fn single_ids_are_found() {
        assert_eq!(found("// 4340-7.5.4-3: why"), ["4340-7.5.4-3"]);
        assert_eq!(
            found("(5348-4.2-1; 4340-A-1, 6773-L-1)"),
            ["5348-4.2-1", "4340-A-1", "6773-L-1"]
        );
        assert_eq!(found("4341-6.1.2-2."), ["4341-6.1.2-2"]);
        assert_eq!(
            found("LINUX-12 and LINUX-C4, AMB-3"),
            ["LINUX-12", "LINUX-C4", "AMB-3"]
        );
    }

    #[test]
    fn lists_and_ranges_are_expanded() {
        assert_eq!(found("4340-7.5.4-1, -2"), ["4340-7.5.4-1", "4340-7.5.4-2"]);
        assert_eq!(
            found("4340-7.5.4-1…-3, -7"),
            [
                "4340-7.5.4-1",
                "4340-7.5.4-2",
                "4340-7.5.4-3",
                "4340-7.5.4-7"
            ]
        );
        assert_eq!(found("4340-6.4-1 and -2"), ["4340-6.4-1", "4340-6.4-2"]);
        assert_eq!(
            found("4340-6.4-1,\n    /// -2"),
            ["4340-6.4-1", "4340-6.4-2"]
        );
    }

    #[test]
    fn what_only_resembles_an_id_is_left() {
        assert!(found("RFC 4340-bis, 2026-11-2, 14340-7.5-1 x4340").is_empty());
        assert_eq!(found("4340-7.5-1 - 2 = x"), ["4340-7.5-1"]);
    }

    #[test]
    fn tests_in_a_file_are_told_from_its_code() {
        let text = "// 4340-5.1-1\nfn a() {}\n#[cfg(test)]\nmod tests {\n// 4340-5.1-2 }\n}\n// 4340-5.1-3\n";
        let file = |path: &str| File::new(path, text);
        let set = |ids: &[&str]| {
            ids.iter()
                .map(|id| (*id).to_owned())
                .collect::<BTreeSet<_>>()
        };
        let cited = of_file(&file("crates/a/src/lib.rs"));
        assert_eq!(cited.code, set(&["4340-5.1-1", "4340-5.1-3"]));
        assert_eq!(cited.tests, set(&["4340-5.1-2"]));
        let cited = of_file(&file("crates/a/src/lib/tests.rs"));
        assert!(cited.code.is_empty());
        assert_eq!(cited.tests.len(), 3);
    }
}
