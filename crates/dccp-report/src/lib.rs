//! A report as one HTML page that needs no other file and no network, and is whole without scripts.
//!
//! A [`Page`] consists of sections with sentences, tables and pictures. The page follows the reader's choice of a
//! light or dark background and prints in black on white. Its syntax is also that of XML. A page with a
//! [chart](Section::chart) has a script, which lets the reader zoom. A policy in the page permits nothing else.
//!
//! ```
//! use dccp_report::{Page, Table};
//!
//! let mut ledger = Table::numbers("where packets were lost", &["place", "packets"]);
//! ledger.row(["network", "21"]);
//! let page = Page::new("bulk to host.example").section("Losses", |section| {
//!     section.text("21 of 42164 packets were lost.").table(&ledger);
//! });
//! assert!(page.to_string().starts_with("<!DOCTYPE html>"));
//! ```

mod cell;
mod chart;
mod escape;
mod page;
mod picture;
mod script;
mod section;
mod table;

pub use cell::{Cell, Link, Tone};
pub use chart::Detail;
pub use page::Page;
pub use section::Section;
pub use table::Table;
