//! Finds English that a reader has to decode, in comments and Markdown.
//!
//! The rules are patterns, so they miss things and accuse things. What is accused and right is listed in
//! `xtask/tidy.toml` with its reason.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::tree::{File, has_extension};

/// Most words of a sentence.
const WORDS_MAX: usize = 32;

/// A finding: where, against which rule, and the text around it.
pub(super) struct Prose {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) rule: &'static str,
    pub(super) text: String,
}

/// A rule of one pattern.
struct Rule {
    name: &'static str,
    pattern: Regex,
    /// Whether a match counts, from what follows it: `regex-lite` cannot look ahead.
    counts: fn(&str) -> bool,
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let rule = |name, pattern: &str, counts: fn(&str) -> bool| Rule {
        name,
        pattern: super::pattern(pattern),
        counts,
    };
    let always = |_: &str| true;
    vec![
        rule(
            "headless-clause",
            r"^(?:Who|What|Whose|Whom|Whoever)\b",
            |rest| {
                !rest
                    .trim_start_matches(|c| !".?!".contains(c))
                    .starts_with('?')
            },
        ),
        rule(
            "count-pronoun",
            r"(?i)\bso (?:many|much|long|often|few)\b",
            |rest| !["as", "that"].iter().any(|word| follows(rest, word)),
        ),
        rule(
            "nobody-somebody",
            r"(?i)\b(?:nobody|somebody|whoever|whom|nobody's|everybody)\b",
            always,
        ),
        rule(
            "of-which",
            r"(?i)\b(?:of which|of whom|that of which|by which|from which|in which)\b",
            always,
        ),
        rule(
            "archaic",
            r"(?i)\b(?:anew|hither|whither|thereof|therein|reckon(?:s|ed|ing)?|forth|alike in|betimes|hearken|lest|ere)\b",
            always,
        ),
        rule(
            "personified",
            r"(?i)\b(?:hears? of|is told|are told|told that|knows nothing|looks? at the clock|lies? down|stands? up|falls? asleep|is asleep|wants? nothing|appointments?)\b",
            always,
        ),
        rule(
            "for-because",
            r"(?i)[,;:] for (?:it|they|he|she|the|its|their|this|these|that|there|no|not|a|an|only|we|you) ",
            always,
        ),
        rule(
            "anecdote",
            r"(?i)\b(?:it was|they were|had been|once had) [0-9]|\bbad quarter of an hour\b|\bsome day\b",
            always,
        ),
        rule(
            "dangling",
            r"(?i)\b(?:design [0-9]+[a-d]?|design, decision|congestion-control §|question [0-9]+ of the reference|style: )",
            always,
        ),
    ]
});

static CODE: LazyLock<Regex> = LazyLock::new(|| super::pattern("`[^`]*`"));
static LINK: LazyLock<Regex> = LazyLock::new(|| super::pattern(r"\[([^\]]*)\]\([^)]*\)"));
/// A clause without a subject inside a sentence.
static INNER_CLAUSE: LazyLock<Regex> =
    LazyLock::new(|| super::pattern(r"[.;:] (?:Who|What|Whoever) "));
static WORD: LazyLock<Regex> = LazyLock::new(|| super::pattern("[A-Za-z]{2,}"));

/// All findings in comments and in Markdown, by file and line.
pub(super) fn findings(files: &[File]) -> Vec<Prose> {
    let mut all = Vec::new();
    for file in files.iter().filter(|file| is_checked(&file.path)) {
        for (line, block) in blocks(file) {
            for (rule, text) in of_block(&block) {
                let path = file.path.clone();
                all.push(Prose {
                    path,
                    line,
                    rule,
                    text,
                });
            }
        }
    }
    all
}

fn is_checked(path: &str) -> bool {
    let extensions = ["rs", "md", "sh", "toml", "tcl", "c", "cc", "py"];
    let is_text = extensions.iter().any(|ext| has_extension(path, ext));
    let is_left_out = ["corpus/", "captures/"]
        .iter()
        .any(|part| path.contains(part));
    // The requirements follow the RFCs' sentences.
    is_text && !is_left_out && !path.ends_with("requirements.md")
}

