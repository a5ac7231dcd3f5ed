//! Rules about source files.

use regex_lite::Regex;

use super::{Finding, pattern};
use crate::syntax;
use crate::tree::{File, has_extension};

/// Above this number of lines, a file probably has a seam.
const LONG: usize = 400;
const TOO_LONG: usize = 600;

/// The only places that may be unsafe.
const UNSAFE_ALLOWED: [&str; 7] = [
    "crates/dccp-ring/src/mem.rs",
    "crates/dccprun-queue/src/table.rs",
    "crates/dccp-io/src/sys",
    "crates/dccp-proto/src/wire/checksum/simd.rs",
    "crates/dccp-capi/",
    "crates/dccp-preload/",
    "crates/dccp-py/",
];

/// Files stay short enough to read at once. Tests do not count.
pub(super) fn length(files: &[File]) -> Vec<Finding> {
    let is_source = |path: &str| {
        ["rs", "py", "c", "sh"]
            .iter()
            .any(|ext| has_extension(path, ext))
    };
    let mut findings = Vec::new();
    for file in files
        .iter()
        .filter(|file| is_source(&file.path) && !file.is_test())
    {
        let lines = lines_of_code(file);
        if lines > LONG {
            let mut finding = Finding::new(&file.path, format!("{lines} lines without tests"));
            finding.is_hint = lines <= TOO_LONG;
            findings.push(finding);
        }
    }
    findings
}

fn lines_of_code(file: &File) -> usize {
    let all = file.text.lines().count();
    let tests = file.syntax().map(syntax::test_ranges).unwrap_or_default();
    let of_tests = tests
        .iter()
        .map(|range| file.text[range.clone()].lines().count());
    all - of_tests.sum::<usize>()
}

/// Every Rust file parses, so that the other rules see it.
pub(super) fn syntax(files: &[File]) -> Vec<Finding> {
    let rust = files.iter().filter(|file| file.is_rust());
    rust.filter(|file| file.syntax().is_none())
        .map(|file| Finding::new(&file.path, "is not valid Rust"))
        .collect()
}

/// Nothing is marked as unfinished, and no test is switched off. (Clippy rejects `todo!`.)
pub(super) fn unfinished(files: &[File]) -> Vec<Finding> {
    // In parts, so that this file does not contain the words.
    let words = concat!(
        r"\bFIX",
        r"ME\b|\bX",
        r"XX\b|\bHA",
        r"CK\b|#\[ig",
        r"nore\b"
    );
    search(files, &pattern(words), "unfinished or switched off")
}

/// The lint against unsafe code is lifted only in its places, so that unsafe code can be reviewed as a whole.
pub(super) fn unsafe_code(files: &[File]) -> Vec<Finding> {
    let lifted = pattern(r"\b(?:allow|expect|warn)\([^)]*\bunsafe_code\b");
    let mut findings = search(files, &lifted, "unsafe code outside its places");
    findings.retain(|finding| {
        !UNSAFE_ALLOWED
            .iter()
            .any(|place| finding.place.starts_with(place))
    });
    findings
}

/// Finds a pattern in Rust files.
fn search(files: &[File], wanted: &Regex, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for found in wanted.find_iter(&file.text) {
            let text = format!("{text}: {}", found.as_str());
            findings.push(Finding::at(file, found.start(), text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(rule: super::super::Rule, path: &str, text: &str) -> Vec<String> {
        let findings = rule(&[File::new(path, text)]);
        findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn long_file_is_found_without_its_tests() {
        let body = "fn f() {}\n".repeat(TOO_LONG);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{body}}}\n");
        let findings = |text: String| length(&[File::new("crates/a/src/b.rs", text)]);
        let at_most = findings(format!("{body}{tests}"));
        assert!(at_most.iter().all(|finding| finding.is_hint));
        let too_long = findings(format!("{body}fn g() {{}}\n{tests}"));
        assert!(too_long.iter().any(|finding| !finding.is_hint));
    }

    #[test]
    fn unfinished_code_is_found() {
        let text = concat!(
            "fn f() {\n    g() // FIX",
            "ME\n}\n#[ig",
            "nore]\nfn t() {}\n"
        );
        assert_eq!(places(unfinished, "a.rs", text), ["a.rs:2", "a.rs:4"]);
        assert!(places(unfinished, "a.rs", "fn f() {}\n").is_empty());
    }

    #[test]
    fn unsafe_code_is_found_outside_its_places() {
        let text = concat!(
            "#![exp",
            "ect(\n    unsafe_code,\n    reason = \"x\"\n)]\n#![deny(unsafe_code)]\n"
        );
        let elsewhere = places(unsafe_code, "crates/dccp/src/a.rs", text);
        assert_eq!(elsewhere, ["crates/dccp/src/a.rs:1"]);
        assert!(places(unsafe_code, "crates/dccp-io/src/sys/a.rs", text).is_empty());
    }

    #[test]
    fn file_that_does_not_parse_is_found() {
        assert_eq!(places(syntax, "a.rs", "fn f( {}"), ["a.rs"]);
        assert!(places(syntax, "a.rs", "fn f() {}").is_empty());
    }
}
