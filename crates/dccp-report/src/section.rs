//! The parts of a section.

use crate::chart::{self, Detail};
use crate::escape::Escaped;
use crate::picture::Named;
use crate::{Table, table};
use core::fmt;
use core::fmt::Write;
use dccp_plot::{Figure, PlotError};

/// A section of a page, whose parts appear in the order of the calls.
#[derive(Debug, Clone)]
pub struct Section {
    html: String,
    has_charts: bool,
}

impl Section {
    pub(crate) fn new() -> Self {
        Self {
            html: String::new(),
            has_charts: false,
        }
    }

    /// Whether the page needs the script that draws charts.
    pub(crate) fn has_charts(&self) -> bool {
        self.has_charts
    }

    pub(crate) fn into_html(self) -> String {
        self.html
    }

    /// Adds a sentence in large letters: what a reader must not miss.
    pub fn lead(&mut self, sentence: &str) -> &mut Self {
        self.push(format_args!(
            "<p class=\"lead\">{}</p>\n",
            Escaped(sentence)
        ))
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.push(format_args!("<p>{}</p>\n", Escaped(text)))
    }

    /// Adds a list with a line for each item.
    pub fn list<T: AsRef<str>>(&mut self, items: impl IntoIterator<Item = T>) -> &mut Self {
        let mut lines = String::new();
        for item in items {
            append(
                &mut lines,
                format_args!("<li>{}</li>\n", Escaped(item.as_ref())),
            );
        }
        // An empty list would only add space.
        if lines.is_empty() {
            return self;
        }
        self.push(format_args!("<ul>\n{lines}</ul>\n"))
    }

    /// Adds text as it is, with its line breaks, such as a command.
    pub fn code(&mut self, text: &str) -> &mut Self {
        self.push(format_args!("<pre>{}</pre>\n", Escaped(text)))
    }

    /// Adds a table.
    pub fn table(&mut self, table: &Table) -> &mut Self {
        self.push(format_args!("{table}"))
    }

    /// Adds a heading below that of the section.
    pub fn heading(&mut self, text: &str) -> &mut Self {
        self.push(format_args!("<h3>{}</h3>\n", Escaped(text)))
    }

    /// Adds parts that a reader can unfold.
    pub fn folded(
        &mut self,
        summary: &str,
        is_open: bool,
        fill: impl FnOnce(&mut Self),
    ) -> &mut Self {
        let mut parts = Self::new();
        fill(&mut parts);
        self.has_charts |= parts.has_charts;
        let open = if is_open { " open=\"\"" } else { "" };
        let summary = Escaped(summary);
        self.push(format_args!(
            "<details class=\"part\"{open}><summary>{summary}</summary>\n{}</details>\n",
            parts.html
        ))
    }

    /// Adds a picture with a line above it and its numbers below, which the reader can unfold.
    ///
    /// `svg` is a picture of `dccp-plot`, which escapes its texts. The reason replaces a picture that could not be drawn.
    pub fn figure(
        &mut self,
        caption: &str,
        svg: &Result<String, PlotError>,
        numbers: &Table,
    ) -> &mut Self {
        self.push(format_args!(
            "<figure>\n<figcaption>{}</figcaption>\n",
            Escaped(caption)
        ));
        self.picture(caption, svg, "wide");
        self.numbers(numbers).push(format_args!("</figure>\n"))
    }

    /// Adds curves over time that the reader can zoom, if scripts run: else their picture. The page keeps as many
    /// points as `detail` says. Its numbers are below, as in [`Section::figure`].
    pub fn chart(
        &mut self,
        caption: &str,
        figure: &Figure,
        detail: Detail,
        numbers: &Table,
    ) -> &mut Self {
        let svg = chart::picture(figure, detail);
        if svg.is_err() {
            return self.figure(caption, &svg, numbers);
        }
        self.has_charts = true;
        self.push(format_args!(
            "<figure class=\"series\">\n<figcaption>{}</figcaption>\n",
            Escaped(caption)
        ));
        self.picture(caption, &svg, "wide still");
        self.push(format_args!(
            "<script type=\"text/plain\" class=\"data\">{}</script>\n",
            chart::numbers(figure, detail)
        ));
        self.numbers(numbers).push(format_args!("</figure>\n"))
    }

    fn picture(&mut self, name: &str, svg: &Result<String, PlotError>, class: &str) -> &mut Self {
        match svg {
            Ok(svg) => self.push(format_args!(
                "{}{}</div>\n",
                table::Scrolled { class, name },
                Named { svg, name }
            )),
            Err(error) => self.absent(&error.to_string()),
        }
    }

    fn numbers(&mut self, numbers: &Table) -> &mut Self {
        self.push(format_args!(
            "<details><summary>Numbers</summary>\n{numbers}</details>\n"
        ))
    }

    /// Says why something that a reader may look for is not there.
    pub fn absent(&mut self, reason: &str) -> &mut Self {
        self.push(format_args!(
            "<p class=\"absent\">{}</p>\n",
            Escaped(reason)
        ))
    }

    fn push(&mut self, html: fmt::Arguments<'_>) -> &mut Self {
        append(&mut self.html, html);
        self
    }
}

/// Appends to a page.
pub(crate) fn append(html: &mut String, text: fmt::Arguments<'_>) {
    // A string grows as it must, so writing to it cannot fail.
    let _ = html.write_fmt(text);
}
