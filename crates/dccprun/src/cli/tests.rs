//! Command lines, and the errors of wrong ones.

use super::*;

fn parsed(line: &str) -> Result<Command, Failure> {
    parse(line.split_whitespace().map(OsString::from))
}

fn plan(line: &str) -> Plan {
    match parsed(line).unwrap() {
        Command::Run(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

fn error(line: &str) -> String {
    let failure = parsed(line).unwrap_err();
    assert_eq!(failure.code, 2);
    failure.to_string()
}

#[test]
fn options_end_at_the_program() {
    let plan = plan("--udp-port 7000 nc -Z --raw -l 5001");
    assert_eq!(plan.program, "nc");
    assert_eq!(plan.args, ["-Z", "--raw", "-l", "5001"]);
    assert_eq!(plan.defaults.udp_port, 7000);
    assert_eq!(plan.defaults.encapsulation, Encapsulation::Udp);
}

#[test]
fn defaults_are_those_of_rfc_6773() {
    let plan = plan("true");
    // RFC 6773 §3.8
    assert_eq!(plan.defaults.udp_port, 6511);
    assert_eq!(plan.defaults.remote_udp_port, 6511);
    assert_eq!(plan.defaults.connect_timeout, Duration::from_mins(3));
}

#[test]
fn path_of_the_daemon_is_optional() {
    let path = |line: &str| plan(line).defaults.daemon;
    assert_eq!(path("true"), None);
    assert_eq!(path("--daemon true"), Some("/run/dccpd/socket".into()));
    assert_eq!(path("--daemon=/tmp/d true"), Some("/tmp/d".into()));
    let daemon = plan("--daemon true");
    assert_eq!(daemon.program, "true");
    assert_eq!(daemon.defaults.connect_timeout, Duration::from_secs(10));
}

#[test]
fn service_codes_are_read() {
    for (text, code) in [("42", 42), ("0x2a", 42), ("SC:VIDE", 0x5649_4445)] {
        let plan = plan(&format!("--service {text} true"));
        assert_eq!(plan.defaults.service, Some(ServiceCode(code)));
    }
}

#[test]
fn wrong_command_lines_are_explained_in_two_lines() {
    for (line, what) in [
        ("", "there is no program to run"),
        ("--udp-port 0 true", "--udp-port 0: must be from 1 to 65535"),
        ("--raw --udp-port 7000 true", "exclude each other"),
        ("--ccid 9 true", "there is no such congestion control"),
        ("--ccid 3 --law cubic true", "only CCID 2 has laws"),
        ("--service 4294967295 true", "must be a number below"),
        ("--service SC:toolong true", "must be a number below"),
        ("--connect-timeout 1ms true", "must be 100 ms to 1 h"),
        ("--daemon --udp-port 7000 true", "exclude each other"),
        ("--daemon --connect-timeout 11s true", "gives up after 10 s"),
        ("--connections 4 true", "only the daemon has"),
        ("--daemon --connections 0 true", "must be from 1 to 65536"),
        ("--nonsense true", "--nonsense: there is no such option"),
    ] {
        let error = error(line);
        assert!(error.contains(what), "{line}: {error}");
        assert_eq!(error.lines().count(), 2, "{error}");
    }
}

#[test]
fn definition_of_the_command_line_is_valid() {
    command().debug_assert();
}
