//! The keyed hash that the core is given (docs/design.md, decision 11c): BLAKE3 with a secret of this process.

use dccp_proto::KeyedHash;
use std::sync::OnceLock;

const KEY_BYTES: usize = 32;

/// A keyed hash whose secret is drawn once per process from the operating system, so that no other
/// program can predict initial sequence numbers or forge Init Cookies.
#[derive(Clone)]
pub(crate) struct ProcessHash {
    key: [u8; KEY_BYTES],
}

impl ProcessHash {
    /// The hash of this process; an error if the system gives no randomness.
    pub(crate) fn new() -> std::io::Result<Self> {
        static KEY: OnceLock<[u8; KEY_BYTES]> = OnceLock::new();
        if let Some(key) = KEY.get() {
            return Ok(Self { key: *key });
        }
        let mut fresh = [0; KEY_BYTES];
        getrandom::fill(&mut fresh).map_err(std::io::Error::other)?;
        Ok(Self {
            key: *KEY.get_or_init(|| fresh),
        })
    }
}

impl KeyedHash for ProcessHash {
    fn hash(&self, data: &[u8]) -> u128 {
        let digest = blake3::keyed_hash(&self.key, data);
        let mut low = [0; 16];
        low.copy_from_slice(&digest.as_bytes()[..16]);
        u128::from_le_bytes(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_depends_on_data_and_key() {
        let ours = ProcessHash::new().unwrap();
        let again = ProcessHash::new().unwrap();
        let other = ProcessHash {
            key: [7; KEY_BYTES],
        };
        assert_eq!(ours.hash(b"flow"), again.hash(b"flow"));
        assert_ne!(ours.hash(b"flow"), ours.hash(b"flow2"));
        assert_ne!(ours.hash(b"flow"), other.hash(b"flow"));
    }
}
