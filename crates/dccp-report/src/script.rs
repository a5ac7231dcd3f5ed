//! The script of pages with charts, and hashes that permit it and nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha2::{Digest as _, Sha256};
use std::io::Write as _;

/// The sentence that names the library and its licence.
pub(crate) const CREDIT: &str = "Zooming by uPlot 1.6.32, copyright (c) 2022 Leon Sorokin, under the MIT licence, whose text is in this file.";

/// The style of the library's charts.
pub(crate) const STYLE: &str = include_str!("../vendor/uPlot.min.css");

/// The library, its licence, and our use of it. The first and the last line make it text for readers of XML.
pub(crate) const SCRIPT: &str = concat!(
    "//<![CDATA[\n/*!\n",
    include_str!("../vendor/LICENSE"),
    "*/\n",
    include_str!("../vendor/uPlot.iife.min.js"),
    "\n",
    include_str!("zoom.js"),
    "//]]>\n"
);

/// The source expression of a content security policy that permits exactly this text.
pub(crate) fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// A text, compressed and in letters that need no escapes.
pub(crate) fn packed(text: &str) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(text.as_bytes());
    let bytes = written.and_then(|()| encoder.finish());
    STANDARD.encode(bytes.expect("a vector grows as it must"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_has_the_form_of_a_policy() {
        // The hash of nothing, as the policy's specification writes it.
        assert_eq!(
            hash(""),
            "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
        );
    }

    #[test]
    fn script_cannot_end_early() {
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
        assert_eq!(SCRIPT.matches("]]>").count(), 1);
    }

    #[test]
    fn licence_is_in_the_script() {
        assert!(SCRIPT.contains("The MIT License") && SCRIPT.contains("Leon Sorokin"));
        assert!(SCRIPT.contains("(v1.6.32)") && CREDIT.contains("1.6.32"));
    }
}
