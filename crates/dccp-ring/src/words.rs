//! Copies between bytes and words that another process may change meanwhile. The first byte of a word is that with the
//! lowest address.

use core::sync::atomic::{AtomicU64, Ordering};

/// Copies words into `bytes`. Words that `words` lacks leave their bytes as they are.
pub fn read_words(words: &[AtomicU64], bytes: &mut [u8]) {
    let (whole, rest) = bytes.as_chunks_mut::<8>();
    for (chunk, word) in whole.iter_mut().zip(words) {
        *chunk = word.load(Ordering::Relaxed).to_ne_bytes();
    }
    if let Some(last) = words.get(whole.len()) {
        let last = last.load(Ordering::Relaxed).to_ne_bytes();
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// Copies `bytes` into words, the last one padded with zeros. Bytes for which `words` has no room are left out.
pub fn write_words(words: &[AtomicU64], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<8>();
    for (chunk, word) in whole.iter().zip(words) {
        word.store(u64::from_ne_bytes(*chunk), Ordering::Relaxed);
    }
    if !rest.is_empty()
        && let Some(last) = words.get(whole.len())
    {
        let mut padded = [0; 8];
        padded[..rest.len()].copy_from_slice(rest);
        last.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
    }
}
