//! Names of Unix sockets, and the host's name in the environment.

/// The longest name in bytes.
pub const NAME_MAX: usize = 64;
const HEAD: &[u8] = b"dccprun/";
const HOST_LEN: usize = 32;
const NUMBER_LEN: usize = 16;
const BELL_HEAD: &[u8] = b"dccprun bell ";
/// Bytes of a [bell](HostKey::bell).
pub const BELL_LEN: usize = BELL_HEAD.len() + HOST_LEN;

/// A running `dccprun`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HostKey {
    /// Hexadecimal digits.
    pub digits: [u8; HOST_LEN],
    /// Its user, whose sockets alone are trusted.
    pub uid: u32,
}

/// The family of a socket's addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6, which can also carry IPv4.
    V6,
}

/// A DCCP socket of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SocketKey {
    /// The family of its addresses.
    pub family: Family,
    /// Drawn at random, never used again.
    pub number: u64,
}

/// The part of a Unix socket's name behind the host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Takes requests.
    Control,
    /// Takes the program's ends of connections.
    Data,
    /// Stands for a DCCP socket.
    Socket(SocketKey),
}

/// A name in the abstract namespace, without the NUL byte at its head.
#[derive(Clone, Copy, Debug)]
pub struct DccpName {
    bytes: [u8; NAME_MAX],
    len: usize,
}

impl HostKey {
    /// The host with this number.
    pub fn new(number: u128, uid: u32) -> Self {
        let mut digits = [0; HOST_LEN];
        hex(number, &mut digits);
        Self { digits, uid }
    }

    /// Reads the value of [`VARIABLE`](crate::VARIABLE).
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (digits, rest) = text.split_first_chunk::<HOST_LEN>()?;
        let uid = rest.strip_prefix(b":")?;
        let uid = core::str::from_utf8(uid).ok()?.parse().ok()?;
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
        is_hex.then_some(Self {
            digits: *digits,
            uid,
        })
    }

    /// The name of one of its sockets.
    pub fn name(&self, role: Role) -> DccpName {
        let mut name = DccpName {
            bytes: [0; NAME_MAX],
            len: 0,
        };
        name.push(HEAD);
        name.push(&self.digits);
        name.push(b"/");
        match role {
            Role::Control => name.push(b"control"),
            Role::Data => name.push(b"data"),
            Role::Socket(key) => {
                name.push(match key.family {
                    Family::V4 => b"4",
                    Family::V6 => b"6",
                });
                let mut digits = [0; NUMBER_LEN];
                hex(key.number.into(), &mut digits);
                name.push(&digits);
            }
        }
        name
    }

    /// The message on the socket of a connection that tells of datagrams in a queue, and is none itself.
    pub fn bell(&self) -> [u8; BELL_LEN] {
        let mut bell = [0; BELL_LEN];
        let (head, digits) = bell.split_at_mut(BELL_HEAD.len());
        head.copy_from_slice(BELL_HEAD);
        digits.copy_from_slice(&self.digits);
        bell
    }

    /// The role of the socket with this name, without the NUL byte at its head; `None`: it is no socket of this host.
    pub fn role(&self, name: &[u8]) -> Option<Role> {
        let rest = name.strip_prefix(HEAD)?.strip_prefix(&self.digits)?;
        match rest.strip_prefix(b"/")? {
            b"control" => Some(Role::Control),
            b"data" => Some(Role::Data),
            [family, number @ ..] if number.len() == NUMBER_LEN => {
                let family = match family {
                    b'4' => Family::V4,
                    b'6' => Family::V6,
                    _ => return None,
                };
                let digits = core::str::from_utf8(number).ok()?;
                let number = u64::from_str_radix(digits, 16).ok()?;
                Some(Role::Socket(SocketKey { family, number }))
            }
            _ => None,
        }
    }
}

impl DccpName {
    /// The name.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// All parts together are shorter than [`NAME_MAX`].
    fn push(&mut self, part: &[u8]) {
        let end = self.len + part.len();
        if let Some(room) = self.bytes.get_mut(self.len..end) {
            room.copy_from_slice(part);
            self.len = end;
        }
    }
}

/// Writes the lowest digits of a number.
fn hex(mut number: u128, into: &mut [u8]) {
    for digit in into.iter_mut().rev() {
        let value = (number & 15) as u8;
        *digit = match value {
            0..=9 => b'0' + value,
            _ => b'a' + value - 10,
        };
        number >>= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let host = HostKey::new(0x0123_4567_89ab_cdef_0011_2233_4455_6677, 1000);
        let other = HostKey::new(1, 1000);
        let socket = |family, number| Role::Socket(SocketKey { family, number });
        for role in [
            Role::Control,
            Role::Data,
            socket(Family::V4, 0),
            socket(Family::V6, u64::MAX),
        ] {
            let name = host.name(role);
            assert_eq!(host.role(name.bytes()), Some(role));
            assert_eq!(other.role(name.bytes()), None);
        }
    }

    #[test]
    fn host_is_read_from_the_environment() {
        let host = HostKey::new(7, 1000);
        let text = b"00000000000000000000000000000007:1000";
        assert_eq!(HostKey::parse(text), Some(host));
        for wrong in [&text[1..], &text[..32], b"", &text[..33]] {
            assert_eq!(HostKey::parse(wrong), None);
        }
    }

    #[test]
    fn foreign_names_have_no_role() {
        let host = HostKey::new(7, 0);
        let name = host.name(Role::Data);
        let name = name.bytes();
        let foreign: [&[u8]; 4] = [b"", b"dccprun/", &name[1..], &name[..name.len() - 1]];
        for foreign in foreign {
            assert_eq!(host.role(foreign), None);
        }
    }
}
