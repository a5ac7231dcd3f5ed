//! The result as one HTML page.

mod delay;
mod hosts;
mod losses;
mod safeudp;
mod time;

use crate::output::text;
use crate::schema::{Document, Flow, Requested, Summary};
use dccp::proto::number::to_f64;
use dccp_cli::quantity::show as units;
use dccp_report::{Page, Section, Table};

/// The page of a result.
pub(crate) fn page(document: &Document) -> String {
    let requested = &document.requested;
    let title = requested.title.clone().unwrap_or_else(|| {
        let direction = match requested.direction {
            crate::schema::Direction::Reverse => "from",
            _ => "to",
        };
        let by = requested.from.as_ref();
        let by = by.map_or(String::new(), |from| format!(", measured by {from}"));
        format!("{} {direction} {}{by}", document.kind, requested.host)
    });
    let page = Page::new(&title).subtitle(&subtitle(document));
    let Some(summary) = &document.summary else {
        return page
            .section("Outcome", |section| outcome(section, document))
            .section("Record", |section| hosts::record(section, document))
            .to_string();
    };
    let page = page
        .section("Verdict", |section| verdict(section, document, summary))
        .section("Summary", |section| figures(section, document, summary))
        .section("Over time", |section| time::fill(section, document));
    let page = if safeudp::of(summary).is_empty() {
        page
    } else {
        page.section("SafeUDP", |section| safeudp::fill(section, summary))
    };
    page.section("Losses", |section| losses::fill(section, summary))
        .section("Delay", |section| delay::fill(section, document, summary))
        .section("Schedule", |section| delay::schedule(section, summary))
        .section("Both hosts", |section| hosts::fill(section, document))
        .section("Record", |section| hosts::record(section, document))
        .to_string()
}

fn subtitle(document: &Document) -> String {
    let Requested {
        duration_ns, flows, ..
    } = &document.requested;
    let mut parts = vec![
        utc(document.record.ended_unix_s),
        format!("dccpmon {}", document.record.program_version),
        format!("{} s", units::seconds(*duration_ns)),
    ];
    match document.negotiated.first() {
        Some(agreed) => {
            let ccid = agreed
                .ccid
                .map_or(String::new(), |ccid| format!(" CCID {ccid}"));
            let cc = agreed
                .cc
                .as_ref()
                .map_or(String::new(), |cc| format!(" ({cc})"));
            let over = agreed
                .encap
                .as_ref()
                .map_or(String::new(), |encap| format!(" over {encap}"));
            parts.push(format!("{}{ccid}{cc}{over}", agreed.transport));
            parts.push(format!("{} B packets", agreed.packet_bytes));
        }
        None => parts.push(document.requested.transport.to_string()),
    }
    if flows.len() > 1 {
        parts.push(format!("{} flows", flows.len()));
    }
    parts.join(" · ")
}

