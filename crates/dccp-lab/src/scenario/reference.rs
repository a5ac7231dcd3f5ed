//! Generates `docs/scenario-keys.md` from the types of `keys.rs`. `UPDATE=1 cargo test -p dccp-lab reference`
//! writes the page.

use super::keys::File;
use crate::judge::metric::{METRICS, Owner};
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;

const HEAD: &str = "# Keys of scenario files

Generated from `crates/dccp-lab/src/scenario/keys.rs`; `scenarios.md` shows the keys by example. A key with * must be there.
Where a list is expected, a single value may stand for a list of one.
";

/// The sections, in the order of the page. The first is the file itself.
const SECTIONS: [&str; 24] = [
    "File",
    "BenchKeys",
    "Topology",
    "LinkKeys",
    "AqmKeys",
    "TraceKeys",
    "BurstKeys",
    "ChangeKeys",
    "RouteKeys",
    "HostKeys",
    "MemoryKeys",
    "ClockKeys",
    "FlowKeys",
    "ImportantKeys",
    "MatrixKeys",
    "DefineKeys",
    "DrawKeys",
    "PhaseKeys",
    "MeasureKeys",
    "LinkUtilKeys",
    "AssertKeys",
    "PublishedKeys",
    "FigureKeys",
    "QuickKeys",
];

const METRICS_HEAD: &str = "
## Metrics of expressions
Expressions of `[[assert]]`, `[[published]]` and `[[figure]]` can name these values. Those with a span also exist for a part of the run: `goodput(x, 10s..20s)`.
`queue('neck back')` is of the way back of a link.

| metric | unit | span |
|---|---|---|
";

/// The page for these types.
fn page() -> String {
    let schema = schemars::schema_for!(File).to_value();
    let definitions = schema["$defs"].as_object().expect("definitions");
    let mut page = HEAD.to_owned();
    for name in SECTIONS {
        let section = definitions.get(name).unwrap_or(&schema);
        let text = section["description"].as_str().expect("a description");
        let (heading, text) = text.split_once("\n\n").unwrap_or((text, ""));
        let heading = heading.trim_end_matches('.');
        page.extend(["\n## ", heading, "\n"]);
        if !text.is_empty() {
            page.extend([text, "\n\n"]);
        }
        let rows = rows(section, definitions);
        if !rows.is_empty() {
            page.extend(["| key | value | meaning |\n|---|---|---|\n", &rows]);
        }
    }
    page.push_str(METRICS_HEAD);
    for known in METRICS {
        let owner = match known.owner {
            Owner::Cell => "",
            Owner::Flow => "(flow)",
            Owner::Link => "(link)",
            Owner::Host => "(host)",
        };
        let span = if known.has_spans() { "yes" } else { "" };
        let (name, unit) = (known.name, known.unit);
        page.extend(["| `", name, owner, "` | ", unit, " | ", span, " |\n"]);
    }
    page
}

fn rows(section: &Value, definitions: &Map<String, Value>) -> String {
    let required: Vec<&str> = (section["required"].as_array().into_iter().flatten())
        .filter_map(Value::as_str)
        .collect();
    let properties = section["properties"].as_object();
    let row = |(key, property): (&String, &Value)| {
        let meaning = property["description"].as_str().expect(key);
        let meaning = meaning.replace('\n', " ");
        let (star, meaning) = match meaning.strip_prefix("Required: ") {
            Some(meaning) => (" *", meaning.to_owned()),
            None if required.contains(&key.as_str()) => (" *", meaning),
            None => ("", meaning),
        };
        let form = form(property, definitions);
        format!("| `{key}`{star} | {form} | {meaning} |\n")
    };
    properties.into_iter().flatten().map(row).collect()
}

/// The form of a value: what the types of `values.rs` say, or names to choose from.
fn form(property: &Value, definitions: &Map<String, Value>) -> String {
    if let Some(form) = property["title"].as_str() {
        return form.to_owned();
    }
    if let Some(one) = property.get("oneOrMany") {
        return format!("{}, or a list", form(one, definitions));
    }
    if let Some(options) = property["anyOf"].as_array() {
        return form(&options[0], definitions);
    }
    if let Some(name) = property["$ref"].as_str() {
        let name = name.trim_start_matches("#/$defs/");
        let heading = definitions[name]["description"].as_str().expect(name);
        let heading = heading.lines().next().expect("a heading");
        return format!("a table (see {heading})");
    }
    if let Some(names) = names(property) {
        return names;
    }
    if let Some(items) = property.get("items") {
        return format!("a list: {}", form(items, definitions));
    }
    let kind = match &property["type"] {
        Value::Array(types) => types[0].as_str(),
        kind => kind.as_str(),
    };
    match kind {
        Some("number") => "a number",
        Some("boolean") => "`true` or `false`",
        Some("string") => "a text",
        Some("array") => "a list",
        Some("object") => "a table",
        other => panic!("{other:?}: {property}"),
    }
    .to_owned()
}

/// The names of an enum: in one list, or as constants with comments.
fn names(property: &Value) -> Option<String> {
    let constants = || {
        let one_of = property["oneOf"].as_array()?;
        Some(one_of.iter().map(|one| &one["const"]).collect::<Vec<_>>())
    };
    let listed = || Some(property["enum"].as_array()?.iter().collect::<Vec<_>>());
    let constant = || Some(vec![property.get("const")?]);
    let names = listed().or_else(constants).or_else(constant)?;
    let names: Vec<&str> = names.into_iter().filter_map(Value::as_str).collect();
    Some(names.join(", "))
}

#[test]
fn page_of_keys_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario-keys.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &page).expect("the page is written");
    }
    let stored = fs::read_to_string(file).expect("the page");
    assert!(
        stored == page,
        "stale: UPDATE=1 cargo test -p dccp-lab reference"
    );
}
