//! The line that `udpmon_bw_mon` prints for one run, with its 12 columns.
//!
//! Two columns differ on purpose: lost packets are those that never arrived, the last ones included, and the wire
//! rate counts the real headers.

use crate::schema::{Document, Flow, Negotiated};
use dccp::proto::number::to_f64;

/// The head line of `udpmon_bw_mon`.
const HEAD: &str = " pkt len; num_sent; inter-pkt_time us; send_user_data_rate Mbit; num_recv; num_lost; \
     num_badorder; %lost; num_lost_innet; %lost_innet; recv_user_data_rate Mbit; recv_wire_rate Mbit;";

/// The head of the rows; `None` if the test has no result.
pub(crate) fn head(document: &Document) -> Option<String> {
    document.summary.as_ref().map(|_| HEAD.to_owned())
}

/// A line for each flow with a ledger. A column is empty if its value is not known.
pub(crate) fn rows(document: &Document) -> Vec<String> {
    let Some(summary) = &document.summary else {
        return Vec::new();
    };
    let flows = summary.flows.iter().zip(&document.negotiated);
    flows
        .filter_map(|(flow, agreed)| line(summary.duration_ns, flow, agreed))
        .collect()
}

fn line(duration_ns: u64, flow: &Flow, agreed: &Negotiated) -> Option<String> {
    let ledger = flow.ledger?;
    let length = agreed.packet_bytes;
    let us = to_f64(duration_ns) / 1e3;
    // Bits per microsecond are Mbit/s.
    let rate = |packets: u64| to_f64(packets) * to_f64(length) * 8.0 / us;
    let percent = |lost: u64| to_f64(lost) * 100.0 / to_f64(ledger.sent);
    let gap = us / to_f64(ledger.sent);
    if !(gap.is_finite() && us > 0.0) {
        return None;
    }
    let reordered = flow
        .reordered_packets
        .map_or(String::new(), |n| n.to_string());
    // The header bytes of each packet that was sent are those of each that arrived.
    let wire = flow.wire_bps.map_or(String::new(), |bps| {
        let arrived = to_f64(ledger.delivered) / to_f64(ledger.sent);
        digits(bps * arrived / 1e6)
    });
    Some(format!(
        " {length}; {}; {}; {}; {}; {}; {reordered}; {}; {}; {}; {}; {wire};",
        ledger.sent,
        digits(gap),
        digits(rate(ledger.sent)),
        ledger.delivered,
        ledger.lost(),
        digits(percent(ledger.lost())),
        ledger.lost_network,
        digits(percent(ledger.lost_network)),
        digits(rate(ledger.delivered)),
    ))
}

/// A number with six digits, without trailing zeros, as C++ prints it.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let before = value.abs().log10().floor() + 1.0;
    let behind = (6.0 - before).clamp(0.0, 12.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 0 to 12"
    )]
    let text = format!("{value:.*}", behind as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn line_has_twelve_columns() {
        let document = sample::document();
        let lines: Vec<String> = head(&document).into_iter().chain(rows(&document)).collect();
        assert_eq!(lines.len(), 2);
        let columns = |line: &str| line.matches(';').count();
        assert_eq!((columns(&lines[0]), columns(&lines[1])), (12, 12));
        assert_eq!(
            lines[1],
            " 1400; 42164; 118.585; 94.4474; 42143; 21; 0; 0.0498055; 18; 0.0426904; 94.4003; 99.8502;"
        );
    }

    #[test]
    fn numbers_have_six_digits() {
        let texts = [638.031, 2_424.24, 0.0, 13.0, 0.049_805, 1_234_567.0].map(digits);
        assert_eq!(
            texts,
            ["638.031", "2424.24", "0", "13", "0.049805", "1234567"]
        );
    }
}
