//! Machines that stand for nodes in a run on hosts.

use core::fmt;
use core::str::FromStr;

/// The machine that stands for a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The node, as an index of the nodes.
    pub node: usize,
    /// The machine; `None`: the one that this program runs on.
    pub host: Option<Host>,
}

/// A machine where `dccpmon serve` runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// Its name or address, without brackets.
    pub name: String,
    /// The UDP port of the server; `None`: the usual one.
    pub port: Option<u16>,
}

/// Reads `HOST` or `HOST:PORT`. An IPv6 address with a port stands in brackets.
impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_bare_v6 = text.matches(':').count() > 1 && !text.starts_with('[');
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !is_bare_v6 && !text.ends_with(']') => (name, Some(port)),
            _ => (text, None),
        };
        let port = port.map(|port| port.parse().ok().filter(|port| *port > 0));
        if port == Some(None) {
            return Err(format!("{text}: a port must be from 1 to 65535"));
        }
        let name = name.strip_prefix('[').unwrap_or(name);
        let name = name.strip_suffix(']').unwrap_or(name);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:%".contains(c);
        if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
            return Err(format!("{text}: must be the name or address of a machine"));
        }
        Ok(Self {
            name: name.to_owned(),
            port: port.flatten(),
        })
    }
}

/// As [`FromStr`] reads it.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) if self.name.contains(':') => write!(f, "[{}]:{port}", self.name),
            Some(port) => write!(f, "{}:{port}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_has_a_name_and_may_have_a_port() {
        for (text, name, port) in [
            ("a.example", "a.example", None),
            ("192.0.2.1:14233", "192.0.2.1", Some(14_233)),
            ("2001:db8::1", "2001:db8::1", None),
            ("[2001:db8::1]:7", "2001:db8::1", Some(7)),
        ] {
            let host: Host = text.parse().unwrap();
            assert_eq!((host.name.as_str(), host.port), (name, port));
            assert_eq!(host.to_string(), text);
        }
        assert_eq!("[::1]".parse::<Host>().unwrap().name, "::1");
        for text in ["", "-x", "a:0", "a:70000", "a:x", "a b", "[]:1"] {
            assert!(text.parse::<Host>().is_err(), "{text}");
        }
    }
}
