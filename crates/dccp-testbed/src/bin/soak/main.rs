//! Plays many conversations, each drawn whole from its seed, with every promise watched, and counts
//! which states, transitions and Reset codes they reached.
//!
//! `soak COUNT [FIRST]` plays COUNT seeds from FIRST (default 1) on all cores. A broken promise ends
//! it with the seed and the command that repeats it. A state, transition or Reset code that was never
//! reached is an error too when there were enough seeds (1000) to expect it.

mod coverage;
mod draw;
mod stranger;

use coverage::Coverage;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// With this many seeds, everything should have been reached.
const ENOUGH: u64 = 1000;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let (count, first) = match (words.next(), words.next()) {
        (Some(Ok(count)), None) => (count, 1),
        (Some(Ok(count)), Some(Ok(first))) => (count, first),
        _ => {
            eprintln!("error: the number of seeds is missing\n next: soak COUNT [FIRST]");
            return ExitCode::from(2);
        }
    };
    let end = first.saturating_add(count);
    let next = AtomicU64::new(first);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut coverage = Coverage::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return Ok(coverage);
            }
            let played = catch_unwind(AssertUnwindSafe(|| draw::play(seed, &mut coverage)));
            if let Err(panic) = played {
                // The other workers stop too.
                next.store(end, Ordering::Relaxed);
                return Err((seed, message_of(&*panic)));
            }
        }
    };
    let mut total = Coverage::default();
    let all_well = thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut all_well = true;
        for worker in running {
            match worker.join().expect("panics are caught") {
                Ok(coverage) => total.add(&coverage),
                Err((seed, message)) => {
                    all_well = false;
                    println!("seed {seed}: {message}");
                    println!("repeat: cargo run --release -p dccp-testbed --bin soak -- 1 {seed}");
                }
            }
        }
        all_well
    });
    println!("{total}");
    let missing = total.missing();
    if !missing.is_empty() && count >= ENOUGH {
        println!("never reached: {}", missing.join(", "));
    }
    println!(
        "{count} seeds from {first}: {}",
        if all_well {
            "no promise broken"
        } else {
            "FAILED"
        }
    );
    if all_well && (missing.is_empty() || count < ENOUGH) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("panicked without a message")
        .to_owned()
}
