//! Which mutant is active: put beside the code under test, in which every place that has mutants asks it.
//!
//! `MUTANT=17` activates the mutant 17. `MUTANT_REACHED=FILE` activates none, and each place that is
//! reached adds the number of its first mutant to the file, once.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

const UNKNOWN: u32 = u32::MAX;
const NOTING: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX - 2;

static ACTIVE: AtomicU32 = AtomicU32::new(UNKNOWN);
static REACHED: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];

/// Of the place whose first mutant has this number: which is active, counted from 0; some other number if
/// none is. What is computed while the compiler runs has none.
#[inline]
pub(crate) const fn at(first: u32) -> u32 {
    std::intrinsics::const_eval_select((first,), at_compile_time, at_run_time)
}

const fn at_compile_time(_first: u32) -> u32 {
    u32::MAX
}

#[inline]
fn at_run_time(first: u32) -> u32 {
    let active = ACTIVE.load(Relaxed);
    if active >= NOTING { note(first) } else { active.wrapping_sub(first) }
}

#[cold]
fn note(first: u32) -> u32 {
    if ACTIVE.load(Relaxed) == UNKNOWN {
        let mutant = std::env::var("MUTANT").map(|number| number.parse().expect("a number"));
        let is_noting = std::env::var_os("MUTANT_REACHED").is_some();
        ACTIVE.store(mutant.unwrap_or(if is_noting { NOTING } else { NONE }), Relaxed);
        return at_run_time(first);
    }
    if !REACHED[first as usize].swap(true, Relaxed) {
        let path = std::env::var_os("MUTANT_REACHED").expect("the file was given");
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("the file opens");
        file.write_all(format!("{first}\n").as_bytes()).expect("the file takes a line");
    }
    u32::MAX
}
