//! The commands of `docs/first-minute.md`, run in two network namespaces with the addresses of that page.

use dccp_netns::{Namespace, veth};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

const PAGE: &str = include_str!("../../../../docs/first-minute.md");

/// A command of the page with the output that the page shows.
#[derive(PartialEq, Debug)]
struct Step {
    is_server: bool,
    line: String,
    shown: Vec<String>,
}

/// Reads the console blocks.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_console = line == "```console";
            continue;
        }
        if !is_console {
            continue;
        }
        let at_server = line.strip_prefix("server$ ");
        let command = at_server.or_else(|| line.strip_prefix("client$ "));
        match (command, steps.last_mut()) {
            (Some(command), _) => steps.push(Step {
                is_server: at_server.is_some(),
                line: command.to_owned(),
                shown: Vec::new(),
            }),
            (None, Some(step)) => step.shown.push(line.to_owned()),
            (None, None) => panic!("{line}: stands before the first command"),
        }
    }
    steps
}

/// A test of ten seconds shows no more than a shorter one.
fn shortened(line: &str) -> String {
    let is_test = line.starts_with("dccpmon 192.0.2.10") && !line.contains(" -t ");
    if is_test {
        line.replacen("192.0.2.10", "192.0.2.10 -t 0.3", 1)
    } else {
        line.to_owned()
    }
}

/// Two hosts, and a folder where the commands run.
struct Bench {
    client: Namespace,
    server: Namespace,
    folder: PathBuf,
    running: Vec<Child>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        for child in &mut self.running {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Bench {
    fn new() -> Self {
        let [client, server] = ["client", "server"].map(|role| Namespace::new(role).expect("root"));
        veth(&client, &server, "path").expect("a pair of devices");
        client.add_address("path", "192.0.2.20/24").expect("ip");
        server.add_address("path", "192.0.2.10/24").expect("ip");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-minute");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        Self {
            client,
            server,
            folder,
            running: Vec::new(),
        }
    }

    fn command(&self, step: &Step) -> Command {
        let host = if step.is_server {
            &self.server
        } else {
            &self.client
        };
        // `exec` makes the shell's process the server's.
        let line = if step.is_server {
            format!("exec {}", step.line)
        } else {
            shortened(&step.line)
        };
        let mut command = host.command(&["sh", "-c", &line]);
        let program = Path::new(env!("CARGO_BIN_EXE_dccpmon"));
        let own = program.parent().expect("a folder").display().to_string();
        let path = std::env::var("PATH").expect("PATH");
        command.env("PATH", format!("{own}:{path}"));
        command.current_dir(&self.folder);
        command
    }

    /// Starts a server; returns what it has printed when it is ready.
    fn serve(&mut self, step: &Step) -> String {
        let output = self.folder.join("server.txt");
        let mut command = self.command(step);
        command.stdout(File::create(&output).expect("a file"));
        self.running
            .push(command.spawn().expect("the server starts"));
        for _ in 0..100 {
            sleep(Duration::from_millis(50));
            let printed = fs::read_to_string(&output).expect("text");
            if printed.lines().count() >= step.shown.len().max(1) {
                return printed;
            }
        }
        panic!("{}: prints too little", step.line);
    }

    fn run(&self, step: &Step) -> String {
        let output = self.command(step).output().expect("a shell");
        let printed =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
        let printed = printed.concat();
        let fails = step.shown.iter().any(|line| line.starts_with("error:"));
        assert_eq!(output.status.success(), !fails, "{}: {printed}", step.line);
        printed
    }
}

/// The first word of a line.
fn first_word(line: &str) -> Option<&str> {
    line.split_whitespace().next()
}

#[test]
fn every_command_of_the_first_minute_works() {
    if !dccp_dev::shell::is_root() {
        println!(
            "SKIP every_command_of_the_first_minute_works: needs root, because it makes namespaces"
        );
        return;
    }
    let steps = steps(PAGE);
    assert!(steps.len() > 5, "{steps:?}");
    let mut bench = Bench::new();
    for step in steps {
        let is_service = step.is_server && step.line.starts_with("dccpmon serve");
        let printed = if is_service {
            bench.serve(&step)
        } else {
            bench.run(&step)
        };
        for word in step.shown.iter().filter_map(|line| first_word(line)) {
            let is_there = printed.lines().any(|line| first_word(line) == Some(word));
            assert!(
                is_there || word == "…",
                "{}: no line begins with {word}:\n{printed}",
                step.line
            );
        }
    }
}

#[test]
fn console_blocks_are_read() {
    let page = "text\n```console\nserver$ dccpmon serve\nready\n```\n```sh\nother\n```\n```console\nclient$ dccpmon 192.0.2.10 -R\n```\n";
    let read = steps(page);
    assert_eq!(read[0].shown, ["ready"]);
    assert!(read[0].is_server && !read[1].is_server);
    assert_eq!(shortened(&read[1].line), "dccpmon 192.0.2.10 -t 0.3 -R");
}
