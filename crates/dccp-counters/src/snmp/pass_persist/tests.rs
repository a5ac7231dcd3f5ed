use super::*;
use crate::snmp::BASE_OID;
use crate::{Counters, table::counters};

fn snapshot() -> Snapshot {
    let totals: Counters = (100..).take(counters().len()).collect();
    Snapshot {
        totals,
        ..Snapshot::default()
    }
}

fn answers(input: &[u8]) -> String {
    let mut output = Vec::new();
    pass_persist(input, &mut output, &mut || Ok(snapshot())).expect("answers");
    String::from_utf8(output).expect("text")
}

#[test]
fn agent_gets_objects_and_their_successors() {
    let first = format!("{BASE_OID}.1.1.1.1.0");
    let value = format!("{first}\ncounter64\n100\n");
    assert_eq!(answers(b"PING\n"), "PONG\n");
    assert_eq!(answers(format!("get\n{first}\n").as_bytes()), value);
    assert_eq!(answers(format!("getnext\n{BASE_OID}\n").as_bytes()), value);
    assert_eq!(answers(format!("get\n{BASE_OID}\n").as_bytes()), "NONE\n");
    let last = format!("getnext\n{BASE_OID}.3\n");
    assert_eq!(answers(last.as_bytes()), "NONE\n");
}

#[test]
fn nothing_can_be_set() {
    let input = format!("set\n{BASE_OID}.1.1.1.1.0\ncounter64 5\nPING\n");
    assert_eq!(answers(input.as_bytes()), "not-writable\nPONG\n");
}

#[test]
fn failed_reading_gives_no_objects() {
    let mut output = Vec::new();
    let input = format!("getnext\n{BASE_OID}\nPING\n");
    let mut read = || Err(io::ErrorKind::ConnectionRefused.into());
    pass_persist(input.as_bytes(), &mut output, &mut read).expect("answers");
    assert_eq!(output, b"NONE\nPONG\n");
}

#[test]
fn garbage_gets_none_and_the_end_is_no_error() {
    assert_eq!(
        answers(b"\xFF\xFE\0garbage\nget\n.1.x\nget\n"),
        "NONE\nNONE\nNONE\n"
    );
    assert_eq!(answers(b"getnext"), "NONE\n");
    assert_eq!(answers(b"\nPING\n"), "");
    assert_eq!(answers(b""), "");
}

/// Endless bytes without an end of line.
struct Endless {
    given: u64,
}

impl Read for Endless {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        buf.fill(b'1');
        self.given += buf.len() as u64;
        Ok(buf.len())
    }
}

#[test]
fn endless_line_is_an_error_after_the_longest_number() {
    let mut input = Endless { given: 0 };
    let mut output = Vec::new();
    let error =
        pass_persist(&mut input, &mut output, &mut || Ok(snapshot())).expect_err("too long");
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    // One buffer was read.
    assert!(input.given <= 64 * 1024 && output.is_empty());
    let longest = format!("get\n{}\nPING\n", ".4294967295".repeat(128));
    assert_eq!(answers(longest.as_bytes()), "NONE\nPONG\n");
}
