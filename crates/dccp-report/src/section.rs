//! The parts of a section.

use crate::Table;
use crate::escape::{Escaped, Picture};
use core::fmt;
use core::fmt::Write;
use dccp_plot::PlotError;

/// A section of a page, whose parts appear in the order of the calls.
#[derive(Debug, Clone)]
pub struct Section {
    html: String,
}

impl Section {
    pub(crate) fn new() -> Self {
        Self {
            html: String::new(),
        }
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
        match svg {
            Ok(svg) => self.push(format_args!("<div class=\"wide\">{}</div>\n", Picture(svg))),
            Err(error) => {
                let error = error.to_string();
                self.push(format_args!(
                    "<p class=\"absent\">{}</p>\n",
                    Escaped(&error)
                ))
            }
        };
        self.push(format_args!(
            "<details><summary>Numbers</summary>\n{numbers}</details>\n</figure>\n"
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
