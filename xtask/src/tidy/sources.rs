//! Rules about source files.

use regex_lite::Regex;

use super::{Finding, pattern};
use crate::source;
use crate::tree::{File, has_extension};

/// Above this, a file has a seam that somebody should look for.
const LONG: usize = 400;
const TOO_LONG: usize = 600;

/// The only places that may be unsafe.
const UNSAFE_ALLOWED: [&str; 5] = [
    "crates/dccp-ring/src/mem.rs",
    "crates/dccp-io/src/sys",
    "crates/dccp-proto/src/wire/checksum/simd.rs",
    "crates/dccp-capi/",
    "crates/dccp-py/",
];

/// Files stay short enough to be read at once; tests do not count.
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
    if !file.is_rust() {
        return all;
    }
    let tests = source::test_ranges(&file.text);
    let of_tests = tests
        .iter()
        .map(|range| file.text[range.clone()].lines().count());
    all - of_tests.sum::<usize>()
}

/// Nothing is half done, and no test is switched off.
pub(super) fn unfinished(files: &[File]) -> Vec<Finding> {
    let wanted = pattern(r"\b(?:todo|unimplemented)!|\bFIXME\b|\bXXX\b|\bHACK\b|#\[ignore\b");
    search(
        files,
        &wanted,
        source::code_and_comments,
        "unfinished or switched off",
    )
}

/// Unsafe code stands where the style guide says, so that it can be reviewed as a whole.
pub(super) fn unsafe_code(files: &[File]) -> Vec<Finding> {
    let wanted = pattern(r"\bunsafe\b");
    let mut findings = search(
        files,
        &wanted,
        source::code,
        "unsafe code outside its places",
    );
    findings.retain(|finding| {
        !UNSAFE_ALLOWED
            .iter()
            .any(|place| finding.place.starts_with(place))
    });
    findings
}

/// One module of a program reads the clock; everything else is told the time.
pub(super) fn clocks(files: &[File]) -> Vec<Finding> {
    let wanted = pattern(r"\b(?:Instant|SystemTime)::now\b");
    let code_without_tests = |text: &str| {
        let mut code = source::code(text);
        for range in source::test_ranges(text) {
            let spaces = " ".repeat(range.len());
            code.replace_range(range, &spaces);
        }
        code
    };
    let mut findings = search(files, &wanted, code_without_tests, "the clock is read here");
    findings.retain(|finding| {
        let path = finding.place.split(':').next().unwrap_or_default();
        let is_test = files.iter().any(|file| file.path == path && file.is_test());
        !is_test && !path.ends_with("/clock.rs")
    });
    findings
}

/// Finds a pattern in what `view` leaves of each Rust file.
fn search(
    files: &[File],
    wanted: &Regex,
    view: impl Fn(&str) -> String,
    text: &str,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for found in wanted.find_iter(&view(&file.text)) {
            findings.push(Finding::at(
                file,
                found.start(),
                format!("{text}: {}", found.as_str()),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(rule: super::super::Rule, path: &str, text: &str) -> Vec<String> {
        let (path, text) = (path.to_owned(), text.to_owned());
        let findings = rule(&[File { path, text }]);
        findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn only_lines_outside_tests_count() {
        let body = "fn f() {}\n".repeat(TOO_LONG);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{body}}}\n");
        let findings = |text: String| {
            length(&[File {
                path: "crates/a/src/b.rs".into(),
                text,
            }])
        };
        assert!(
            findings(format!("{body}{tests}"))
                .iter()
                .all(|finding| finding.is_hint)
        );
        assert!(
            findings(format!("{body}fn g() {{}}\n{tests}"))
                .iter()
                .any(|finding| !finding.is_hint)
        );
    }

    #[test]
    fn unfinished_code_is_found_and_strings_are_not() {
        let text = "fn f() {\n    todo!() // FIXME\n}\nconst A: &str = \"todo! XXX\";\n";
        assert_eq!(places(unfinished, "a.rs", text), ["a.rs:2", "a.rs:2"]);
    }

    #[test]
    fn unsafe_code_has_its_places() {
        let text = "// unsafe\nunsafe { f() }\n#![deny(unsafe_code)]\n";
        assert_eq!(
            places(unsafe_code, "crates/dccp/src/a.rs", text),
            ["crates/dccp/src/a.rs:2"]
        );
        assert!(places(unsafe_code, "crates/dccp-io/src/sys/a.rs", text).is_empty());
    }

    #[test]
    fn the_clock_is_read_in_clock_modules_and_tests_only() {
        let text =
            "fn f() { Instant::now(); }\n#[cfg(test)]\nmod tests { fn t() { Instant::now(); } }\n";
        assert_eq!(
            places(clocks, "crates/a/src/b.rs", text),
            ["crates/a/src/b.rs:1"]
        );
        assert!(places(clocks, "crates/a/src/clock.rs", text).is_empty());
        assert!(places(clocks, "crates/a/tests/b.rs", text).is_empty());
    }
}
