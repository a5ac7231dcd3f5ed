//! Mistakes in scenario files and what the program says of them: `tests/errors/NAME.toml` and
//! `NAME.txt`. `UPDATE=1 cargo test -p dccp-lab --test errors` writes the texts anew.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What `dccplab check` says of a file, which it is given by its bare name.
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

#[test]
fn every_mistake_is_told_in_two_lines_with_its_place() {
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
        let [first, second] = said.lines().collect::<Vec<_>>()[..] else {
            panic!("{file}: two lines");
        };
        assert!(first.starts_with(&format!("error: {file}:")), "{first}");
        assert!(second.starts_with(" next: "), "{second}");
    }
}

#[test]
fn a_file_that_is_no_text_says_where() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let text = b"schema = \"dccplab/1\"\nname = \"caf\xe9\"\n";
    fs::write(folder.join("latin.toml"), text).expect("a file");
    let (said, code) = said_of(folder, "latin.toml");
    assert_eq!(
        said,
        "error: latin.toml:2:12: this is no text in UTF-8\n next: save the file as UTF-8\n"
    );
    assert_eq!(code, Some(2));
}

#[test]
fn a_file_that_is_not_there_is_told_too() {
    let (said, code) = said_of(Path::new(env!("CARGO_MANIFEST_DIR")), "none.toml");
    assert!(said.starts_with("error: none.toml: the file cannot be read: "));
    assert_eq!(code, Some(1));
}
