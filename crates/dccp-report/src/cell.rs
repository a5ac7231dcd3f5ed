//! The contents of a table's cells.

use crate::escape::Escaped;
use core::fmt;

/// The content of a cell: a text, lines, links or a mark.
#[derive(Debug, Clone)]
pub struct Cell(Content);

#[derive(Debug, Clone)]
enum Content {
    Text(String),
    Lines(Vec<String>),
    Links(Vec<Link>),
    Mark(Tone, String),
}

/// The meaning of a mark's colour. The text says the same without colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As expected.
    Good,
    /// As expected under a condition.
    Partly,
    /// Not as expected.
    Bad,
    /// Neither.
    Neutral,
}

/// A link to a file in the folder of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The file's name.
    pub file: String,
    /// The text.
    pub text: String,
}

impl Cell {
    /// Several texts below each other.
    pub fn lines<T: Into<String>>(lines: impl IntoIterator<Item = T>) -> Self {
        Self(Content::Lines(lines.into_iter().map(Into::into).collect()))
    }

    /// Several links beside each other.
    pub fn links(links: impl IntoIterator<Item = Link>) -> Self {
        Self(Content::Links(links.into_iter().collect()))
    }

    /// A word that stands out in a colour.
    pub fn mark(tone: Tone, word: &str) -> Self {
        Self(Content::Mark(tone, word.to_owned()))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self(Content::Text(text.to_owned()))
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self(Content::Text(text))
    }
}

impl Tone {
    const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Partly => "partly",
            Self::Bad => "bad",
            Self::Neutral => "neutral",
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Content::Text(text) => write!(f, "{}", Escaped(text)),
            Content::Lines(lines) => {
                for (n, line) in lines.iter().enumerate() {
                    let end = if n == 0 { "" } else { "<br/>" };
                    write!(f, "{end}{}", Escaped(line))?;
                }
                Ok(())
            }
            Content::Links(links) => {
                for (n, link) in links.iter().enumerate() {
                    let space = if n == 0 { "" } else { " " };
                    write!(f, "{space}{link}")?;
                }
                Ok(())
            }
            Content::Mark(tone, word) => {
                let (class, word) = (tone.class(), Escaped(word));
                write!(f, "<span class=\"mark {class}\">{word}</span>")
            }
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The dot and the escapes keep a name from being an address elsewhere.
        f.write_str("<a href=\"./")?;
        for byte in self.file.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
                write!(f, "{}", char::from(byte))?;
            } else {
                write!(f, "%{byte:02X}")?;
            }
        }
        write!(f, "\">{}</a>", Escaped(&self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_leads_to_a_file_of_the_folder_only() {
        let link = |file: &str| {
            let text = "<e01>".to_owned();
            Link {
                file: file.to_owned(),
                text,
            }
            .to_string()
        };
        assert_eq!(
            link("e01-throughput.html"),
            "<a href=\"./e01-throughput.html\">&lt;e01&gt;</a>"
        );
        let elsewhere = link("javascript:alert(1)//é");
        assert!(
            elsewhere.starts_with("<a href=\"./javascript%3Aalert%281%29%2F%2F%C3%A9\">"),
            "{elsewhere}"
        );
    }

    #[test]
    fn cell_is_text_lines_or_a_mark() {
        assert_eq!(Cell::from("a & b").to_string(), "a &amp; b");
        assert_eq!(Cell::lines(["<a>", "b"]).to_string(), "&lt;a&gt;<br/>b");
        assert_eq!(
            Cell::mark(Tone::Bad, "✗ fails").to_string(),
            "<span class=\"mark bad\">✗ fails</span>"
        );
    }
}
