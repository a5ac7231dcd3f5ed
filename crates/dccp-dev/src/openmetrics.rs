//! Reads the text format of OpenMetrics 1.0 and checks its rules, for tests of programs that serve metrics.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};

/// Names and values of a sample's labels.
pub type Labels = BTreeMap<String, String>;

/// The samples of one metric, with their metadata.
#[derive(Debug, Default)]
pub struct Family {
    /// The name in the metadata, without the suffixes of samples.
    pub name: String,
    /// The type, such as `counter`.
    pub kind: String,
    /// The description.
    pub help: String,
    /// The unit, if one is stated.
    pub unit: Option<String>,
    /// The values, in the order of the text.
    pub samples: Vec<Sample>,
}

/// One value.
#[derive(Debug, PartialEq)]
pub struct Sample {
    /// The name with its suffix, such as `_total`.
    pub name: String,
    /// The labels.
    pub labels: Labels,
    /// The value.
    pub value: f64,
}

/// Reads `text`.
///
/// # Errors
/// The text breaks a rule of the format. Timestamps and exemplars count as errors because our programs write none.
pub fn parse(text: &str) -> Result<Vec<Family>> {
    let body = text
        .strip_suffix("# EOF\n")
        .context("does not end in `# EOF`")?;
    ensure!(
        body.is_empty() || body.ends_with('\n'),
        "the last line has no end"
    );
    let mut families = Vec::new();
    for line in body.split_terminator('\n') {
        let read = match line.strip_prefix("# ") {
            Some(metadata) => read_metadata(metadata, &mut families),
            None => read_sample(line, &mut families),
        };
        read.with_context(|| format!("line `{line}`"))?;
    }
    for family in &families {
        check(family).with_context(|| format!("metric {}", family.name))?;
    }
    Ok(families)
}

/// Returns the value of the sample with this name and exactly these labels.
pub fn value(families: &[Family], name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let labels = labels.iter().map(|(k, v)| ((*k).into(), (*v).into()));
    let labels: Labels = labels.collect();
    let mut samples = families.iter().flat_map(|family| &family.samples);
    samples
        .find(|sample| sample.name == name && sample.labels == labels)
        .map(|sample| sample.value)
}

fn read_metadata(text: &str, families: &mut Vec<Family>) -> Result<()> {
    let words: Vec<&str> = text.splitn(3, ' ').collect();
    let [word, name, text] = words[..] else {
        bail!("a comment that is no metadata");
    };
    ensure!(is_name(name, true), "not a name: `{name}`");
    if families.last().is_none_or(|last| last.name != name) {
        let is_known = families.iter().any(|family| family.name == name);
        ensure!(!is_known, "the metadata of {name} come twice");
        families.push(Family {
            name: name.into(),
            ..Family::default()
        });
    }
    let family = families.last_mut().context("no family")?;
    ensure!(family.samples.is_empty(), "metadata after samples");
    match word {
        "HELP" if family.help.is_empty() => family.help = text.into(),
        "TYPE" if family.kind.is_empty() => family.kind = text.into(),
        "UNIT" if family.unit.is_none() => family.unit = Some(text.into()),
        _ => bail!("unknown or repeated: {word}"),
    }
    Ok(())
}

fn read_sample(line: &str, families: &mut [Family]) -> Result<()> {
    let end = line.find(['{', ' ']).context("no value")?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => read_labels(rest)?,
        None => (Labels::new(), rest),
    };
    let value = rest
        .strip_prefix(' ')
        .context("no space before the value")?;
    let value: f64 = value.parse().context("not a number")?;
    let family = families.last_mut().context("a sample without metadata")?;
    let suffix = name
        .strip_prefix(&family.name)
        .with_context(|| format!("not a sample of {}", family.name))?;
    let suffixes: &[&str] = match family.kind.as_str() {
        "counter" => &["_total"],
        "gauge" => &[""],
        "histogram" => &["_bucket", "_count", "_sum"],
        "info" => &["_info"],
        kind => bail!("unknown type: `{kind}`"),
    };
    ensure!(
        suffixes.contains(&suffix),
        "a {} has no samples with this suffix",
        family.kind
    );
    family.samples.push(Sample {
        name: name.into(),
        labels,
        value,
    });
    Ok(())
}

/// Reads labels up to the closing brace. Returns them and the text behind it.
fn read_labels(mut text: &str) -> Result<(Labels, &str)> {
    let mut labels = Labels::new();
    loop {
        let (name, rest) = text.split_once("=\"").context("a label without a value")?;
        ensure!(is_name(name, false), "not a name of a label: `{name}`");
        let (value, rest) = read_value(rest)?;
        let before = labels.insert(name.into(), value);
        ensure!(before.is_none(), "label {name} comes twice");
        if let Some(rest) = rest.strip_prefix('}') {
            return Ok((labels, rest));
        }
        text = rest.strip_prefix(',').context("no comma between labels")?;
    }
}

/// Reads the value of a label up to its closing quote. Returns it and the text behind it.
fn read_value(text: &str) -> Result<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.chars();
    loop {
        match chars.next().context("a label without an end")? {
            '"' => return Ok((value, chars.as_str())),
            '\\' => value.push(match chars.next() {
                Some('n') => '\n',
                Some(c @ ('\\' | '"')) => c,
                _ => bail!("an unknown escape"),
            }),
            c => value.push(c),
        }
    }
}

/// Returns true for `[A-Za-z_][A-Za-z0-9_]*`. Names of metrics may have colons too.
fn is_name(name: &str, may_have_colons: bool) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_' || may_have_colons && c == ':';
    name.starts_with(is_first) && name.chars().all(|c| is_first(c) || c.is_ascii_digit())
}

