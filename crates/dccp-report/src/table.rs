//! Tables.

use crate::Cell;
use crate::escape::Escaped;
use core::fmt;

/// A table whose rows begin with a name.
#[derive(Debug, Clone)]
pub struct Table {
    caption: String,
    headings: Vec<String>,
    rows: Vec<Vec<Cell>>,
    /// Rows beyond [`ROWS_MAX`].
    left_out: u64,
    class: &'static str,
}

/// A browser shows a table of this length at once. Longer ones belong into files.
const ROWS_MAX: usize = 2_000;

impl Table {
    /// A table with a line above it, whose cells are numbers. The headings name the columns, with their units.
    pub fn numbers(caption: &str, headings: &[&str]) -> Self {
        Self::new("numbers", caption, headings)
    }

    /// A table with a line above it, whose cells are words.
    pub fn words(caption: &str, headings: &[&str]) -> Self {
        Self::new("words", caption, headings)
    }

    fn new(class: &'static str, caption: &str, headings: &[&str]) -> Self {
        Self {
            caption: caption.to_owned(),
            headings: headings.iter().map(|&heading| heading.to_owned()).collect(),
            rows: Vec::new(),
            left_out: 0,
            class,
        }
    }

    /// Adds a row: its name, then a cell for each further column. Missing cells stay empty, cells beyond the last
    /// column are left out. A page shows the first 2,000 rows and the number of the others.
    pub fn row<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        if self.rows.len() < ROWS_MAX {
            let mut row: Vec<Cell> = cells
                .into_iter()
                .map(Into::into)
                .take(self.headings.len())
                .collect();
            row.resize(self.headings.len(), Cell::from(""));
            self.rows.push(row);
        } else {
            self.left_out += 1;
        }
        self
    }
}

/// The begin of an element that scrolls if it is too wide, also by the keyboard.
pub(crate) struct Scrolled<'a> {
    pub(crate) class: &'a str,
    pub(crate) name: &'a str,
}

impl fmt::Display for Scrolled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Escaped(self.name);
        write!(
            f,
            "<div class=\"{}\" role=\"group\" aria-label=\"{name}\" tabindex=\"0\">",
            self.class
        )
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scrolled = Scrolled {
            class: "wide",
            name: match &self.caption[..] {
                "" => "table",
                caption => caption,
            },
        };
        writeln!(f, "{scrolled}<table class=\"{}\">", self.class)?;
        if !self.caption.is_empty() {
            writeln!(f, "<caption>{}</caption>", Escaped(&self.caption))?;
        }
        f.write_str("<thead><tr>")?;
        for heading in &self.headings {
            write!(f, "<th scope=\"col\">{}</th>", Escaped(heading))?;
        }
        f.write_str("</tr></thead>\n<tbody>\n")?;
        for row in &self.rows {
            f.write_str("<tr>")?;
            for (n, cell) in row.iter().enumerate() {
                if n == 0 {
                    write!(f, "<th scope=\"row\">{cell}</th>")?;
                } else {
                    write!(f, "<td>{cell}</td>")?;
                }
            }
            f.write_str("</tr>\n")?;
        }
        f.write_str("</tbody>\n</table>")?;
        if self.left_out > 0 {
            write!(f, "<p>{} more rows are not shown.</p>", self.left_out)?;
        }
        f.write_str("</div>\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_has_a_cell_for_each_heading() {
        let mut table = Table::numbers("", &["place", "packets"]);
        table
            .row(["network", "21", "too much"])
            .row(["application"]);
        let html = table.to_string();
        assert!(html.contains("<tr><th scope=\"row\">network</th><td>21</td></tr>"));
        assert!(html.contains("<tr><th scope=\"row\">application</th><td></td></tr>"));
        assert!(!html.contains("too much") && !html.contains("<caption>"));
    }

    #[test]
    fn long_table_is_cut_and_says_so() {
        let mut table = Table::numbers("", &["interval"]);
        for n in 0..ROWS_MAX + 7 {
            table.row([n.to_string()]);
        }
        let html = table.to_string();
        assert_eq!(html.matches("<tr>").count(), ROWS_MAX + 1);
        assert!(html.contains("<p>7 more rows are not shown.</p>"));
    }
}
