//! The manual pages of section 3 in `man/`, made from the header: one for each file of the sources, and `dccp.3`.
//! `UPDATE=1 cargo test -p dccp-capi --test c manual` writes them.

use crate::header::{compare, folder};
use crate::parse::{Item, Kind, parse};
use core::fmt::Write as _;
use dccp_dev::shell::{command, find_program, output};
use std::collections::BTreeMap;

const HEADER: &str = include_str!("../../include/dccp.h");
const LAYOUT: &str = include_str!("../../include/dccp_ring_layout.h");

/// A page: the items of one source file.
struct Page {
    name: String,
    header: &'static str,
    /// Lines about all of them.
    about: String,
    title: String,
    items: Vec<Item>,
}

/// The pages, in the order of the modules.
fn pages() -> Vec<Page> {
    let mut items: BTreeMap<String, Item> = parse(HEADER)
        .into_iter()
        .map(|item| (item.name.clone(), item))
        .collect();
    let sources = folder().join("src");
    let lib = std::fs::read_to_string(sources.join("lib.rs")).unwrap();
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub mod "));
    let mut pages = Vec::new();
    for module in modules.map(|module| module.trim_end_matches(';')) {
        let source = std::fs::read_to_string(sources.join(format!("{module}.rs"))).unwrap();
        let title = source.lines().next().and_then(|l| l.strip_prefix("//! "));
        let title = title.unwrap().trim_end_matches('.');
        let names = source.lines().filter_map(name_of).map(renamed);
        pages.push(Page {
            name: format!("dccp_{module}"),
            header: "dccp.h",
            about: String::new(),
            title: title[..1].to_lowercase() + &title[1..],
            items: names.filter_map(|name| items.remove(&name)).collect(),
        });
    }
    let left: Vec<_> = items.keys().collect();
    assert!(left.is_empty(), "of no source file: {left:?}");
    pages.push(layout_page());
    pages
}

/// The page of `dccp_ring_layout.h`, whose functions have bodies.
fn layout_page() -> Page {
    let mut declarations = String::new();
    let mut is_body = false;
    for line in LAYOUT.lines() {
        let line = line.strip_prefix("static inline ").unwrap_or(line);
        let _ = match line {
            _ if is_body => writeln!(declarations),
            _ if line.ends_with(") {") => {
                writeln!(declarations, "{};", line.trim_end_matches(" {"))
            }
            _ => writeln!(declarations, "{line}"),
        };
        is_body = (is_body || line.ends_with(") {")) && line != "}";
    }
    let about = LAYOUT.lines().skip(2);
    let about = about.map_while(|line| line.strip_prefix("//"));
    let about: Vec<_> = about
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    let mut items = parse(&declarations);
    items.retain(|item| {
        item.text
            .first()
            .is_some_and(|text| !text.starts_with("Internal: "))
    });
    Page {
        name: "dccp_ring_layout".into(),
        header: "dccp_ring_layout.h",
        about: about.join("\n"),
        title: "the memory of a packet ring as structs, and functions that use it".into(),
        items,
    }
}

/// The name of a public item that begins on a line.
fn name_of(line: &str) -> Option<&str> {
    const STARTS: [&str; 4] = [
        "pub unsafe extern \"C\" fn ",
        "pub extern \"C\" fn ",
        "pub const ",
        "pub struct ",
    ];
    let rest = STARTS.iter().find_map(|start| line.strip_prefix(start))?;
    rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .next()
}

/// The name in C, by the table in `cbindgen.toml`.
fn renamed(name: &str) -> String {
    let table = include_str!("../../cbindgen.toml");
    let start = format!("\"{name}\" = \"");
    let found = table.lines().find_map(|line| line.strip_prefix(&start));
    found.map_or(name, |rest| rest.trim_end_matches('"')).into()
}

/// A text in roff: backslashes and leading dots are no commands, code is bold, and names of functions are not hyphenated.
fn roff(text: &str) -> String {
    let mut out = String::new();
    for (n, part) in text.replace('\\', "\\e").split('`').enumerate() {
        if n % 2 == 1 {
            let _ = write!(out, "\\fB{}\\fR", part.replace('-', "\\-"));
        } else {
            out.push_str(part);
        }
    }
    let mut out = out.replace("dccp_", "\\%dccp_");
    if out.starts_with(['.', '\'']) {
        out.insert_str(0, "\\&");
    }
    out
}

/// Lines that keep their form.
fn verbatim(out: &mut String, text: &str) {
    out.push_str(".nf\n.ft B\n");
    for line in text.lines() {
        let _ = writeln!(out, "{}", line.replace('\\', "\\e").replace('-', "\\-"));
    }
    out.push_str(".ft R\n.fi\n");
}

fn paragraphs(out: &mut String, item: &Item) {
    for (n, paragraph) in item.text.iter().enumerate() {
        if n > 0 {
            out.push_str(".PP\n");
        }
        let _ = writeln!(out, "{}", roff(paragraph));
    }
}

fn head(name: &str) -> String {
    let upper = name.to_uppercase();
    format!(
        ".\\\" Made from dccp.h by a test of dccp-capi.\n.TH {upper} 3 \"\" \"libdccp\" \"Library for DCCP\"\n"
    )
}

