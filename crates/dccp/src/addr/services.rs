//! Ports by the names of services, as `/etc/services` lists them (RFC 6335).

use std::io::Read as _;

/// The system's list: each line has a name, then `port/protocol`.
const LIST: &str = "/etc/services";
/// The limit of reading, in bytes. The longest lists that distributions have are shorter than 1 MiB.
const LIST_MAX: u64 = 4 << 20;

/// Returns the port of a service, such as `service_port("discard", "dccp")`. Names and their aliases are those of the file
/// `/etc/services`, without regard to case. `protocol` is `dccp` or `udp`. Returns `None` for an unknown name, and on systems
/// that do not have the file.
///
/// Reads the file each time, which can block.
pub fn service_port(name: &str, protocol: &str) -> Option<u16> {
    if !is_name(name) {
        return None;
    }
    let mut list = Vec::new();
    let file = std::fs::File::open(LIST).ok()?;
    file.take(LIST_MAX).read_to_end(&mut list).ok()?;
    find(&String::from_utf8_lossy(&list), name, protocol)
}

/// Whether a text has the form of a name: letters, digits and hyphens, and at least one letter (RFC 6335 §5.1). Older names
/// in such files also have `_`, `+` and `.`.
pub(super) fn is_name(text: &str) -> bool {
    let is_name_byte = |b: u8| b.is_ascii_alphanumeric() || b"-_+.".contains(&b);
    text.bytes().all(is_name_byte) && text.bytes().any(|b| b.is_ascii_alphabetic())
}

/// The port of a service in the text of such a list. The first entry counts, as for getservbyname(3).
fn find(list: &str, name: &str, protocol: &str) -> Option<u16> {
    list.lines().find_map(|line| {
        let entry = line.split('#').next().unwrap_or_default();
        let mut words = entry.split_whitespace();
        let first = words.next()?;
        let (port, carrier) = words.next()?.split_once('/')?;
        let is_it = carrier == protocol
            && core::iter::once(first)
                .chain(words)
                .any(|word| word.eq_ignore_ascii_case(name));
        if is_it { port.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
# Network services
discard\t\t9/tcp\tsink null
discard         9/dccp          # SC:DISC
discard         10/dccp
dccp-udp        6511/udp        rfc6773 # comment named hidden
broken
worse           x/dccp
worst           70000/dccp
";

    #[test]
    fn names_and_aliases_are_found_for_their_protocol() {
        assert_eq!(find(LIST, "discard", "dccp"), Some(9));
        assert_eq!(find(LIST, "DISCARD", "tcp"), Some(9));
        assert_eq!(find(LIST, "sink", "tcp"), Some(9));
        assert_eq!(find(LIST, "sink", "dccp"), None);
        assert_eq!(find(LIST, "dccp-udp", "udp"), Some(6511));
        assert_eq!(find(LIST, "rfc6773", "udp"), Some(6511));
        for absent in ["hidden", "broken", "worse", "worst", "9/tcp", "#", ""] {
            assert_eq!(find(LIST, absent, "dccp"), None, "{absent}");
            assert_eq!(find(LIST, absent, "udp"), None, "{absent}");
        }
    }

    #[test]
    fn fragment_for_packages_has_the_services() {
        let fragment = include_str!("../../../../contrib/services");
        assert_eq!(find(fragment, "dccp-udp", "udp"), Some(6511));
        assert_eq!(find(fragment, "discard", "dccp"), Some(9));
    }

    #[test]
    fn numbers_are_no_names() {
        for name in ["echo", "dccp-udp", "z3950", "3com-tsmux", "whois++"] {
            assert!(is_name(name), "{name}");
        }
        for text in ["", "7", "+8", "65536", "-1", "a b", "a/b", "écho"] {
            assert!(!is_name(text), "{text}");
        }
    }

    #[test]
    fn lists_of_the_system_are_read() {
        // Each system with the file has this service.
        if std::path::Path::new(super::LIST).exists() {
            assert_eq!(service_port("domain", "udp"), Some(53));
        }
        assert_eq!(service_port("no-such-service", "dccp"), None);
    }
}
