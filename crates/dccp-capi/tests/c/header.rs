//! `include/dccp.h` is that which cbindgen makes from the sources. `UPDATE=1 cargo test -p dccp-capi --test c header` writes it.

use dccp_dev::shell::{command, find_program, output};
use std::path::{Path, PathBuf};

/// The crate's folder.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Compares a generated file, or writes it.
pub(crate) fn compare(file: &Path, text: &str, filter: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, text).unwrap();
    }
    let stored = std::fs::read_to_string(file).unwrap_or_default();
    let file = file.display();
    assert!(
        stored == text,
        "{file} is stale: UPDATE=1 cargo test -p dccp-capi --test c {filter}"
    );
}

#[test]
fn header_is_current() {
    if find_program("cbindgen").is_none() {
        println!("SKIP header_is_current: needs cbindgen, which `cargo xtask test` installs");
        return;
    }
    let folder = folder();
    let mut cbindgen = command(&["cbindgen", "--quiet", "--config", "cbindgen.toml"]);
    cbindgen.args(["--lockfile", "../../Cargo.lock", "."]);
    let text = output(cbindgen.current_dir(&folder)).unwrap();
    // cbindgen leaves blanks in empty lines of comments.
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    let text = lines.join("\n") + "\n";
    compare(&folder.join("include/dccp.h"), &text, "header");
}