/// The findings of a comment or a paragraph: rule and text.
fn of_block(block: &str) -> Vec<(&'static str, String)> {
    let text = CODE.replace_all(block, "X");
    let text = LINK.replace_all(&text, "$1");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for rule in RULES.iter() {
        let matches = rule.pattern.find_iter(&text);
        let matches = matches.filter(|found| (rule.counts)(&text[found.end()..]));
        found.extend(matches.map(|place| (rule.name, around(&text, place.start(), place.end()))));
    }
    inner_clauses(&text, &mut found);
    for sentence in sentences(&text) {
        let words = WORD.find_iter(sentence).count();
        if words > WORDS_MAX {
            let begin: String = sentence.chars().take(70).collect();
            found.push(("long-sentence", format!("{words} words: {begin}")));
        }
    }
    found
}

/// Clauses such as `; What remains is sent.`, but no questions.
fn inner_clauses(text: &str, found: &mut Vec<(&'static str, String)>) {
    const VERBS: [&str; 7] = ["is ", "are ", "does ", "do ", "did ", "happens ", "if "];
    let mut from = 0;
    while let Some(clause) = INNER_CLAUSE.find_at(text, from) {
        let rest = &text[clause.end()..];
        let end = rest.find(['.', '?']).unwrap_or(rest.len());
        let is_question =
            rest[end..].starts_with('?') || VERBS.iter().any(|verb| rest.starts_with(verb));
        if is_question || !rest.starts_with(|c: char| c.is_ascii_lowercase()) {
            from = clause.start() + 1;
            continue;
        }
        let end = (clause.end() + end + 1).min(text.len());
        found.push(("headless-clause", around(text, clause.start() + 2, end)));
        // The full stop may be in front of the next clause.
        from = end - 1;
    }
}

/// Whether `text` continues with a blank and this word.
fn follows(text: &str, word: &str) -> bool {
    let Some(rest) = text
        .strip_prefix(' ')
        .and_then(|text| text.get(..word.len()))
    else {
        return false;
    };
    let after = text[1 + word.len()..].chars().next();
    rest.eq_ignore_ascii_case(word) && !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let ends = rest.match_indices(' ').map(|(at, _)| at);
        let end = ends
            .filter(|&at| rest[..at].ends_with(['.', ';', '?', '!']))
            .min();
        let (sentence, after) = end.map_or((rest, ""), |end| (&rest[..end], &rest[end + 1..]));
        rest = after;
        Some(sentence)
    })
}

/// The text from 20 characters before a place to 60 after it.
fn around(text: &str, start: usize, end: usize) -> String {
    let before = text[..start]
        .char_indices()
        .rev()
        .nth(19)
        .map_or(0, |(at, _)| at);
    let after = text[end..]
        .char_indices()
        .nth(60)
        .map_or(text.len(), |(at, _)| end + at);
    text[before..after].to_owned()
}

/// The comments of a source file, or the paragraphs and list items of a Markdown file, each with its first line.
fn blocks(file: &File) -> Vec<(usize, String)> {
    let is_markdown = has_extension(&file.path, "md");
    let mut blocks = Vec::new();
    let (mut start, mut parts) = (0, Vec::new());
    let mut is_fenced = false;
    for (number, line) in (1..).zip(file.text.split('\n').chain([""])) {
        let line = line.trim();
        let (text, begins_item) = if is_markdown {
            markdown_line(line, &mut is_fenced)
        } else {
            comment_line(line, &mut is_fenced)
        };
        if (text.is_none() || begins_item) && !parts.is_empty() {
            blocks.push((start, parts.join(" ")));
            parts.clear();
        }
        if let Some(text) = text {
            if parts.is_empty() {
                start = number;
            }
            parts.push(text);
        } else if line.is_empty() && !is_markdown {
            is_fenced = false;
        }
    }
    blocks
}

