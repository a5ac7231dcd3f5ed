//! The page around the sections.

use crate::Section;
use crate::escape::Escaped;
use core::fmt;

/// A report.
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    subtitle: String,
    /// Headings and contents.
    sections: Vec<(String, String)>,
}

impl Page {
    /// An empty page.
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            subtitle: String::new(),
            sections: Vec::new(),
        }
    }

    /// Sets the line below the title, such as the date and the versions.
    #[must_use]
    pub fn subtitle(mut self, text: &str) -> Self {
        text.clone_into(&mut self.subtitle);
        self
    }

    /// Adds a section, which `fill` fills.
    #[must_use]
    pub fn section(mut self, heading: &str, fill: impl FnOnce(&mut Section)) -> Self {
        let mut section = Section::new();
        fill(&mut section);
        self.sections
            .push((heading.to_owned(), section.into_html()));
        self
    }
}

/// Nothing is loaded, nothing runs: styles are in the page, pictures too.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

const STYLE: &str = include_str!("style.css");

/// The whole file.
impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = Escaped(&self.title);
        f.write_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n")?;
        writeln!(
            f,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>"
        )?;
        f.write_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n")?;
        f.write_str("<meta name=\"color-scheme\" content=\"light dark\"/>\n")?;
        writeln!(f, "<title>{title}</title>\n<style>\n{STYLE}")?;
        writeln!(
            f,
            "@media screen and (prefers-color-scheme: dark) {{\n{}}}\n</style>\n</head>",
            dccp_plot::dark_style()
        )?;
        writeln!(f, "<body>\n<header>\n<h1>{title}</h1>")?;
        if !self.subtitle.is_empty() {
            writeln!(f, "<p>{}</p>", Escaped(&self.subtitle))?;
        }
        f.write_str("<nav>\n")?;
        for (n, (heading, _)) in (1..).zip(&self.sections) {
            writeln!(f, "<a href=\"#s{n}\">{}</a>", Escaped(heading))?;
        }
        f.write_str("</nav>\n</header>\n<main>\n")?;
        for (n, (heading, html)) in (1..).zip(&self.sections) {
            writeln!(f, "<section id=\"s{n}\">\n<h2>{}</h2>", Escaped(heading))?;
            writeln!(f, "{html}</section>")?;
        }
        f.write_str("</main>\n</body>\n</html>\n")
    }
}
