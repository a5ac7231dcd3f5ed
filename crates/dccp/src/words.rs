//! Protocol values in words, for messages to users.

use dccp_proto::CloseReason;
use dccp_proto::wire::{ResetCode, ServiceCode};

/// A connection's end in words.
pub fn reason_text(reason: &CloseReason) -> String {
    match reason {
        CloseReason::Local => "closed by this end".into(),
        CloseReason::Peer => "closed by the peer".into(),
        CloseReason::Reset {
            code: ResetCode::MANDATORY_ERROR,
            data: [32..=35, feature, ccid],
            ..
        } if *feature == CCID_FEATURE => format!("the peer does not support CCID {ccid}"),
        CloseReason::Reset { code, text, .. } if text.is_empty() => {
            format!("the peer sent Reset {code}")
        }
        CloseReason::Reset { code, text, .. } => {
            format!("the peer sent Reset {code}: {}", printable(text))
        }
        CloseReason::Aborted(ResetCode::ABORTED) => "aborted by this end".into(),
        CloseReason::Aborted(code) => format!("this end sent Reset {code}"),
        CloseReason::TimedOut => "the peer does not answer".into(),
        CloseReason::Unreachable { kind, code } => {
            format!("the network cannot reach the peer (ICMP type {kind} code {code})")
        }
    }
}

/// Feature number of the CCID (RFC 4340 §6.4).
const CCID_FEATURE: u8 = 1;

/// A text of another program without the characters that control a terminal. Quotes stay as they are.
pub fn printable(text: &str) -> String {
    let is_harmless = |c: char| !c.is_control() && !is_invisible(c);
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmless(c) {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
    }
    shown
}

/// Characters that change the direction or the joining of the text around them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A Service Code as its four letters where it has them, else as a number (RFC 5595 §2.2).
pub(crate) fn service_text(code: ServiceCode) -> String {
    let bytes = code.0.to_be_bytes();
    match core::str::from_utf8(&bytes) {
        Ok(s) if bytes.iter().all(u8::is_ascii_graphic) => format!("Service Code {s}"),
        _ => format!("Service Code {}", code.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_peer_cannot_write_to_the_terminal() {
        let reason = |text: &str| CloseReason::Reset {
            code: ResetCode::CLOSED,
            data: [0; 3],
            text: text.into(),
        };
        assert!(!reason_text(&reason("\u{1b}[2J")).contains('\u{1b}'));
        assert!(!reason_text(&reason("\u{202e}abc")).contains('\u{202e}'));
        assert!(reason_text(&reason("the server's")).ends_with("the server's"));
    }

    #[test]
    fn missing_ccid_is_named() {
        let reason = CloseReason::Reset {
            code: ResetCode::MANDATORY_ERROR,
            data: [32, 1, 4],
            text: String::new(),
        };
        assert_eq!(reason_text(&reason), "the peer does not support CCID 4");
    }

    #[test]
    fn service_codes_read_as_letters() {
        assert_eq!(
            service_text(ServiceCode(u32::from_be_bytes(*b"DMON"))),
            "Service Code DMON"
        );
        assert_eq!(service_text(ServiceCode(7)), "Service Code 7");
    }
}