fn check(family: &Family) -> Result<()> {
    ensure!(!family.help.is_empty(), "no HELP");
    ensure!(!family.kind.is_empty(), "no TYPE");
    if let Some(unit) = &family.unit {
        let is_suffix = family.name.ends_with(&format!("_{unit}"));
        ensure!(is_suffix, "the name does not end in the unit {unit}");
    }
    let mut series = BTreeSet::new();
    for sample in &family.samples {
        let is_new = series.insert((&sample.name, &sample.labels));
        ensure!(is_new, "a series comes twice: {sample:?}");
        let is_count = sample.value.is_finite() && sample.value >= 0.0;
        ensure!(
            family.kind == "gauge" || is_count,
            "not a count: {sample:?}"
        );
    }
    if family.kind == "histogram" {
        check_histogram(family)?;
    }
    Ok(())
}

/// Checks that the buckets of each series rise, end in +Inf, and agree with the count.
fn check_histogram(family: &Family) -> Result<()> {
    let mut buckets: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
    for sample in &family.samples {
        let mut labels = sample.labels.clone();
        let bound = labels.remove("le");
        let of_series = buckets.entry(labels).or_default();
        if sample.name.ends_with("_bucket") {
            let bound = bound.context("a bucket without its bound")?;
            of_series.push((bound.parse()?, sample.value));
        }
    }
    for (labels, buckets) in buckets {
        let rises = buckets
            .windows(2)
            .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        ensure!(rises, "buckets do not rise: {buckets:?}");
        let of_series = |suffix| {
            let name = format!("{}{suffix}", family.name);
            let mut samples = family.samples.iter();
            samples
                .find(|sample| sample.name == name && sample.labels == labels)
                .map(|sample| sample.value)
        };
        ensure!(of_series("_sum").is_some(), "no sum: {labels:?}");
        let last = of_series("_count").map(|count| (f64::INFINITY, count));
        ensure!(
            last.is_some() && buckets.last().copied() == last,
            "the last bucket is not +Inf with the count: {buckets:?}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"# HELP a_seconds Time.
# TYPE a_seconds histogram
# UNIT a_seconds seconds
a_seconds_sum{x="1"} 2.5
a_seconds_count{x="1"} 3
a_seconds_bucket{le="0.5",x="1"} 1
a_seconds_bucket{le="+Inf",x="1"} 3
# HELP b B.
# TYPE b counter
b_total{p="\"q\" \\ \n"} 7
# HELP c C.
# TYPE c gauge
c -1.5
# EOF
"#;

    #[test]
    fn valid_text_is_read() {
        let families = parse(GOOD).unwrap();
        let names: Vec<_> = families.iter().map(|family| &family.name).collect();
        assert_eq!(names, ["a_seconds", "b", "c"]);
        assert_eq!(
            value(&families, "b_total", &[("p", "\"q\" \\ \n")]),
            Some(7.0)
        );
        assert_eq!(value(&families, "c", &[]), Some(-1.5));
        assert_eq!(value(&families, "c", &[("p", "")]), None);
        assert!(parse("# EOF\n").unwrap().is_empty());
    }

    #[test]
    fn each_broken_rule_is_found() {
        for (from, to, expected) in [
            ("# EOF\n", "", "does not end"),
            ("# EOF\n", "c 1# EOF\n", "has no end"),
            ("# HELP b B.\n", "", "no HELP"),
            ("# TYPE b counter\n", "", "unknown type"),
            ("# TYPE b counter", "# TYPE b thing", "unknown type"),
            ("# HELP c C.", "# HELP b C.", "metadata after samples"),
            ("# HELP c C.", "# HELP a_seconds C.", "come twice"),
            ("# HELP c C.", "# HELP c C.\n# HELP c C.", "repeated: HELP"),
            ("# HELP c C.", "# c", "no metadata"),
            ("# TYPE c", "# TYPE 1c", "not a name"),
            (
                "# UNIT a_seconds seconds",
                "# UNIT a_seconds ms",
                "in the unit",
            ),
            ("b_total{", "b{", "this suffix"),
            ("b_total{", "c_total{", "not a sample of b"),
            ("c -1.5", "c", "no value"),
            ("c -1.5", "c one", "not a number"),
            ("c -1.5", "c -1.5 123", "not a number"),
            ("c -1.5", "c -1.5\nc 2", "comes twice"),
            ("} 7", "} -7", "not a count"),
            ("} 7", "}7", "no space"),
            (r#"p="\"q"#, r#"p=""q"#, "no comma"),
            (r"\\ ", r"\x ", "unknown escape"),
            (r#"\n"}"#, "", "without an end"),
            ("{p=", "{p-q=", "not a name of a label"),
            ("{p=", "{p=\"\",p=", "label p comes twice"),
            ("{p=", "{p", "without a value"),
            ("le=\"0.5\"", "le=\"inf\"", "do not rise"),
            ("x=\"1\"} 1", "x=\"1\"} 4", "do not rise"),
            ("x=\"1\"} 1", "x=\"2\"} 1", "no sum"),
            ("+Inf", "9", "not +Inf"),
            ("_count{x=\"1\"} 3", "_count{x=\"1\"} 4", "with the count"),
            ("le=\"0.5\",", "", "without its bound"),
        ] {
            let broken = GOOD.replacen(from, to, 1);
            assert_ne!(broken, GOOD, "{from}");
            let found = parse(&broken).map(|_| ()).unwrap_err();
            let found = format!("{found:#}");
            assert!(found.contains(expected), "{from} → {to}: {found}");
        }
    }
}