fn render(page: &Page, all: &[Page]) -> String {
    let functions: Vec<&Item> = page.of(Kind::Function).collect();
    let mut out = head(&page.name);
    let mut names: Vec<&str> = vec![&page.name];
    let others = functions.iter().map(|item| item.name.as_str());
    names.extend(others.filter(|name| *name != page.name));
    let _ = writeln!(out, ".SH NAME\n{} \\- {}", names.join(", "), page.title);
    out.push_str(".SH SYNOPSIS\n");
    let mut synopsis = format!("#include <{}>\n", page.header);
    for item in &functions {
        synopsis += &item.code;
        synopsis.push('\n');
    }
    verbatim(&mut out, &synopsis);
    out.push_str(".SH DESCRIPTION\nThe rules of all functions are in\n.BR dccp (3).\n");
    if !page.about.is_empty() {
        out.push_str(".PP\n");
        verbatim(&mut out, &page.about);
    }
    for item in &functions {
        let _ = writeln!(out, ".SS {}()", item.name);
        paragraphs(&mut out, item);
    }
    let types: Vec<&Item> = page.of(Kind::Type).collect();
    if !types.is_empty() {
        out.push_str(".SH TYPES\n");
    }
    for item in types {
        let _ = writeln!(out, ".SS {}", item.name);
        paragraphs(&mut out, item);
        out.push_str(".PP\n");
        verbatim(&mut out, &item.code);
    }
    let constants: Vec<&Item> = page.of(Kind::Constant).collect();
    if !constants.is_empty() {
        out.push_str(".SH CONSTANTS\n");
    }
    for item in constants {
        let _ = writeln!(out, ".TP\n.B {}", item.name);
        paragraphs(&mut out, item);
    }
    out.push_str(".SH SEE ALSO\n.BR dccp (3)");
    for other in all.iter().filter(|other| other.name != page.name) {
        let _ = write!(out, ",\n.BR \\%{} (3)", other.name);
    }
    out.push('\n');
    out
}

/// The page about the library: the head of the header, and the other pages.
fn overview(pages: &[Page]) -> String {
    let comment = HEADER.split("*/").next().unwrap();
    let lines = comment
        .lines()
        .map(|line| line.trim_start_matches([' ', '/', '*']));
    let mut out = head("dccp");
    out.push_str(
        ".SH NAME\ndccp \\- congestion\\-controlled datagrams (DCCP) in user space\n.SH SYNOPSIS\n",
    );
    verbatim(&mut out, "#include <dccp.h>\ncc ... -ldccp\n");
    out.push_str(".SH DESCRIPTION\n");
    for line in lines.filter(|line| !line.is_empty()) {
        match line.strip_prefix("- ") {
            Some(rule) => {
                let _ = writeln!(out, ".IP \\(bu 2\n{}", roff(rule));
            }
            None => {
                let _ = writeln!(out, "{}", roff(line));
            }
        }
    }
    out.push_str(".SH PAGES\n");
    for page in pages {
        let _ = writeln!(out, ".TP\n.BR \\%{} (3)\n{}.", page.name, page.title);
        let names: Vec<_> = page.of(Kind::Function).map(|f| f.name.as_str()).collect();
        let _ = writeln!(out, "{}", roff(&(names.join("(), ") + "().")));
    }
    out
}

impl Page {
    fn of(&self, kind: Kind) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(move |item| item.kind == kind)
    }
}

#[test]
fn manual_is_current() {
    let pages = pages();
    let folder = folder().join("man");
    compare(&folder.join("dccp.3"), &overview(&pages), "manual");
    for page in &pages {
        let file = folder.join(format!("{}.3", page.name));
        compare(&file, &render(page, &pages), "manual");
    }
    let stored = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(stored, pages.len() + 1, "pages without a source");
}

#[test]
fn every_function_and_constant_has_a_page_with_a_text() {
    let pages = pages();
    let library = || pages.iter().filter(|page| page.header == "dccp.h");
    let items = || library().flat_map(|page| &page.items);
    let functions = items().filter(|item| item.kind == Kind::Function).count();
    assert_eq!(functions, HEADER.matches(");\n").count());
    let silent: Vec<_> = items().filter(|item| item.text.is_empty()).collect();
    assert!(silent.is_empty(), "{silent:?}");
    let pages_of_handles: Vec<_> = items()
        .filter(|item| item.name.ends_with("_free"))
        .collect();
    assert_eq!(pages_of_handles.len(), 6);
}

#[test]
fn manual_pages_have_no_warning() {
    let test = "manual_pages_have_no_warning";
    if find_program("man").is_none() || find_program("groff").is_none() {
        println!("SKIP {test}: needs man and groff");
        return;
    }
    for file in std::fs::read_dir(folder().join("man")).unwrap() {
        let file = file.unwrap().path();
        let mut groff = command(&["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-z"]);
        let complaints = groff.arg(&file).output().unwrap().stderr;
        let complaints = String::from_utf8_lossy(&complaints);
        assert!(complaints.is_empty(), "{complaints}");
        let mut man = command(&["man", "-l"]);
        let shown = output(man.env("MANWIDTH", "100").arg(&file)).unwrap();
        assert!(shown.contains("SYNOPSIS"), "{}", file.display());
    }
}
