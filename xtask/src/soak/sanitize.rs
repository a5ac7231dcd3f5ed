//! `cargo xtask soak sanitize`: the tests of sockets and rings with the sanitizers for addresses and threads.

use anyhow::Result;

use crate::fuzz::{host, require_nightly};
use crate::tree;
use dccp_dev::packages;
use dccp_dev::shell::{self, command_line};

/// Crates with `unsafe` code, threads or shared memory.
const PACKAGES: [&str; 4] = ["dccp-io", "dccp-ring", "dccp-ring-ipc", "usrdccp"];

/// Their tests, less the models in `loom`, which have no real threads, and less corpora and examples, which run the
/// same code.
const TESTS: [&str; 6] = [
    "sockets",
    "fork",
    "poll",
    "processes",
    "shared",
    "namespaces",
];

/// A sanitizer of rustc, and how it runs.
struct Sanitizer {
    name: &'static str,
    /// More arguments of cargo.
    cargo: &'static [&'static str],
    options: (&'static str, &'static str),
}

const SANITIZERS: [Sanitizer; 2] = [
    Sanitizer {
        name: "address",
        cargo: &[],
        // Leaks are no unsafety. Their search fails under strace, which tests use, and reports the memory of threads
        // that a fork left behind.
        options: ("ASAN_OPTIONS", "detect_leaks=0"),
    },
    Sanitizer {
        name: "thread",
        // Without instrumentation of std, its synchronisation would be invisible and look like races.
        cargo: &["-Zbuild-std"],
        // A test starts threads in the child of a fork. By default the sanitizer ends such a process.
        options: ("TSAN_OPTIONS", "die_after_fork=0"),
    },
];

pub(super) fn run() -> Result<bool> {
    require_nightly()?;
    shell::run(&mut command_line(
        "rustup component add --toolchain nightly rust-src",
    ))?;
    packages::install(packages::FOR_TESTS)?;
    let mut failed = Vec::new();
    for sanitizer in &SANITIZERS {
        println!("Tests with the sanitizer: {}", sanitizer.name);
        if !test(sanitizer)? {
            failed.push(sanitizer.name);
        }
    }
    println!("Sanitizers with findings: {}", failed.len());
    Ok(failed.is_empty())
}

/// Runs all tests with a sanitizer. Returns whether it found nothing.
fn test(sanitizer: &Sanitizer) -> Result<bool> {
    let mut test = command_line("cargo +nightly test --quiet --no-fail-fast --lib");
    test.args(["--target", &host()?]).args(sanitizer.cargo);
    test.args(PACKAGES.iter().flat_map(|name| ["--package", name]));
    test.args(TESTS.iter().flat_map(|name| ["--test", name]));
    test.env("RUSTFLAGS", format!("-Zsanitizer={}", sanitizer.name));
    let folder = tree::root()?.join("target/sanitizer").join(sanitizer.name);
    test.env("CARGO_TARGET_DIR", folder);
    test.env(sanitizer.options.0, sanitizer.options.1);
    Ok(test.status()?.success())
}
