//! Mistakes in scenario files, `tests/errors/NAME.toml`, and the messages of the program, `NAME.txt`.
//! `UPDATE=1 cargo test -p dccp-lab --test program errors` writes the messages.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The messages and the exit code of `dccplab check FILE`.
fn said_of(folder: &Path, file: &str) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_dccplab"))
        .current_dir(folder)
        .args(["check", file])
        .output()
        .expect("the program starts");
    assert!(output.stdout.is_empty(), "{file}: nothing but the error");
    (
        String::from_utf8(output.stderr).expect("text"),
        output.status.code(),
    )
}

// goal 62: a scenario file is validated.
#[test]
fn mistake_is_reported_in_two_lines_with_its_place() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 30, "{} files", files.len());
    for path in files {
        let file = path.file_name().unwrap().to_str().unwrap();
        let (said, code) = said_of(&folder, file);
        let expected = path.with_extension("txt");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&expected, &said).unwrap();
        }
        assert_eq!(said, fs::read_to_string(&expected).unwrap(), "{file}");
        assert_eq!(code, Some(2), "{file}");
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines.len() >= 2 && lines.len().is_multiple_of(2), "{said}");
        for pair in lines.chunks(2) {
            assert!(pair[0].starts_with(&format!("error: {file}:")), "{said}");
            assert!(pair[1].starts_with(" next: "), "{said}");
        }
    }
}

#[test]
fn file_that_is_not_utf8_is_refused_with_its_place() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let text = b"schema = \"dccplab/1\"\nname = \"caf\xe9\"\n";
    fs::write(folder.join("latin.toml"), text).expect("a file");
    let (said, code) = said_of(folder, "latin.toml");
    assert_eq!(
        said,
        "error: latin.toml:2:12: the file is not text in UTF-8\n next: save the file as UTF-8\n"
    );
    assert_eq!(code, Some(2));
}

#[test]
fn missing_file_is_reported() {
    let (said, code) = said_of(Path::new(env!("CARGO_MANIFEST_DIR")), "none.toml");
    assert!(said.starts_with("error: none.toml: the file cannot be read: "));
    assert_eq!(code, Some(1));
}
