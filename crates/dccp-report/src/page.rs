//! The page around the sections.

use crate::escape::Escaped;
use crate::script;
use crate::{Link, Section};
use core::fmt;
use dccp_plot::{dark_style, palette_style};

/// A report.
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    subtitle: String,
    home: Option<Link>,
    /// Headings and contents.
    sections: Vec<(String, String)>,
    has_charts: bool,
}

impl Page {
    /// An empty page.
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            subtitle: String::new(),
            home: None,
            sections: Vec::new(),
            has_charts: false,
        }
    }

    /// Sets the line below the title, such as the date and the versions.
    #[must_use]
    pub fn subtitle(mut self, text: &str) -> Self {
        text.clone_into(&mut self.subtitle);
        self
    }

    /// Sets a link before those to the sections, to the page that leads to this one.
    #[must_use]
    pub fn home(mut self, link: Link) -> Self {
        self.home = Some(link);
        self
    }

    /// Adds a section, which `fill` fills.
    #[must_use]
    pub fn section(mut self, heading: &str, fill: impl FnOnce(&mut Section)) -> Self {
        let mut section = Section::new();
        fill(&mut section);
        self.has_charts |= section.has_charts();
        self.sections
            .push((heading.to_owned(), section.into_html()));
        self
    }

    fn style(&self) -> String {
        let charts = if self.has_charts { script::STYLE } else { "" };
        format!(
            "\n{charts}{STYLE}{}@media screen and (prefers-color-scheme: dark) {{\n{}{}}}\n",
            palette_style(false),
            palette_style(true),
            dark_style()
        )
    }
}

/// Nothing is loaded, and nothing runs but the page's own script, if it has one.
fn policy(style: &str, has_charts: bool) -> String {
    let style = script::hash(style);
    if has_charts {
        let script = script::hash(script::SCRIPT);
        format!("default-src 'none'; style-src {style}; script-src {script}; img-src data:")
    } else {
        format!("default-src 'none'; style-src {style}; img-src data:")
    }
}

const STYLE: &str = include_str!("style.css");

/// The whole file.
impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = Escaped(&self.title);
        let style = self.style();
        let policy = policy(&style, self.has_charts);
        f.write_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n")?;
        writeln!(
            f,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\"/>"
        )?;
        f.write_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n")?;
        f.write_str("<meta name=\"color-scheme\" content=\"light dark\"/>\n")?;
        writeln!(f, "<title>{title}</title>\n<style>{style}</style>\n</head>")?;
        f.write_str("<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n")?;
        writeln!(f, "<header>\n<h1>{title}</h1>")?;
        if !self.subtitle.is_empty() {
            writeln!(f, "<p>{}</p>", Escaped(&self.subtitle))?;
        }
        f.write_str("<nav aria-label=\"Sections\">\n")?;
        if let Some(home) = &self.home {
            writeln!(f, "{home}")?;
        }
        for (n, (heading, _)) in (1..).zip(&self.sections) {
            writeln!(f, "<a href=\"#s{n}\">{}</a>", Escaped(heading))?;
        }
        f.write_str("</nav>\n</header>\n<main id=\"main\">\n")?;
        for (n, (heading, html)) in (1..).zip(&self.sections) {
            writeln!(f, "<section id=\"s{n}\" aria-labelledby=\"h{n}\">")?;
            writeln!(f, "<h2 id=\"h{n}\">{}</h2>", Escaped(heading))?;
            writeln!(f, "{html}</section>")?;
        }
        f.write_str("</main>\n")?;
        if self.has_charts {
            writeln!(f, "<footer><p>{}</p></footer>", script::CREDIT)?;
            writeln!(f, "<script>{}</script>", script::SCRIPT)?;
        }
        f.write_str("</body>\n</html>\n")
    }
}
