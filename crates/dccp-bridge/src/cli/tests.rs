use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn plan(line: &str) -> Plan {
    match parse(words(line)).unwrap() {
        Command::Carry(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

fn failure(line: &str) -> Failure {
    let failure = parse(words(line)).unwrap_err();
    assert_eq!(failure.code, 2, "{line}");
    assert!(
        !failure.what.contains('\n') && !failure.next.is_empty(),
        "{line}: {failure}"
    );
    failure
}

/// A file that is removed when dropped.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("dccp-bridge-{}-{name}.toml", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn line(&self, line: &str) -> String {
        format!("{line} --config {}", self.0.display())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn definition_of_the_command_line_is_valid() {
    command().debug_assert();
}

#[test]
fn defaults_are_those_of_the_help() {
    let plan = plan("connect --udp 127.0.0.1:5004 --peer 192.0.2.10");
    assert_eq!(plan.side, Side::Connect("192.0.2.10".into()));
    assert_eq!(plan.udp, ([127, 0, 0, 1], 5004).into());
    assert_eq!((plan.ccid, plan.law), (None, None));
    assert_eq!(plan.max_age, Duration::from_millis(200));
    assert_eq!(plan.when_full, WhenFull::Oldest);
    assert_eq!(plan.idle, Duration::from_mins(1));
    assert_eq!((plan.queue, plan.max_flows), (4096, 256));
}

#[test]
fn wrong_options_are_named_with_a_hint() {
    for (line, what, next) in [
        ("", "which side", "dccp-bridge connect"),
        (
            "lisen",
            "lisen: there is no such subcommand",
            "did you mean listen?",
        ),
        ("listen", "there is no address for UDP", "--udp"),
        (
            "connect --udp 127.0.0.1:5",
            "there is no peer to connect to",
            "--peer",
        ),
        (
            "listen --udp 127.0.0.1",
            "--udp 127.0.0.1: must be an IP address and a port",
            "127.0.0.1:5004",
        ),
        (
            "listen --udp 127.0.0.1:0",
            "--udp 127.0.0.1:0: must have a port",
            "port",
        ),
        (
            "listen --udp 127.0.0.1:5 --max-ege 1s",
            "--max-ege: there is no such option",
            "did you mean --max-age?",
        ),
        (
            "listen --udp 127.0.0.1:5 --max-age 0ms",
            "--max-age 0ms: must be 1 ms to 60 s",
            "write for example 1ms",
        ),
        (
            "listen --udp 127.0.0.1:5 --max-age 5",
            "--max-age 5: '5' needs a unit of time",
            "write 5s",
        ),
        (
            "listen --udp 127.0.0.1:5 --when-full random",
            "--when-full random: there is no such choice",
            "choose one of oldest, newest",
        ),
        (
            "listen --udp 127.0.0.1:5 --max-flows 0",
            "--max-flows 0: must be a whole number from 1 to 4096",
            "write for example 4096",
        ),
        (
            "listen --udp 127.0.0.1:5 --ccid 9",
            "--ccid 9: there is no such congestion control",
            "choose one of 2",
        ),
        (
            "listen --udp 127.0.0.1:5 --law cubik",
            "--law cubik: cubik: there is no such law",
            "did you mean cubic?",
        ),
        (
            "listen --udp 127.0.0.1:5 --ccid 3 --law cubic",
            "--law: only CCID 2 has laws",
            "leave --ccid out",
        ),
        (
            "listen --udp 127.0.0.1:5 --over tcp",
            "--over tcp: must be udp or ip",
            "leave --over out",
        ),
        ("listen extra", "extra: one word too many", "--udp"),
        ("man", "there is no folder for the pages", "dccp-bridge man"),
        ("completions", "there is no shell", "bash"),
    ] {
        let failure = failure(line);
        assert!(failure.what.starts_with(what), "{line}: {failure}");
        assert!(failure.next.contains(next), "{line}: {failure}");
    }
}

#[test]
fn safeudp_is_a_name_of_ccid_248() {
    let line = "connect --udp 127.0.0.1:5 --peer h --ccid";
    assert_eq!(plan(&format!("{line} safeudp")).ccid, Some(248));
    assert_eq!(plan(&format!("{line} 248")).ccid, Some(248));
}

#[test]
fn file_has_the_options_of_the_command_line_which_counts_before_it() {
    let text = "udp = \"127.0.0.1:5004\"\nat = [\"127.0.0.1:1/2\", \"[::1]:1/2\"]\nqueue = 100\nmax-age = \"50ms\"\n";
    let file = File::new("whole", text);
    let from_file = plan(&file.line("listen"));
    let at = vec!["127.0.0.1:1/2".to_owned(), "[::1]:1/2".to_owned()];
    assert_eq!(from_file.side, Side::Listen(at));
    assert_eq!(from_file.queue, 100);
    assert_eq!(from_file.max_age, Duration::from_millis(50));
    let both = plan(&file.line("listen --max-age 70ms --at 127.0.0.1:7/7"));
    assert_eq!(both.side, Side::Listen(vec!["127.0.0.1:7/7".into()]));
    assert_eq!(both.max_age, Duration::from_millis(70));
    assert_eq!(both.queue, 100);
}

#[test]
fn wrong_files_are_named_with_the_key() {
    for (name, text, what, next) in [
        (
            "key",
            "max_age = \"1s\"",
            "max_age: there is no such key",
            "did you mean max-age?",
        ),
        ("other", "peer = \"h\"", "peer: there is no such key", ""),
        (
            "nested",
            "config = \"b.toml\"",
            "config: there is no such key",
            "",
        ),
        (
            "value",
            "max-age = \"5x\"",
            "--max-age 5x: 'x' is not a unit of time",
            "write 5s",
        ),
        (
            "type",
            "max-age = 0.2",
            "max-age: must be a text or a whole number",
            "max-age = \"200ms\"",
        ),
        (
            "list",
            "at = [1]",
            "at: must be a text or a list of texts",
            "at = [",
        ),
        ("toml", "udp = ", "TOML parse error", "max-age"),
        (
            "twice",
            "queue = 1\nqueue = 2",
            "TOML parse error",
            "max-age",
        ),
    ] {
        let file = File::new(name, text);
        let failure = failure(&file.line("listen"));
        let what = format!("{}: {what}", file.0.display());
        assert!(failure.what.starts_with(&what), "{name}: {failure}");
        assert!(failure.next.contains(next), "{name}: {failure}");
    }
    let missing = failure("listen --config no/such.toml");
    assert!(
        missing.what.starts_with("no/such.toml: cannot be read"),
        "{missing}"
    );
    let long = File::new("long", &"#".repeat(70_000));
    assert!(
        failure(&long.line("listen"))
            .what
            .ends_with("is longer than 64 KiB")
    );
}