/// A time as `2026-11-23 19:15 UTC`.
fn utc(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute) = (second / 3_600, second % 3_600 / 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// The date of a day since 1970-01-01 in the Gregorian calendar.
fn date(days: u64) -> (u64, u64, u64) {
    // Years begin in March, so that the day that leap years add is the last one.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (year + era * 400 + next, month, day)
}

/// A test that did not run.
fn outcome(section: &mut Section, document: &Document) {
    match &document.error {
        Some(error) => {
            section.lead(&error.what).text(&error.next);
        }
        None => {
            section.absent("The test did not run.");
        }
    }
}

fn verdict(section: &mut Section, document: &Document, summary: &Summary) {
    let limit = &summary.limited_by;
    section.lead(&format!(
        "Limited by {}: {}.",
        limit.verdict, limit.sentence
    ));
    if summary.flows.len() == 1 {
        section.list(&limit.evidence);
    }
    if let Some(command) = &limit.command {
        section.text("This lifts the limit:").code(command);
    }
    if summary.flows.len() > 1 {
        let of_flow = |flow: &Flow| {
            let limit = &flow.limited_by;
            let evidence = limit.evidence.join(", ");
            format!("Flow {}: {} ({evidence}).", flow.id, limit.verdict)
        };
        section.list(summary.flows.iter().map(of_flow));
    }
    if let Some(error) = &document.error {
        section.text(&error.what).text(&error.next);
    }
    let outcomes = document.assertions.iter().flatten();
    section.list(outcomes.map(ToString::to_string));
    for flow in &summary.flows {
        if let Some(why) = &flow.broken {
            section.text(&format!("Flow {} broke off: {why}.", flow.id));
        }
    }
}

fn figures(section: &mut Section, document: &Document, summary: &Summary) {
    let caption = format!(
        "{} s, goodput {}",
        units::seconds(summary.duration_ns),
        text::rate(summary.goodput_bps)
    );
    let mut table = Table::numbers(
        &caption,
        &[
            "flow",
            "goodput, Mbit/s",
            "wire, Mbit/s",
            "loss, %",
            "RTT p50, ms",
            "RTT p99, ms",
            "reordered",
            "duplicates",
            "ECN marks",
        ],
    );
    for flow in &summary.flows {
        table.row(row(flow));
    }
    section.table(&table);
    let mut sentences = Vec::new();
    if let Some(idle) = &document.idle {
        let loaded = idle.loaded_ns.as_ref().map_or(String::new(), |loaded| {
            format!(", {} under load", text::spread(loaded))
        });
        sentences.push(format!(
            "Round trip of probes: {} idle{loaded}.",
            text::spread(&idle.idle_ns)
        ));
    }
    sentences.extend(losses::sentence(summary));
    if let Some(jain) = summary.fairness_jain {
        sentences.push(format!(
            "Jain's fairness index is {jain:.3}, and 1 is even."
        ));
    }
    if let Some(asymmetry) = summary.asymmetry {
        sentences.push(format!(
            "The asymmetry of the goodputs is {}, and 0 is even.",
            text::asymmetry(asymmetry)
        ));
    }
    if let Some(mean) = summary.repeat.as_ref().and_then(|repeat| repeat.goodput) {
        sentences.push(format!(
            "The mean goodput of the repetitions is {}; its 95 % confidence interval is {} to {}.",
            units::rate(mean.mean),
            units::rate(mean.low),
            units::rate(mean.high)
        ));
    }
    section.list(sentences);
}

fn row(flow: &Flow) -> [String; 9] {
    let rtt = flow.rtt.as_ref();
    let rtt = rtt.and_then(|rtt| rtt.user_ns.as_ref().or(rtt.network_ns.as_ref()));
    let mbps = |bps: f64| format!("{:.1}", bps / 1e6);
    [
        flow.id.to_string(),
        dash(flow.goodput_bps.map(mbps)),
        dash(flow.wire_bps.map(mbps)),
        dash(
            flow.ledger.filter(|ledger| ledger.sent > 0).map(|ledger| {
                format!("{:.2}", to_f64(ledger.lost()) * 100.0 / to_f64(ledger.sent))
            }),
        ),
        text::millis(rtt.and_then(|rtt| rtt.p50)),
        text::millis(rtt.and_then(|rtt| rtt.p99)),
        dash(flow.reordered_packets),
        dash(flow.duplicate_packets),
        dash(flow.marked_packets),
    ]
}

/// A value, or a dash for one that is not known.
fn dash<T: ToString>(value: Option<T>) -> String {
    value.map_or("–".into(), |value| value.to_string())
}

/// The name of a flow in a picture.
fn name_of(id: u32) -> String {
    format!("flow {id}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;
    use crate::schema::Problem;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let texts = [0, 951_782_400, 1_795_000_000, 4_102_444_799].map(utc);
        assert_eq!(
            texts,
            [
                "1970-01-01 00:00 UTC",
                "2000-02-29 00:00 UTC",
                "2026-11-18 11:06 UTC",
                "2099-12-31 23:59 UTC",
            ]
        );
    }

    #[test]
    fn page_has_all_sections_and_pictures() {
        for document in [sample::document(), sample::two_flows()] {
            let html = page(&document);
            for heading in [
                "Verdict",
                "Summary",
                "Over time",
                "Losses",
                "Delay",
                "Schedule",
                "Both hosts",
                "Record",
            ] {
                assert!(html.contains(&format!(">{heading}</h2>")), "no {heading}");
            }
            assert_eq!(html.matches("<svg ").count(), 4, "pictures");
            assert!(!html.contains("cannot draw"));
        }
    }

    #[test]
    fn page_of_ccid_248_has_a_strip_of_its_states() {
        let html = page(&sample::safe_udp());
        for text in [
            ">SafeUDP</h2>",
            "States of CCID 248, flow 1",
            "Circuit breakers tripped: loss at 3 s.",
            "advised or cap, Mbit/s",
            "1 s congestion: at most 50.0 Mbit/s advised",
        ] {
            assert!(html.contains(text), "no {text}");
        }
        assert!(!html.contains("cannot draw"));
        assert!(!page(&sample::document()).contains(">SafeUDP</h2>"));
    }

    #[test]
    fn page_of_a_failure_names_it() {
        let mut document = sample::document();
        document.summary = None;
        document.error = Some(Problem {
            what: "nothing answers at <host>".into(),
            next: "start it".into(),
        });
        let html = page(&document);
        assert!(html.contains("nothing answers at &lt;host&gt;"));
    }

    /// The first screen answers how long a round trip is, and where packets were lost.
    #[test]
    fn summary_has_the_delays_and_the_places_of_losses() {
        let html = page(&sample::document());
        for text in [
            "Round trip of probes: min 20.0  p50 20.2  p99 20.5  max 20.6 ms idle, min 20.2",
            "Lost: network 18, receiver socket 3, of 42164 sent packets.",
        ] {
            assert!(html.contains(text), "no {text}");
        }
    }

    /// A TCP flow and a lost server leave most figures out.
    #[test]
    fn page_needs_no_figure() {
        let mut document = sample::document();
        document.intervals.clear();
        document.negotiated.clear();
        document.hosts = None;
        document.ends = None;
        document.idle = None;
        let flow = &mut document.summary.as_mut().unwrap().flows[0];
        flow.ledger = None;
        flow.rtt = None;
        flow.one_way = None;
        flow.jitter = None;
        flow.loss_pattern = None;
        flow.schedule = None;
        let html = page(&document);
        assert!(html.contains(">Record</h2>") && !html.contains("NaN"));
    }
}
