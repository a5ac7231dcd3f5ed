//! Service Codes: what an application is called on the wire (RFC 4340 §8.1.2, RFC 5595).

use core::fmt;
use core::str::FromStr;

/// A Service Code. Its text forms are `SC:fdpz`, `SC=1717858426` and `SC=x6664707A` (4340-8.1.2-3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct ServiceCode(pub u32);

impl ServiceCode {
    /// "No meaningful service code" (5595-2.4-1).
    pub const NONE: Self = Self(0);
    /// Never valid (4340-8.1.2-2).
    pub const INVALID: Self = Self(u32::MAX);

    /// The code that four characters stand for, shorter names padded with spaces on the right.
    pub const fn from_ascii(characters: [u8; 4]) -> Self {
        Self(u32::from_be_bytes(characters))
    }

    /// Whether a connection may have this code (4340-8.1.2-2, 5595-2.5-1).
    pub const fn is_valid(self) -> bool {
        self.0 != Self::INVALID.0
    }

    /// Whether the code is one of those for private use (6335-10.3-2).
    pub const fn is_private(self) -> bool {
        self.0 >> 24 == 0x3F
    }

    /// The server port to try where none is known (5595-2.7-1), in 49152–65534.
    pub const fn default_port(self) -> u16 {
        let [a, b, c, d] = self.0.to_be_bytes();
        let mix = (a as u16) << 7 ^ (b as u16) << 5 ^ (c as u16) << 3 ^ d as u16;
        match mix | 0xC000 {
            0xFFFF => 0xC000,
            port => port,
        }
    }

    /// The 1–4 characters of the `SC:` form, if the code has one.
    fn characters(self) -> Option<([u8; 4], usize)> {
        let bytes = self.0.to_be_bytes();
        let len = bytes.iter().position(|&b| b == b' ').unwrap_or(4);
        let (name, padding) = bytes.split_at_checked(len)?;
        let is_text = len > 0
            && name.iter().all(|&b| is_name_character(b))
            && padding.iter().all(|&b| b == b' ');
        is_text.then_some((bytes, len))
    }
}

/// The characters that names in `SC:` form consist of.
const fn is_name_character(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'+' | b'.' | b'*' | b'/' | b'?' | b'@')
}

/// `SC:` with characters where the code has such a form, else `SC=x` with eight digits.
impl fmt::Display for ServiceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((bytes, len)) = self.characters() else {
            return write!(f, "SC=x{:08X}", self.0);
        };
        f.write_str("SC:")?;
        bytes
            .iter()
            .take(len)
            .try_for_each(|&b| write!(f, "{}", char::from(b)))
    }
}

/// A text that is no Service Code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServiceCodeError {
    /// It begins neither with `SC:` nor with `SC=`.
    Prefix,
    /// Not one to four letters, digits or characters of `-_+.*/?@` after `SC:`.
    Name,
    /// No number after `SC=` or `SC=x`, or one above 4294967294.
    Number,
}

impl fmt::Display for ServiceCodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prefix => "a service code begins with `SC:` or `SC=`",
            Self::Name => "`SC:` takes one to four letters, digits or -_+.*/?@",
            Self::Number => "`SC=` takes a number up to 4294967294, hexadecimal after `SC=x`",
        })
    }
}

impl core::error::Error for ServiceCodeError {}

impl FromStr for ServiceCode {
    type Err = ServiceCodeError;

    fn from_str(text: &str) -> Result<Self, ServiceCodeError> {
        if let Some(name) = text.strip_prefix("SC:") {
            return from_name(name).ok_or(ServiceCodeError::Name);
        }
        let number = text.strip_prefix("SC=").ok_or(ServiceCodeError::Prefix)?;
        let (digits, radix) = match number.strip_prefix(['x', 'X']) {
            Some(digits) => (digits, 16),
            None => (number, 10),
        };
        // A sign is no digit, although the standard library takes one.
        let is_number = digits.bytes().all(|b| char::from(b).is_digit(radix));
        u32::from_str_radix(digits, radix)
            .ok()
            .filter(|_| is_number)
            .map(Self)
            .filter(|code| code.is_valid())
            .ok_or(ServiceCodeError::Number)
    }
}

