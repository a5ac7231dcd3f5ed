//! Sums with the wide registers of x86-64 processors, where they have them: the crate's only unsafe code.
//!
//! Each function shows the bytes to `each` piece by piece, before it sums them: so that who copies them reads them
//! only once.

use core::arch::x86_64 as simd;

/// Fewer bytes are not worth the question what the processor has.
const WORTH_ASKING: usize = 128;

/// The sum of the 16-bit words that `bytes` begins with, in the machine's order, and the bytes that are left
/// over, not shown yet: all where the processor has nothing for this.
pub(super) fn sum(bytes: &[u8], mut each: impl FnMut(&[u8])) -> (u64, &[u8]) {
    if bytes.len() < WORTH_ASKING {
        return (0, bytes);
    }
    let summed = vnni(bytes, &mut each).or_else(|| avx2(bytes, each));
    summed.unwrap_or((0, bytes))
}

/// As [`sum`], with what AVX-512 has for neural networks; `None` where there is none.
pub(super) fn vnni(bytes: &[u8], each: impl FnMut(&[u8])) -> Option<(u64, &[u8])> {
    if !std::arch::is_x86_feature_detected!("avx512vnni")
        || !std::arch::is_x86_feature_detected!("avx512bw")
        || !std::arch::is_x86_feature_detected!("avx512vl")
    {
        return None;
    }
    #[expect(unsafe_code, reason = "only some processors have these instructions")]
    // SAFETY: this one has all that the function asks for.
    Some((unsafe { sum_vnni(bytes, each) }, &[]))
}

/// As [`sum`], with AVX2; `None` where there is none.
pub(super) fn avx2(bytes: &[u8], each: impl FnMut(&[u8])) -> Option<(u64, &[u8])> {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return None;
    }
    let (blocks, rest) = bytes.as_chunks();
    #[expect(unsafe_code, reason = "only some processors have these instructions")]
    // SAFETY: this one has AVX2, which is all that the function asks for.
    Some((unsafe { sum_avx2(blocks, each) }, rest))
}

/// Thirty-two bytes at a time: an instruction multiplies bytes with small numbers and adds them in fours, here those
/// with 1 that stand first in their words, and then those that stand second. Registers of 512 bits would be a
/// little quicker here, but slow the processor down: over IP they cost 5 % of the goodput.
#[target_feature(enable = "avx512bw,avx512vl,avx512vnni")]
fn sum_vnni(bytes: &[u8], mut each: impl FnMut(&[u8])) -> u64 {
    /// So many bytes sum up to less than 2^32.
    const AT_A_TIME: usize = 1 << 17;
    let mut total = 0;
    for bytes in bytes.chunks(AT_A_TIME) {
        let mut sums = [[simd::_mm256_setzero_si256(); 2]; 4];
        let (blocks, tail) = bytes.as_chunks::<32>();
        let (fours, rest) = blocks.as_chunks::<4>();
        for four in fours {
            each(four.as_flattened());
            for (sums, block) in sums.iter_mut().zip(four) {
                *sums = add_bytes(*sums, load(block));
            }
        }
        each(rest.as_flattened());
        for (sums, block) in sums.iter_mut().zip(rest) {
            *sums = add_bytes(*sums, load(block));
        }
        each(tail);
        let [a, b, c, d] = sums;
        let [first, second] = add(add(a, b), add(c, add_bytes(d, load_tail(tail))));
        // x86 is little-endian: what stands second counts 256.
        let sum = simd::_mm256_add_epi32(first, simd::_mm256_slli_epi32::<8>(second));
        total += u64::from(across(sum).cast_unsigned());
    }
    total
}

/// Adds the first bytes of the words to one sum, the second ones to the other.
#[target_feature(enable = "avx512vl,avx512vnni")]
fn add_bytes([first, second]: [simd::__m256i; 2], words: simd::__m256i) -> [simd::__m256i; 2] {
    [
        simd::_mm256_dpbusd_epi32(first, words, simd::_mm256_set1_epi16(0x00_01)),
        simd::_mm256_dpbusd_epi32(second, words, simd::_mm256_set1_epi16(0x01_00)),
    ]
}

