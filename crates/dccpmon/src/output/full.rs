//! The sources of arrival times, and all counters of both hosts that are not zero, for `--full`.

use crate::output::text::{paragraph, percent};
use crate::schema::{Document, Flow, Hosts, Stamps, Summary};
use dccp_host::Delta;
use serde_json::Value;

/// The lines of all flows and of both hosts.
pub(crate) fn lines(document: &Document) -> Vec<String> {
    let mut lines = document.summary.as_ref().map_or_else(Vec::new, times);
    if let Some(hosts) = &document.hosts {
        lines.extend(hosts_of(hosts));
    }
    lines
}

/// The sources of arrival times: a line for each flow, or one for all if they are the same.
fn times(summary: &Summary) -> Vec<String> {
    let flows = &summary.flows;
    let Some(first) = flows.first() else {
        return Vec::new();
    };
    if flows.iter().all(|flow| flow.stamps == first.stamps) {
        return paragraph("arrivals", &[stamps(first.stamps)]);
    }
    let line = |flow: &Flow| {
        paragraph(
            "arrivals",
            &[format!("[{:>2}] {}", flow.id, stamps(flow.stamps))],
        )
    };
    flows.iter().flat_map(line).collect()
}

/// The sources of a flow's arrival times: `data by the receiver's kernel, echoes by the sender's kernel`.
pub(crate) fn stamps(stamps: Stamps) -> String {
    let data = stamps
        .data
        .map_or("data without times".to_owned(), |source| {
            format!("data by the receiver's {source}")
        });
    match stamps.echoes {
        Some(source) => format!("{data}, echoes by the sender's {source}"),
        None => data,
    }
}

fn hosts_of(hosts: &Hosts) -> Vec<String> {
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
    use crate::schema::StampSource;

    #[test]
    fn counters_that_are_not_zero_have_names() {
        let lines = lines(&sample::document());
        let text = lines.join("\n");
        assert!(text.contains("dccp.DCCPActiveOpens 1"), "{text}");
        assert!(text.contains("process_cpu_ns 550000000"), "{text}");
        assert!(!text.contains("interface"), "{text}");
        assert!(
            text.contains("\n client ") && text.contains("\n server "),
            "{text}"
        );
        assert!(
            lines.iter().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
    }

    // goal 33: `--full` names the source at each end.
    #[test]
    fn sources_of_arrival_times_are_named() {
        let mut document = sample::two_flows();
        let same = " arrivals     data by the receiver's engine, echoes by the sender's engine";
        assert_eq!(lines(&document)[0], same);
        let second = &mut document.summary.as_mut().unwrap().flows[1];
        second.stamps = Stamps {
            data: Some(StampSource::Kernel),
            echoes: None,
        };
        let unlike = [
            " arrivals     [ 1] data by the receiver's engine, echoes by the sender's engine",
            " arrivals     [ 2] data by the receiver's kernel",
        ];
        assert_eq!(lines(&document)[..2], unlike);
    }
}
