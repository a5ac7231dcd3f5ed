//! The commands of `docs/first-minute.md`, run in two network namespaces with the addresses of that page. The link between
//! them is slower than that page's, so that a debug build on a busy machine fills it.

use core::time::Duration;
use dccp::Rate;
use dccp_emu::tun::{End, Tunnel};
use dccp_netns::Namespace;
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::{LinkConfig, Seed};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;

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

/// A test of ten seconds shows no more than a shorter one, apart from lines that the page leaves out.
fn shortened(line: &str) -> String {
    let is_test = line.starts_with("dccpmon 192.0.2.10") && !line.contains(" -t ");
    if is_test {
        line.replacen("192.0.2.10", "192.0.2.10 -t 1 -i 0.5", 1)
    } else {
        line.to_owned()
    }
}

/// Two hosts, and a folder where the commands run.
struct Bench {
    link: Option<Tunnel>,
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
        if let Some(link) = self.link.take() {
            // A device that has vanished ends it too.
            let _ = link.stop();
        }
    }
}

impl Bench {
    fn new() -> Self {
        let [client, server] = ["client", "server"].map(|role| Namespace::new(role).expect("root"));
        let end = |host: &Namespace, address: [u8; 4]| End {
            namespace: Some(host.name().to_owned()),
            device: "path".into(),
            addresses: vec![(address.into(), 24)],
        };
        let ends = [end(&client, [192, 0, 2, 20]), end(&server, [192, 0, 2, 10])];
        let config = LinkConfig {
            rate: Some(Rate::from_bytes_per_s(2.5e6)),
            delay: Duration::from_millis(10),
            queue: QueueConfig::drop_tail(Limit::Packets(40)),
            ..LinkConfig::default()
        };
        let links = [config.clone(), config];
        let link = Tunnel::start(ends, links, Seed(1), Duration::ZERO).expect("a link");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-minute");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        Self {
            link: Some(link),
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

/// The line of the summary with the verdict.
const LIMIT: &str = " limited by   ";

/// Lines of the summary that depend on what the network does.
const OPTIONAL: [&str; 3] = ["not sent", "in flight", "loss runs"];

/// Compares the shown lines with the printed ones: every word must be there, in its place; numbers can differ, and the
/// prefixes of their units. `…` stands for lines that the page leaves out.
fn compare(shown: &[String], printed: &str) -> Result<(), String> {
    let shown = paragraphs(shown.iter().map(String::as_str));
    let printed = paragraphs(printed.lines());
    let mut rest: VecDeque<&Paragraph> = printed.iter().collect();
    let mut has_gap = true;
    for wanted in &shown {
        if wanted.words == ["…"] {
            has_gap = true;
            continue;
        }
        loop {
            let next = rest.pop_front();
            let next = next.ok_or_else(|| format!("not printed: {}", wanted.text))?;
            if next.words == wanted.words {
                break;
            }
            if !has_gap && !next.is_optional() {
                return Err(format!("shown: {}\nprinted: {}", wanted.text, next.text));
            }
        }
        has_gap = false;
    }
    Ok(())
}

/// A line with those below it that continue it.
struct Paragraph {
    text: String,
    words: Vec<String>,
}

impl Paragraph {
    fn is_optional(&self) -> bool {
        let text = self.text.trim_start();
        OPTIONAL.iter().any(|label| text.starts_with(label))
    }
}

fn paragraphs<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Paragraph> {
    let mut texts: Vec<String> = Vec::new();
    for line in lines {
        match texts.last_mut() {
            Some(text) if line.starts_with("      ") => *text += line,
            _ => texts.push(line.to_owned()),
        }
    }
    let paragraph = |text: String| Paragraph {
        words: words(&text),
        text,
    };
    texts.into_iter().map(paragraph).collect()
}

/// The words of a line, without what differs from run to run.
fn words(line: &str) -> Vec<String> {
    if line.starts_with(LIMIT) {
        // Another test looks at the verdict: it depends on the machine.
        return vec![LIMIT.into()];
    }
    let mut words: Vec<String> = line.split_whitespace().map(without_digits).collect();
    let is_row = line.starts_with('[') && words.iter().any(|word| word == "#-#");
    if is_row {
        // The state of the congestion control.
        let number = words.iter().rposition(|word| word.contains('#'));
        words.truncate(number.map_or(0, |at| at + 1));
    }
    words
}

/// A word with `#` in place of each number, and without the prefix of a unit.
fn without_digits(word: &str) -> String {
    let mut text = String::new();
    for c in word.chars() {
        let is_number = c.is_ascii_digit() || (c == '.' && text.ends_with('#'));
        match c {
            _ if is_number && text.ends_with('#') => {}
            _ if is_number => text.push('#'),
            _ => text.push(c),
        }
    }
    for unit in ["bit/s", "b/s"] {
        for prefix in ["k", "M", "G"] {
            text = text.replace(&format!("{prefix}{unit}"), unit);
        }
    }
    match text.as_str() {
        "-" => "#".into(),
        "-/-" | "#/-" | "-/#" => "#/#".into(),
        "kB" | "MB" | "GB" => "B".into(),
        _ => text,
    }
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
        if let Err(difference) = compare(&step.shown, &printed) {
            panic!("{}: {difference}\n\n{printed}", step.line);
        }
    }
}

#[test]
fn stale_output_is_found() {
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let printed = "\
[ 1] 0-1          12.0 MB 95.2 Mbit/s   0.02 %     20.4/24.1    181 p slow start
 total        5.00 s  59.0 MB  goodput 94.4 Mbit/s (wire 99.9 Mbit/s)
              loss 0.05 %
 in flight    3
 where lost   network 18  receiver socket 3";
    let same = "\
[ 1] 0-1           1.0 GB 9.52 Gbit/s   0.02 %          -/-     17 p avoid
 total        10.00 s  5.90 GB  goodput 9.44 Gbit/s (wire 9.99 Gbit/s)  loss 0.05 %
 where lost   network 0  receiver socket 0";
    assert_eq!(compare(&shown(same), printed), Ok(()));
    assert_eq!(
        compare(
            &shown("…\n where lost   network 1  receiver socket 2"),
            printed
        ),
        Ok(())
    );
    for stale in [
        same.replace("receiver socket", "peer socket"),
        same.replace(" Gbit/s (wire", " packets/s (wire"),
        same.lines().rev().collect::<Vec<_>>().join("\n"),
        same.replace(
            " total        10.00 s  5.90 GB  goodput 9.44 Gbit/s (wire 9.99 Gbit/s)  loss 0.05 %\n",
            "",
        ),
        format!("{same}\n more         1"),
    ] {
        assert!(compare(&shown(&stale), printed).is_err(), "{stale}");
    }
}

#[test]
fn verdicts_of_the_page_exist() {
    let sources = concat!(
        include_str!("../../src/result/verdict.rs"),
        include_str!("../../src/schema/flow.rs")
    );
    let mut found = 0;
    for step in steps(PAGE) {
        for paragraph in paragraphs(step.shown.iter().map(String::as_str)) {
            let Some(text) = paragraph.text.strip_prefix(LIMIT) else {
                continue;
            };
            let (verdict, rest) = text.split_once(": ").expect("a verdict and its sentence");
            let sentence = rest.split('(').next().unwrap_or_default().trim();
            for part in [verdict, sentence] {
                assert!(sources.contains(&format!("\"{part}\"")), "{part}");
            }
            found += 1;
        }
    }
    assert!(found > 0);
}

#[test]
fn console_blocks_are_read() {
    let page = "text\n```console\nserver$ dccpmon serve\nready\n```\n```sh\nother\n```\n```console\nclient$ dccpmon 192.0.2.10 -R\n```\n";
    let read = steps(page);
    assert_eq!(read[0].shown, ["ready"]);
    assert!(read[0].is_server && !read[1].is_server);
    assert_eq!(
        shortened(&read[1].line),
        "dccpmon 192.0.2.10 -t 1 -i 0.5 -R"
    );
}
