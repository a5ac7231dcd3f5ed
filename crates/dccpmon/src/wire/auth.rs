//! The shared key of a server. Each end proves that it has the key, and neither sends it.
//!
//! Each end chooses a random [`Nonce`] for the control connection. The client's proof is an HMAC-SHA-256 (RFC 2104)
//! over both nonces, the number of the request on this connection, and the exact text of the request. The server's
//! proof covers its answer in the same way. So a recorded proof is worth nothing on another connection, and nothing
//! for another request.
//!
//! The proofs protect the server's resources from strangers. They do not encrypt, and they do not protect the data of
//! a test. A listener on the path can try keys against a recorded proof, so a key must be random.

use core::fmt;
use dccp_cli::Failure;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The shortest key, in bytes.
pub(crate) const KEY_MIN: usize = 16;
/// The longest file of a key, in bytes.
const FILE_MAX: usize = 4096;
const NONCE_LEN: usize = 16;
const PROOF_LEN: usize = 32;
/// Both labels have the same length, so the fields behind them are at fixed places.
const CLIENT: &[u8; 16] = b"dccpmon/2 client";
const SERVER: &[u8; 16] = b"dccpmon/2 server";

/// A key, ready to make proofs. It is never printed.
#[derive(Clone)]
pub(crate) struct Key(Hmac<Sha256>);

impl Key {
    /// Reads a key from a file, without the white space around it.
    ///
    /// # Errors
    /// The file cannot be read, other users have access to it, or the key is shorter than [`KEY_MIN`] bytes.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let failure =
            |what: &str, next: String| Failure::usage(format!("key file {shown}: {what}"), next);
        let unreadable = |e: io::Error| {
            failure(
                &format!("cannot be read: {e}"),
                "check the path and the file's owner".into(),
            )
        };
        let file = File::open(path).map_err(unreadable)?;
        if let Some(mode) = mode_for_others(&file).map_err(unreadable)? {
            return Err(failure(
                &format!("mode {mode:o}: other users have access to the key"),
                format!("chmod 600 {shown}"),
            ));
        }
        let mut bytes = Vec::new();
        file.take(FILE_MAX as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        let key = bytes.trim_ascii();
        if key.len() < KEY_MIN || bytes.len() > FILE_MAX {
            return Err(failure(
                &format!("the key must have {KEY_MIN} to {FILE_MAX} bytes"),
                format!("make one: (umask 077; head -c 32 /dev/urandom | base64 > {shown})"),
            ));
        }
        Ok(Self::new(key))
    }

    /// A key of these bytes.
    pub(crate) fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Returns the file's mode if it gives rights to the group or to others.
#[cfg(unix)]
fn mode_for_others(file: &File) -> io::Result<Option<u32>> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    Ok((mode & 0o077 != 0).then_some(mode))
}

/// Systems without modes have other means, which this program does not check.
#[cfg(not(unix))]
fn mode_for_others(_: &File) -> io::Result<Option<u32>> {
    Ok(None)
}

/// A random number that one end uses for one connection. Its text has 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Nonce([u8; NONCE_LEN]);

impl Nonce {
    /// Makes a nonce from the system's random numbers.
    ///
    /// # Errors
    /// The system has none.
    pub(crate) fn random() -> Result<Self, Failure> {
        let mut bytes = [0; NONCE_LEN];
        getrandom::fill(&mut bytes).map_err(|e| {
            let what = format!("the system gives no random numbers: {e}");
            Failure::run(what, "check this system's limits")
        })?;
        Ok(Self(bytes))
    }
}

/// Shows that the sender of a text has the key. Its text has 64 hexadecimal digits.
///
/// Proofs cannot be compared with `==`, because the time of that comparison tells how many bytes agree.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Proof([u8; PROOF_LEN]);

/// A text that is not the expected number of hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NotHex;

impl fmt::Display for NotHex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the expected number of hexadecimal digits")
    }
}

impl core::error::Error for NotHex {}

impl From<Nonce> for String {
    fn from(nonce: Nonce) -> Self {
        hex(&nonce.0)
    }
}

impl From<Proof> for String {
    fn from(proof: Proof) -> Self {
        hex(&proof.0)
    }
}

impl TryFrom<String> for Nonce {
    type Error = NotHex;

    fn try_from(text: String) -> Result<Self, NotHex> {
        bytes(&text).map(Self)
    }
}

impl TryFrom<String> for Proof {
    type Error = NotHex;

    fn try_from(text: String) -> Result<Self, NotHex> {
        bytes(&text).map(Self)
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(digit).collect()
}

fn bytes<const N: usize>(text: &str) -> Result<[u8; N], NotHex> {
    // `from_str_radix` also accepts a sign.
    if text.len() != 2 * N || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(NotHex);
    }
    let mut bytes = [0; N];
    for (n, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * n..2 * n + 2], 16).map_err(|_| NotHex)?;
    }
    Ok(bytes)
}

