//! All counters of both hosts that are not zero, for `--full`.

use crate::output::text::{paragraph, percent};
use crate::schema::Hosts;
use dccp_host::Delta;
use serde_json::Value;

/// The lines of both hosts.
pub(crate) fn lines(hosts: &Hosts) -> Vec<String> {
    let mut lines = paragraph("client", &counters(&hosts.client));
    if let Some(server) = &hosts.server {
        lines.extend(paragraph("server", &counters(server)));
    }
    lines
}

/// Each counter as `name value`. The names are those of the JSON document.
fn counters(host: &Delta) -> Vec<String> {
    let mut found = Vec::new();
    let value = serde_json::to_value(host).expect("keys are texts");
    collect(&value, "", &mut found);
    found
}

fn collect(value: &Value, name: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                collect(value, &format!("{name}{dot}{field}"), found);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                collect(item, &format!("{name}.{n}"), found);
            }
        }
        Value::Number(number) => {
            let Some(size) = number.as_f64().filter(|size| *size != 0.0) else {
                return;
            };
            let shown = match () {
                () if name.ends_with("_ratio") => percent(size),
                () if number.is_u64() => number.to_string(),
                () => format!("{size:.1}"),
            };
            found.push(format!("{name} {shown}"));
        }
        Value::String(text) => found.push(format!("{name} {text}")),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;
    use crate::output::text::WIDTH;

    #[test]
    fn counters_that_are_not_zero_have_names() {
        let hosts = sample::document().hosts.unwrap();
        let lines = lines(&hosts);
        let text = lines.join("\n");
        assert!(text.contains("dccp.DCCPActiveOpens 1"), "{text}");
        assert!(text.contains("process_cpu_ns 550000000"), "{text}");
        assert!(!text.contains("interface"), "{text}");
        assert!(
            lines[0].starts_with(" client ") && text.contains("\n server "),
            "{text}"
        );
        assert!(
            lines.iter().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
    }
}
