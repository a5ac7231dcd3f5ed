//! Reads the header: constants, types and functions with their comments.

/// The kind of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Constant,
    Type,
    Function,
}

/// One item of the header.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// Its comment, a line for each paragraph.
    pub(crate) text: Vec<String>,
    /// Its declaration.
    pub(crate) code: String,
}

/// The items in their order.
pub(crate) fn parse(header: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut text: Vec<String> = vec![String::new()];
    let mut lines = header.lines();
    while let Some(line) = lines.next() {
        if let Some(comment) = line.strip_prefix("//") {
            append(&mut text, comment.trim());
            continue;
        }
        let comment = core::mem::replace(&mut text, vec![String::new()]);
        let Some((kind, name)) = start(line) else {
            continue;
        };
        let is_whole = |code: &str| match kind {
            Kind::Constant => true,
            Kind::Type if code.contains('{') => code.contains("\n}"),
            Kind::Type | Kind::Function => code.ends_with(';'),
        };
        let mut code = line.to_owned();
        while !is_whole(&code) {
            let next = lines.next().unwrap();
            code.push('\n');
            code.push_str(next);
        }
        items.push(Item {
            kind,
            name: name.to_owned(),
            text: comment.into_iter().filter(|p| !p.is_empty()).collect(),
            code,
        });
    }
    items
}

/// Adds a line to the last paragraph. An empty line begins the next one.
fn append(text: &mut Vec<String>, line: &str) {
    if line.is_empty() {
        text.push(String::new());
    } else if let Some(paragraph) = text.last_mut() {
        if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(line);
    }
}

/// The item that begins on a line.
fn start(line: &str) -> Option<(Kind, &str)> {
    let word = |text: &'_ str| text.split([' ', ';', '(']).next().map(str::len);
    if let Some(rest) = line.strip_prefix("#define DCCP_") {
        let len = word(rest)?;
        return Some((Kind::Constant, &line["#define ".len()..][..len + 5]));
    }
    if let Some(rest) = line.strip_prefix("typedef struct ") {
        return Some((Kind::Type, &rest[..word(rest)?]));
    }
    let (before, _) = line.split_once('(')?;
    let name = before.rsplit([' ', '*']).next()?;
    name.starts_with("dccp_").then_some((Kind::Function, name))
}