/// The proofs of one control connection. Both ends keep one.
///
/// A connection can request several tests, one after the other. Their number is part of each proof.
#[derive(Debug)]
pub(crate) struct Exchange {
    client: Nonce,
    server: Nonce,
    requests: u64,
}

impl Exchange {
    /// Begins with the nonces of both ends. Each end must have made its own one for this connection.
    pub(crate) fn new(client: Nonce, server: Nonce) -> Self {
        Self {
            client,
            server,
            requests: 0,
        }
    }

    /// The client's proof for its next request.
    pub(crate) fn prove_request(&mut self, key: &Key, request: &str) -> Proof {
        self.requests += 1;
        proof(self.of_request(key, request))
    }

    /// Returns true if `proof` shows that the client has the key and sent `request` now. Call it once for each request
    /// because it counts them.
    pub(crate) fn check_request(&mut self, key: &Key, request: &str, proof: &Proof) -> bool {
        self.requests += 1;
        is_proven(self.of_request(key, request), proof)
    }

    /// The server's proof for its answer to the last request: the token of the test and the text of the grant.
    pub(crate) fn prove_answer(&self, key: &Key, token: u64, granted: &str) -> Proof {
        proof(self.of_answer(key, token, granted))
    }

    /// Returns true if `proof` shows that the server has the key and answered the last request so.
    pub(crate) fn check_answer(&self, key: &Key, token: u64, granted: &str, proof: &Proof) -> bool {
        is_proven(self.of_answer(key, token, granted), proof)
    }

    fn of_request(&self, key: &Key, request: &str) -> Hmac<Sha256> {
        self.begin(key, CLIENT).chain_update(request)
    }

    fn of_answer(&self, key: &Key, token: u64, granted: &str) -> Hmac<Sha256> {
        self.begin(key, SERVER)
            .chain_update(token.to_be_bytes())
            .chain_update(granted)
    }

    /// Every field here has a fixed length, and only one text follows, so no two inputs have the same bytes.
    fn begin(&self, key: &Key, label: &[u8]) -> Hmac<Sha256> {
        let mac = key.0.clone().chain_update(label);
        mac.chain_update(self.client.0)
            .chain_update(self.server.0)
            .chain_update(self.requests.to_be_bytes())
    }
}

fn proof(mac: Hmac<Sha256>) -> Proof {
    Proof(mac.finalize().into_bytes().into())
}

