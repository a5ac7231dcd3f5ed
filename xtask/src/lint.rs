//! `cargo xtask lint`: lints, documentation, licences, and builds for other systems.

use anyhow::Result;

use dccp_dev::packages;
use dccp_dev::shell::{self, command};

const CARGO_DENY: &str = "0.20.2";

/// Packages that must also build elsewhere, and the targets.
const ELSEWHERE: [(&str, &str); 5] = [
    ("dccp-proto", "wasm32-unknown-unknown"),
    ("usrdccp", "aarch64-unknown-linux-gnu"),
    ("usrdccp", "aarch64-apple-darwin"),
    ("usrdccp", "x86_64-pc-windows-msvc"),
    ("usrdccp", "x86_64-pc-windows-gnu"),
];

pub(crate) fn run() -> Result<bool> {
    cargo("clippy --quiet --workspace --all-targets --all-features -- -D warnings")?;
    documentation()?;
    deny()?;
    elsewhere()?;
    Ok(true)
}

/// The documentation builds without a broken link.
fn documentation() -> Result<()> {
    let words = [
        "cargo",
        "doc",
        "--workspace",
        "--all-features",
        "--no-deps",
        "--quiet",
    ];
    shell::run(command(&words).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Licences, bans and sources; advisories where their database can be had.
fn deny() -> Result<()> {
    packages::install_cargo_tool("cargo-deny", CARGO_DENY)?;
    cargo("deny --log-level error check licenses bans sources")?;
    if shell::succeeds(&mut command(&["cargo", "deny", "fetch", "db"])) {
        cargo("deny --log-level error check advisories")
    } else {
        println!("Advisories not checked: their database cannot be reached from here.");
        Ok(())
    }
}

/// The portable parts build for other systems, where rustup has the target.
fn elsewhere() -> Result<()> {
    for (package, target) in ELSEWHERE {
        if packages::add_target(target) {
            cargo(&format!(
                "check --quiet --package {package} --target {target}"
            ))?;
        } else {
            println!("Not checked: {package} for {target}: rustup cannot add that target here.");
        }
    }
    Ok(())
}

fn cargo(words: &str) -> Result<()> {
    shell::run(command(&["cargo"]).args(words.split(' ')))
}
