//! Just enough of Rust's grammar to tell code from comments and literals, and tests from the rest.

use std::ops::Range;

/// A copy of `text`, byte for byte, in which spaces stand for comments and for the contents of
/// string and character literals. Line ends stay.
pub(crate) fn code(text: &str) -> String {
    blank(text, true)
}

/// The same with comments left in.
pub(crate) fn code_and_comments(text: &str) -> String {
    blank(text, false)
}

/// The parts of `text` below `#[cfg(test)]`: modules, functions, uses.
pub(crate) fn test_ranges(text: &str) -> Vec<Range<usize>> {
    let code = code(text);
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for marker in ["#[cfg(test)]", "#[cfg(all(test"] {
        for (start, _) in code.match_indices(marker) {
            ranges.push(start..start + marker.len() + item_length(&code[start + marker.len()..]));
        }
    }
    ranges
}

/// How far the item at the start of `code` goes: to its closing brace, or to its semicolon.
fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && byte == b'}' {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

fn blank(text: &str, comments_too: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, hide) = match token(rest, first) {
            Token::Code(length) => (length, false),
            Token::Comment(length) => (length, comments_too),
            Token::Literal(length) => (length, true),
        };
        let (now, later) = rest.split_at(length);
        if hide {
            out.extend(now.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
        } else {
            out.push_str(now);
        }
        rest = later;
    }
    out
}

/// What stands at the start of a text, and how many bytes it takes.
enum Token {
    Code(usize),
    Comment(usize),
    Literal(usize),
}

fn token(rest: &str, first: char) -> Token {
    match first {
        '/' if rest.starts_with("//") => Token::Comment(rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => Token::Comment(block_comment(rest)),
        '"' => Token::Literal(quoted(rest, '"')),
        'r' | 'b' | 'c' => prefixed(rest),
        '\'' => character(rest),
        _ if is_word(first) => Token::Code(word(rest)),
        _ => Token::Code(first.len_utf8()),
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(rest: &str) -> usize {
    rest.find(|c| !is_word(c)).unwrap_or(rest.len())
}

/// `/* … */`, which may hold others.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// A literal that ends with an unescaped `quote`, which it also starts with.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if !escaped && c == quote {
            return at + 1;
        }
        escaped = !escaped && c == '\\';
    }
    rest.len()
}

/// What starts with one of the letters of `b"…"`, `c"…"`, `r#"…"#`, `br"…"`: a literal or a word.
fn prefixed(rest: &str) -> Token {
    let length = word(rest);
    let prefix = &rest[..length];
    let after = &rest[length..];
    match prefix {
        "b" | "c" if after.starts_with('"') => Token::Literal(length + quoted(after, '"')),
        "b" if after.starts_with('\'') => Token::Literal(length + quoted(after, '\'')),
        "r" | "br" | "cr" => {
            let hashes = after.len() - after.trim_start_matches('#').len();
            if !after[hashes..].starts_with('"') {
                return Token::Code(length);
            }
            let end = format!("\"{}", "#".repeat(hashes));
            let body = &after[hashes + 1..];
            let found = body.find(&end).map_or(body.len(), |at| at + end.len());
            Token::Literal(length + hashes + 1 + found)
        }
        _ => Token::Code(length),
    }
}

/// `'x'`, or the quote of a lifetime.
fn character(rest: &str) -> Token {
    let mut chars = rest.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => Token::Literal(quoted(rest, '\'')),
        _ => Token::Code(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked() {
        let text = "a(\"x\\\"}\"); // y }\nb('{', 'c'); /* { /* } */ */ d";
        let expected = "a(      );       \nb(   ,    );                 d";
        assert_eq!(code(text), expected);
    }

    #[test]
    fn raw_strings_and_lifetimes_are_told_apart() {
        let text = "fn f<'a>(s: &'a str) { r#\"{ \"quoted\" \"#; br\"{\"; b'{'; car }";
        let blanked = code(text);
        assert_eq!(blanked.len(), text.len());
        assert!(blanked.starts_with("fn f<'a>(s: &'a str) { "));
        assert_eq!(blanked.matches('{').count(), 1);
        assert!(blanked.ends_with("car }"));
    }

    #[test]
    fn comments_can_stay() {
        let text = "f(\"secret\"); // note";
        assert_eq!(code_and_comments(text), "f(        ); // note");
    }

    #[test]
    fn test_modules_end_at_their_brace() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn t() { let b = '}'; } }\nfn c() {}\n";
        let ranges = test_ranges(text);
        assert_eq!(ranges.len(), 1);
        let inside = &text[ranges[0].clone()];
        assert!(inside.ends_with("let b = '}'; } }"), "{inside}");
    }

    #[test]
    fn a_test_module_elsewhere_ends_at_its_semicolon() {
        let text = "#[cfg(test)]\nmod tests;\nfn a() { 4340; }\n";
        assert_eq!(
            &text[test_ranges(text)[0].clone()],
            "#[cfg(test)]\nmod tests;"
        );
    }
}