/// Compares in a time that does not depend on the bytes.
fn is_proven(mac: Hmac<Sha256>, proof: &Proof) -> bool {
    mac.verify_slice(&proof.0).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const REQUEST: &str = r#"{"duration_ns":1}"#;
    const GRANTED: &str = r#"{"duration_ns":1,"lowered":[]}"#;

    fn key(text: &str) -> Key {
        Key::new(text.as_bytes())
    }

    fn nonce(byte: u8) -> Nonce {
        Nonce([byte; NONCE_LEN])
    }

    /// The two ends of a connection.
    fn ends() -> (Exchange, Exchange) {
        let end = || Exchange::new(nonce(1), nonce(2));
        (end(), end())
    }

    #[test]
    fn ends_with_the_same_key_prove_it_to_each_other() {
        let key = key("0123456789abcdef");
        let (mut client, mut server) = ends();
        for token in 0..3 {
            let proof = client.prove_request(&key, REQUEST);
            assert!(server.check_request(&key, REQUEST, &proof));
            let proof = server.prove_answer(&key, token, GRANTED);
            assert!(client.check_answer(&key, token, GRANTED, &proof));
        }
    }

    /// The expected proofs come from Python's `hmac` module.
    #[test]
    fn proofs_are_hmac_sha_256_of_the_documented_bytes() {
        let key = key("0123456789abcdef");
        let (mut client, mut server) = ends();
        let request = client.prove_request(&key, "request");
        assert_eq!(
            String::from(request),
            "70a8315d18f35af12e9d53e4e48033c49785ce6c7278296c28ddb3c471415380"
        );
        assert!(server.check_request(&key, "request", &request));
        assert_eq!(
            String::from(server.prove_answer(&key, 0x0102_0304_0506_0708, "granted")),
            "0d4cc554f867cd307ac3bf8bf06bec69c9f3228da65aeed4f241b27bc49a91c4"
        );
    }

    #[test]
    fn wrong_key_text_or_token_is_refused() {
        let (right, wrong) = (key("0123456789abcdef"), key("0123456789abcdeg"));
        let (mut client, _) = ends();
        let request = client.prove_request(&right, REQUEST);
        let check = |key: &Key, text: &str| ends().1.check_request(key, text, &request);
        assert!(check(&right, REQUEST));
        assert!(!check(&wrong, REQUEST));
        assert!(!check(&right, &REQUEST.replace('1', "2")));
        assert!(!check(&right, ""));

        let (_, mut server) = ends();
        assert!(server.check_request(&right, REQUEST, &request));
        let answer = server.prove_answer(&right, 7, GRANTED);
        assert!(client.check_answer(&right, 7, GRANTED, &answer));
        assert!(!client.check_answer(&wrong, 7, GRANTED, &answer));
        assert!(!client.check_answer(&right, 8, GRANTED, &answer));
        assert!(!client.check_answer(&right, 7, REQUEST, &answer));
    }

    #[test]
    fn each_changed_bit_of_a_proof_is_refused() {
        let key = key("0123456789abcdef");
        let (mut client, _) = ends();
        let right = client.prove_request(&key, REQUEST);
        for bit in 0..8 * PROOF_LEN {
            let mut proof = right;
            proof.0[bit / 8] ^= 1 << (bit % 8);
            assert!(!ends().1.check_request(&key, REQUEST, &proof), "bit {bit}");
        }
    }

    #[test]
    fn recorded_proof_is_refused_on_another_connection_and_for_a_later_request() {
        let key = key("0123456789abcdef");
        let (mut client, mut server) = ends();
        let recorded = client.prove_request(&key, REQUEST);
        assert!(server.check_request(&key, REQUEST, &recorded));
        assert!(!server.check_request(&key, REQUEST, &recorded), "replayed");
        let mut other = Exchange::new(nonce(1), nonce(3));
        assert!(!other.check_request(&key, REQUEST, &recorded));
        let mut exchanged = Exchange::new(nonce(2), nonce(1));
        assert!(!exchanged.check_request(&key, REQUEST, &recorded));
    }

    /// A false server must not be able to return the client's own proof as the answer.
    #[test]
    fn proof_of_one_end_is_none_of_the_other() {
        let key = key("0123456789abcdef");
        let (mut client, _) = ends();
        let token = u64::from_be_bytes(*b"AAAAAAAA");
        let own = client.prove_request(&key, "AAAAAAAAtext");
        assert!(!client.check_answer(&key, token, "text", &own));
    }

    #[test]
    fn nonces_and_proofs_travel_as_hexadecimal_digits() {
        let random = Nonce::random().unwrap();
        assert_ne!(random, Nonce::random().unwrap());
        let text = serde_json::to_string(&random).unwrap();
        assert_eq!(text.len(), 34);
        assert_eq!(serde_json::from_str::<Nonce>(&text).unwrap(), random);
        assert_eq!(
            serde_json::to_string(&nonce(10)).unwrap(),
            format!("\"{}\"", "0a".repeat(16))
        );
        for wrong in [
            "",
            "0a",
            &"0a".repeat(17),
            &"+a".repeat(16),
            &"0g".repeat(16),
            &"ä".repeat(16),
        ] {
            assert_eq!(Nonce::try_from(wrong.to_owned()), Err(NotHex), "{wrong}");
        }
        assert!(serde_json::from_str::<Proof>("\"00\"").is_err());
    }

    #[test]
    fn key_is_not_printed() {
        assert_eq!(format!("{:?}", key("0123456789abcdef")), "Key(..)");
    }

    #[cfg(unix)]
    #[test]
    fn key_file_must_be_private_and_long_enough() {
        use std::os::unix::fs::PermissionsExt as _;
        let path = std::env::temp_dir().join(format!("dccpmon-key-{}", std::process::id()));
        let write = |text: &[u8], mode: u32| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let refusal = || Key::read(&path).unwrap_err();

        write(b"  0123456789abcdef\n", 0o600);
        let read = Key::read(&path).unwrap();
        let (mut client, mut server) = ends();
        let proof = client.prove_request(&key("0123456789abcdef"), REQUEST);
        assert!(
            server.check_request(&read, REQUEST, &proof),
            "white space is no part of a key"
        );

        write(b"0123456789abcdef\n", 0o640);
        assert!(
            refusal()
                .what
                .ends_with("mode 640: other users have access to the key")
        );
        assert_eq!(refusal().next, format!("chmod 600 {}", path.display()));
        write(b"0123456789abcde\n", 0o600);
        assert!(
            refusal()
                .what
                .ends_with("the key must have 16 to 4096 bytes"),
            "{}",
            refusal()
        );
        write(&[b'x'; FILE_MAX + 1], 0o600);
        assert!(
            refusal()
                .what
                .ends_with("the key must have 16 to 4096 bytes")
        );
        fs::remove_file(&path).unwrap();
        assert!(refusal().what.contains("cannot be read: "), "{}", refusal());
        assert_eq!(refusal().code, dccp_cli::exit::USAGE);
    }
}
