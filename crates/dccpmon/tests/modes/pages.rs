//! Manual pages and completions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

fn dccpmon(words: &[&str]) -> Output {
    let mut dccpmon = Command::new(env!("CARGO_BIN_EXE_dccpmon"));
    dccpmon.args(words).output().expect("dccpmon starts")
}

/// Writes the pages into an empty folder.
fn pages(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    let written = dccpmon(&["man", folder.to_str().expect("UTF-8")]);
    assert!(written.status.success(), "{written:?}");
    folder
}

fn completions(shell: &str) -> String {
    let script = dccpmon(&["completions", shell]);
    assert!(script.status.success(), "{script:?}");
    String::from_utf8(script.stdout).expect("UTF-8")
}

/// The subcommands with their long options.
fn commands() -> Vec<(String, Vec<String>)> {
    let mut command = dccpmon::command();
    command.build();
    let subcommands = command.get_subcommands();
    subcommands
        .map(|subcommand| {
            let longs = subcommand.get_arguments().filter_map(clap::Arg::get_long);
            let longs = longs.map(str::to_owned).collect();
            (subcommand.get_name().to_owned(), longs)
        })
        .collect()
}

// goal 53: manual pages and completions of every subcommand and option.
#[test]
fn pages_and_completions_name_every_option() {
    let folder = pages("pages-of-options");
    let scripts = SHELLS.map(completions);
    let commands = commands();
    assert!(commands.iter().any(|(_, longs)| longs.len() > 5));
    for (name, longs) in commands {
        let page = folder.join(format!("dccpmon-{name}.1"));
        let page = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        for long in longs {
            let in_page = format!("\\-\\-{}", long.replace('-', "\\-"));
            assert!(page.contains(&in_page), "dccpmon-{name}.1: --{long}");
            for (shell, script) in SHELLS.iter().zip(&scripts) {
                // fish names an option by its letters alone.
                let word = if *shell == "fish" {
                    format!("-l {long}")
                } else {
                    format!("--{long}")
                };
                assert!(script.contains(&word), "{shell}: {name} --{long}");
            }
        }
    }
}

#[test]
fn man_shows_every_page() {
    if Command::new("man").arg("--version").output().is_err() {
        println!("SKIP man_shows_every_page: man is not installed");
        return;
    }
    for page in fs::read_dir(pages("pages-of-man")).expect("a folder") {
        let page = page.expect("a page").path();
        let mut man = Command::new("man");
        man.args(["--warnings", "-l"])
            .arg(&page)
            .env("LC_ALL", "C.UTF-8");
        let shown = man.output().expect("man starts");
        let complaints = String::from_utf8_lossy(&shown.stderr);
        assert!(shown.status.success(), "{}: {complaints}", page.display());
        assert_eq!(complaints, "", "{}", page.display());
        assert!(!shown.stdout.is_empty(), "{}", page.display());
    }
}

#[test]
fn bash_accepts_its_script() {
    let mut bash = Command::new("bash");
    bash.arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut bash = bash.spawn().expect("bash starts");
    let script = completions("bash");
    let mut stdin = bash.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, script.as_bytes()).expect("bash reads");
    drop(stdin);
    let checked = bash.wait_with_output().expect("bash ends");
    assert!(checked.status.success(), "{checked:?}");
}
