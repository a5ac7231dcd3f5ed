//! Sums with the wide registers of x86-64 processors, where they have them: the crate's only unsafe code.
//!
//! Each function shows the bytes to `each` piece by piece, before it sums them: so that who copies them reads them
//! only once.

use core::arch::x86_64 as simd;

/// Fewer bytes are not worth the question what the processor has.
const WORTH_ASKING: usize = 128;

/// The sum of the 16-bit words that `bytes` begins with, in the machine's order, and the bytes that are left
/// over, not shown yet: all where the processor has nothing for this.
pub(super) fn sum(bytes: &[u8], each: impl FnMut(&[u8])) -> (u64, &[u8]) {
    if bytes.len() < WORTH_ASKING {
        return (0, bytes);
    }
    avx2(bytes, each).unwrap_or((0, bytes))
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

/// Sixteen words at a time: 32768 is taken from each, so that an instruction that multiplies signed words adds
/// them in pairs, and put back at the end.
#[target_feature(enable = "avx2")]
fn sum_avx2(blocks: &[[u8; 32]], mut each: impl FnMut(&[u8])) -> u64 {
    const BIAS: u64 = 1 << 15;
    /// Blocks whose sums stay below 2^31.
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
