//! Texts as parts of a page. Peers choose some of them, so none is trusted.

use core::fmt;

/// A text as the content of an element or as a value in double quotes.
///
/// Control characters, and those that reverse the direction of text, become U+FFFD: XML forbids the first, and
/// the second could make a page show something else than the text says.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                character => f.write_char(printable(character))?,
            }
        }
        Ok(())
    }
}

/// A picture, which escaped its texts itself but can contain characters that a page must not.
pub(crate) struct Picture<'a>(pub(crate) &'a str);

impl fmt::Display for Picture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        self.0
            .chars()
            .try_for_each(|character| f.write_char(printable(character)))
    }
}

fn printable(character: char) -> char {
    let is_forbidden = match character {
        '\n' | '\t' => false,
        '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fffe}'
        | '\u{ffff}' => true,
        character => character.is_control(),
    };
    if is_forbidden { '\u{fffd}' } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        let text = Escaped("<script>alert('a' & \"b\")</script>").to_string();
        assert_eq!(
            text,
            "&lt;script&gt;alert(&#39;a&#39; &amp; &quot;b&quot;)&lt;/script&gt;"
        );
    }

    #[test]
    fn characters_that_deceive_or_break_a_page_are_replaced() {
        let text = Escaped("a\0b\u{1b}[2Jc\u{85}d\u{202e}e\u{2066}f\u{ffff}\tg\nhé").to_string();
        assert_eq!(
            text,
            "a\u{fffd}b\u{fffd}[2Jc\u{fffd}d\u{fffd}e\u{fffd}f\u{fffd}\tg\nhé"
        );
        assert_eq!(Picture("<g>\u{1}</g>").to_string(), "<g>\u{fffd}</g>");
    }
}
