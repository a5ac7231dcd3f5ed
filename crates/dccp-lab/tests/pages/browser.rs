//! How a browser shows pages, with scripts and without: `tests/browser/check.py` says what is checked.

use crate::{document, file, judged, page, reproduction, result, text};
use dccp_dev::{python, shell};
use std::fs;
use std::process::Command;

#[test]
fn browser_shows_pages_with_and_without_scripts() {
    let Some(browser) = shell::find_program("chromium") else {
        println!("SKIP browser_shows_pages_with_and_without_scripts: needs chromium");
        return;
    };
    let Some(python) = python::BROWSER.python() else {
        println!(
            "SKIP browser_shows_pages_with_and_without_scripts: needs the Python packages that `cargo xtask test` installs"
        );
        return;
    };
    let (report, _) = page("browser.html", &[text(&judged())]);
    let other = file("browser.json");
    fs::write(&other, document().to_string()).expect("a file");
    let (compared, _) = page(
        "browser-compared.html",
        &["--compare", text(result()), text(&other)],
    );
    let output = Command::new(python)
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/browser/check.py"
        ))
        .args([&browser, &report, &compared])
        .args(["index.html", "e25-no-data-arrives.html"].map(|name| reproduction().join(name)))
        .output()
        .expect("Python starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{error}");
    print!("{said}");
    assert!(said.ends_with("all checks passed\n"), "{said}");
}