/// The text of a line of Markdown, and whether it begins a list item.
fn markdown_line<'a>(line: &'a str, is_fenced: &mut bool) -> (Option<&'a str>, bool) {
    if line.starts_with("```") {
        *is_fenced = !*is_fenced;
        return (None, false);
    }
    let is_other = ["|", "#", "<", "!["]
        .iter()
        .any(|start| line.starts_with(start));
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = digits.len() < line.len() && digits.starts_with(". ");
    let begins_item = line.starts_with("- ") || line.starts_with("* ") || is_numbered;
    let text = line.trim_start_matches(|c: char| c.is_ascii_digit() || "-*.".contains(c));
    let text = if text.len() < line.len() && text.starts_with(' ') {
        &text[1..]
    } else {
        line
    };
    let is_text = !line.is_empty() && !*is_fenced && !is_other;
    (is_text.then_some(text), begins_item)
}

/// The text of a line that is a comment, and whether it begins a list item.
fn comment_line<'a>(line: &'a str, is_fenced: &mut bool) -> (Option<&'a str>, bool) {
    let text = ["///", "//!", "//", "#"].iter().find_map(|mark| {
        let rest = line.strip_prefix(mark)?;
        if rest.is_empty() {
            return Some("");
        }
        rest.strip_prefix(' ')
    });
    let Some(text) = text else {
        return (None, false);
    };
    if text.contains("```") {
        *is_fenced = !*is_fenced;
        return (None, false);
    }
    let is_text = !text.is_empty() && !*is_fenced;
    (is_text.then_some(text), is_text && text.starts_with("- "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<&'static str> {
        let found = of_block(text).into_iter();
        found.map(|(rule, _)| rule).collect()
    }

    #[test]
    fn clause_without_a_subject_is_found() {
        for text in [
            "What became of it.",
            "A name: Who waits for room.",
            "Stop. What remains is sent.",
        ] {
            assert_eq!(rules(text), ["headless-clause"], "{text}");
        }
        for text in [
            "What is it?",
            "The fate of it.",
            "Done. What is left?",
            "Why: What if it fails.",
        ] {
            assert!(rules(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn pronoun_in_place_of_a_number_is_found() {
        assert_eq!(rules("Waits so long."), ["count-pronoun"]);
        assert!(rules("It is so long that it wraps. Use so much as fits.").is_empty());
    }

    #[test]
    fn each_list_of_words_is_searched() {
        for (text, rule) in [
            ("Then nobody reads it.", "nobody-somebody"),
            ("Two rings, of which one is full.", "of-which"),
            ("It begins anew.", "archaic"),
            ("The ring lies down.", "personified"),
            ("Drop it, for it is late.", "for-because"),
            ("It was 51 ns before.", "anecdote"),
            ("See design 8b.", "dangling"),
        ] {
            assert_eq!(rules(text), [rule], "{text}");
        }
    }

    #[test]
    fn long_sentence_is_found_and_code_counts_as_one_word() {
        let words = |n: usize| vec!["word"; n].join(" ");
        assert!(rules(&words(WORDS_MAX)).is_empty());
        assert_eq!(rules(&words(WORDS_MAX + 1)), ["long-sentence"]);
        assert!(rules(&format!("`{}`", words(99))).is_empty());
        assert!(rules(&format!("{}. {}.", words(20), words(20))).is_empty());
    }

    #[test]
    fn blocks_are_comments_paragraphs_and_items() {
        let rust = File::new(
            "a.rs",
            "/// One\n/// two.\nfn f() {\n    // Three.\n    //\n    // - four\n    // - five\n    // ```\n    // What code.\n    // ```\n}\n",
        );
        let expected = [(1, "One two."), (4, "Three."), (6, "- four"), (7, "- five")];
        let expected = expected.map(|(line, text)| (line, text.to_owned()));
        assert_eq!(blocks(&rust), expected);
        let markdown = File::new(
            "a.md",
            "# Title\nOne\ntwo.\n\n- three\n- four\n\n| a |\n```\ncode\n```\n",
        );
        let expected = [(2, "One two."), (5, "three"), (6, "four")];
        let expected = expected.map(|(line, text)| (line, text.to_owned()));
        assert_eq!(blocks(&markdown), expected);
    }
}
