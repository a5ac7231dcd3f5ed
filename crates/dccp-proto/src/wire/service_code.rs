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