fn from_name(name: &str) -> Option<ServiceCode> {
    let name = name.as_bytes();
    if name.is_empty() || !name.iter().all(|&b| is_name_character(b)) {
        return None;
    }
    let mut characters = [b' '; 4];
    characters.get_mut(..name.len())?.copy_from_slice(name);
    Some(ServiceCode::from_ascii(characters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Result<u32, ServiceCodeError> {
        text.parse::<ServiceCode>().map(|code| code.0)
    }

    #[test]
    fn the_three_text_forms_mean_the_same() {
        // 4340-8.1.2-3
        for text in ["SC:fdpz", "SC=1717858426", "SC=x6664707A", "SC=X6664707a"] {
            assert_eq!(parsed(text), Ok(0x6664_707A), "{text}");
        }
        assert_eq!(ServiceCode::from_ascii(*b"fdpz").0, 1_717_858_426);
    }

    #[test]
    fn short_names_are_padded_with_spaces() {
        // 4340-8.1.2-3
        assert_eq!(parsed("SC:a"), Ok(0x6120_2020));
        assert_eq!(parsed("SC:-_"), Ok(0x2D5F_2020));
        assert_eq!(parsed("SC:+.*"), Ok(0x2B2E_2A20));
        assert_eq!(parsed("SC:/?@9"), Ok(0x2F3F_4039));
    }

    #[test]
    fn malformed_texts_are_errors() {
        // 4340-8.1.2-3
        for text in ["", "SC", "sc:abcd", "abcd", "SC 1"] {
            assert_eq!(parsed(text), Err(ServiceCodeError::Prefix), "{text}");
        }
        for text in [
            "SC:", "SC:abcde", "SC:a b", "SC:a ", "SC:é", "SC:a,b", "SC:a:b",
        ] {
            assert_eq!(parsed(text), Err(ServiceCodeError::Name), "{text}");
        }
        for text in [
            "SC=", "SC=x", "SC=+1", "SC=x+1", "SC=-1", "SC=1 ", "SC=12a", "SC=xG",
        ] {
            assert_eq!(parsed(text), Err(ServiceCodeError::Number), "{text}");
        }
    }

    #[test]
    fn an_error_says_what_was_expected() {
        for (text, expected) in [("1", "begins with"), ("SC:", "letters"), ("SC=", "number")] {
            let error = parsed(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_greatest_number_is_invalid() {
        // 4340-8.1.2-2, 4340-8.1.2-3, 5595-2.5-1
        assert_eq!(parsed("SC=4294967294"), Ok(0xFFFF_FFFE));
        assert_eq!(parsed("SC=4294967295"), Err(ServiceCodeError::Number));
        assert_eq!(parsed("SC=xFFFFFFFF"), Err(ServiceCodeError::Number));
        assert_eq!(parsed("SC=4294967296"), Err(ServiceCodeError::Number));
        assert!(!ServiceCode::INVALID.is_valid());
        assert!(ServiceCode(0xFFFF_FFFE).is_valid());
        assert!(ServiceCode::NONE.is_valid());
    }

    #[test]
    fn codes_are_shown_as_names_where_they_are_names() {
        for (code, text) in [
            (0x6664_707A, "SC:fdpz"),
            (0x6120_2020, "SC:a"),
            (0x4C54_5020, "SC:LTP"),
            (0, "SC=x00000000"),
            (0x2020_2020, "SC=x20202020"),
            (0x6120_6120, "SC=x61206120"),
            (0x6120_2061, "SC=x61202061"),
            (0x6C74_7000, "SC=x6C747000"),
            (0xFFFF_FFFF, "SC=xFFFFFFFF"),
        ] {
            assert_eq!(ServiceCode(code).to_string(), text);
        }
    }

    #[test]
    fn codes_have_default_ports() {
        // 5595-2.7-1; appendix A.5 of the requirements
        for (name, port) in [
            (b"fdpz", 64634),
            (b"DISC", 59899),
            (b"RTPA", 57665),
            (b"RTPV", 57686),
            (b"RTPT", 57684),
            (b"RTPO", 57679),
            (b"RTCP", 57800),
        ] {
            assert_eq!(ServiceCode::from_ascii(*name).default_port(), port);
        }
        // Only the low 16 bits of the first byte's product count, and 65535 is no port.
        assert_eq!(ServiceCode(0x7F00_007F).default_port(), 0xC000);
        assert_eq!(ServiceCode(0x7F00_007E).default_port(), 0xFFFE);
        assert_eq!(ServiceCode(0).default_port(), 0xC000);
        // A product that has one of the two upper bits already keeps it.
        assert_eq!(ServiceCode(0x8000_0001).default_port(), 0xC001);
    }

    #[test]
    fn private_codes_begin_with_a_question_mark() {
        // 6335-10.3-2
        for (code, is_private) in [
            (0x3EFF_FFFF, false),
            (0x3F00_0000, true),
            (0x3FFF_FFFF, true),
            (0x4000_0000, false),
        ] {
            assert_eq!(ServiceCode(code).is_private(), is_private);
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_can_be_read(code in any::<u32>(), name in "[A-Za-z0-9_+.*/?@-]{1,4}") {
            // 4340-8.1.2-3
            if code != u32::MAX {
                prop_assert_eq!(parsed(&ServiceCode(code).to_string()), Ok(code));
            }
            let text = format!("SC:{name}");
            prop_assert_eq!(text.parse::<ServiceCode>().unwrap().to_string(), text);
        }
    }
}