#[target_feature(enable = "avx2")]
fn add([a, b]: [simd::__m256i; 2], [c, d]: [simd::__m256i; 2]) -> [simd::__m256i; 2] {
    [simd::_mm256_add_epi32(a, c), simd::_mm256_add_epi32(b, d)]
}

/// The sum of all eight numbers of a register.
#[target_feature(enable = "avx2")]
fn across(sums: simd::__m256i) -> i32 {
    let low = simd::_mm256_castsi256_si128(sums);
    let sum = simd::_mm_add_epi32(low, simd::_mm256_extracti128_si256::<1>(sums));
    let sum = simd::_mm_add_epi32(sum, simd::_mm_shuffle_epi32::<0b01_00_11_10>(sum));
    let sum = simd::_mm_add_epi32(sum, simd::_mm_shuffle_epi32::<0b10_11_00_01>(sum));
    simd::_mm_cvtsi128_si32(sum)
}

#[target_feature(enable = "avx2")]
fn load(block: &[u8; 32]) -> simd::__m256i {
    #[expect(unsafe_code, reason = "there is no safe way to load a register")]
    // SAFETY: the block has the 32 bytes that are read, and needs no alignment.
    unsafe {
        simd::_mm256_loadu_si256(block.as_ptr().cast())
    }
}

/// Fewer than 32 bytes, and zeros behind them.
#[target_feature(enable = "avx512bw,avx512vl")]
fn load_tail(tail: &[u8]) -> simd::__m256i {
    let mask = (1 << tail.len()) - 1;
    #[expect(unsafe_code, reason = "there is no safe way to load a register")]
    // SAFETY: only bytes are read whose bit of the mask is set, and those are the tail's.
    unsafe {
        simd::_mm256_maskz_loadu_epi8(mask, tail.as_ptr().cast())
    }
}

/// Sixteen words at a time: 32768 is taken from each, so that an instruction that multiplies signed words adds
/// them in pairs, and put back at the end.
#[target_feature(enable = "avx2")]
fn sum_avx2(blocks: &[[u8; 32]], mut each: impl FnMut(&[u8])) -> u64 {
    const BIAS: u64 = 1 << 15;
    /// So many blocks sum up to less than 2^31.
    const AT_A_TIME: usize = 2048;
    let mut total = 0;
    for blocks in blocks.chunks(AT_A_TIME) {
        let mut sums = [simd::_mm256_setzero_si256(); 4];
        let (fours, rest) = blocks.as_chunks::<4>();
        for four in fours {
            each(four.as_flattened());
            for (sum, block) in sums.iter_mut().zip(four) {
                *sum = simd::_mm256_add_epi32(*sum, pairs(block));
            }
        }
        each(rest.as_flattened());
        for (sum, block) in sums.iter_mut().zip(rest) {
            *sum = simd::_mm256_add_epi32(*sum, pairs(block));
        }
        let [a, b, c, d] = sums;
        let sum =
            simd::_mm256_add_epi32(simd::_mm256_add_epi32(a, b), simd::_mm256_add_epi32(c, d));
        let unbiased = i64::from(across(sum));
        // Never below zero: each word is.
        total += (16 * BIAS * blocks.len() as u64).wrapping_add_signed(unbiased);
    }
    total
}

/// The sums of neighbouring words, less twice 32768 each.
#[target_feature(enable = "avx2")]
fn pairs(block: &[u8; 32]) -> simd::__m256i {
    let words = load(block);
    let biased = simd::_mm256_xor_si256(words, simd::_mm256_set1_epi16(i16::MIN));
    simd::_mm256_madd_epi16(biased, simd::_mm256_set1_epi16(1))
}
