//! The limits of `dccpmon serve`: what its clients can use of this host.

use crate::wire::packet::{LEN_MAX, LEN_MIN};
use crate::wire::parts::MESSAGE_MAX;
use core::fmt::Write as _;
use core::ops::RangeInclusive;
use core::time::Duration;
use dccp::proto::config::{Config, bounds};

/// Tests at the same time, over all listeners, unless the operator says otherwise.
pub(crate) const TESTS: u32 = 16;
/// The most tests at the same time that an operator may allow.
pub(crate) const TESTS_MAX: u32 = 1024;
/// The most requests that an operator may let wait. Each holds a place among the connections of its listener.
pub(crate) const QUEUE_MAX: u32 = 32;
/// Connections of one listener that wait for their first message. A further one displaces the oldest of the source
/// address that holds the most.
pub(crate) const GUESTS_MAX: usize = 64;
/// The longest time from accepting a connection to its request for a test, and for each later answer of the client.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(10);
/// The most time that a test gets beyond the duration that its client asked for.
pub(crate) const OVERTIME_MAX: Duration = Duration::from_secs(5);
/// The longest wait for the answer of a client whose test was ended for its time.
pub(crate) const FAREWELL_MAX: Duration = Duration::from_secs(1);
/// The longest wait for datagrams on the way when a test ends, and for the end of its connections.
pub(crate) const DRAIN_MAX: Duration = Duration::from_secs(2);
/// A test without data for this time ends, or for two intervals between datagrams if its rate is so low.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(10);
/// A test without data for this time ends at any rate, because a client can name any.
pub(crate) const IDLE_SLOW_MAX: Duration = Duration::from_mins(1);
/// The shortest interval of a test's reports.
pub(crate) const INTERVAL_MIN: Duration = Duration::from_millis(100);
/// The longest test, unless the operator says otherwise.
pub(crate) const DURATION: &str = "1h";
/// The longest test that an operator may allow.
pub(crate) const DURATION_MAX: Duration = Duration::from_hours(24);
/// The most runs of lost packets that a client can have listed for each flow: some 10 KiB.
pub(crate) const LOST_RUNS_MAX: u32 = 200;
/// The most flows of one test.
pub(crate) const FLOWS_MAX: u32 = 32;
/// The most time that a test takes a place of the server beyond its duration.
const SEAT_OVERTIME: Duration = OVERTIME_MAX
    .saturating_add(DRAIN_MAX)
    .saturating_add(DRAIN_MAX)
    .saturating_add(FAREWELL_MAX);
/// The most time that a third-party test takes a place of the server beyond its duration: its process must look the
/// other server up, agree with it, and end.
pub(crate) const THIRD_OVERTIME_MAX: Duration = Duration::from_mins(1);
/// Connections of one source address: those of all its tests, and as many that have requested nothing.
pub(crate) const fn source_connections(tests: u32) -> usize {
    tests as usize * (1 + FLOWS_MAX as usize) + GUESTS_MAX
}
/// The default size of a datagram in bytes, if the path takes it.
pub(crate) const LENGTH: usize = 1400;
/// Datagrams of one data connection that wait to leave.
pub(crate) const SEND_PACKETS: usize = 512;
/// Fates of datagrams of one data connection that are stored between two looks.
pub(crate) const FATES: usize = 16 * 1024;
/// Datagrams of one data connection that wait to be read.
pub(crate) const RECV_PACKETS: usize = 4096;
/// The memory that these may take, in bytes: room for datagrams of an Ethernet.
pub(crate) const RECV_BYTES: u64 = RECV_PACKETS as u64 * 1500;

/// Sizes of the kernel's buffers of a data socket that a client can ask for, in bytes. The kernel grants at most its own
/// limits.
pub(crate) const SOCKET_BUFFER: RangeInclusive<u64> = 2048..=1 << 30;

/// All limits with their values: those of this program, then those of the library.
/// `destinations`: the hosts of third-party tests, if the server runs such tests.
pub(crate) fn text(tests: u32, duration: Duration, destinations: Option<&str>) -> String {
    let seconds = |time: Duration| format!("{} s", time.as_secs());
    let own = [
        ("tests at once", tests.to_string()),
        (
            "tests at once of one IPv4 address, or of one IPv6 network of 64 bits",
            (tests - 1).max(1).to_string(),
        ),
        ("flows of a test", FLOWS_MAX.to_string()),
        ("duration of a test", seconds(duration)),
        (
            "time that a test takes a place beyond its duration",
            seconds(SEAT_OVERTIME),
        ),
        (
            "time that a third-party test takes a place beyond its duration",
            seconds(THIRD_OVERTIME_MAX),
        ),
        ("time of a test without data", seconds(IDLE_MAX)),
        (
            "time of a test without data at a very low rate",
            seconds(IDLE_SLOW_MAX),
        ),
        ("bytes of a datagram", format!("{LEN_MIN} to {LEN_MAX}")),
        (
            "datagrams of a connection that wait to leave",
            SEND_PACKETS.to_string(),
        ),
        (
            "datagrams of a connection that wait to be read",
            RECV_PACKETS.to_string(),
        ),
        ("bytes of memory for them", RECV_BYTES.to_string()),
        (
            "connections in the handshake before Init Cookies begin",
            Config::default().cookie_threshold.to_string(),
        ),
        (
            "duration of an interval at least",
            format!("{INTERVAL_MIN:?}"),
        ),
        (
            "connections of a listener that have requested nothing",
            GUESTS_MAX.to_string(),
        ),
        (
            "time for a request and for each answer",
            seconds(ANSWER_MAX),
        ),
        (
            "connections of one IPv4 address, or of one IPv6 network of 64 bits",
            source_connections(tests).to_string(),
        ),
        ("bytes of a control message", MESSAGE_MAX.to_string()),
        (
            "processes of third-party tests, one for each test to a host that a client names",
            if destinations.is_some() { tests } else { 0 }.to_string(),
        ),
    ];
    let mut text = String::from("limits of `dccpmon serve`:\n");
    for (what, value) in own {
        let _ = writeln!(text, "{value:>12}  {what}");
    }
    if let Some(destinations) = destinations {
        let _ = writeln!(
            text,
            "hosts to which third-party tests may go: {destinations}"
        );
    }
    text += "limits of the library:\n";
    for (name, what, value) in bounds::ALL.iter().chain(dccp::limits::ALL) {
        let value = format!("{value:?}");
        let _ = writeln!(text, "{value:>12}  {name}: {}", without_rule(what));
    }
    text
}

/// A description without the numbers of rules, which are for readers of the code.
fn without_rule(what: &str) -> String {
    let what = what.trim();
    match (what.find(" (4340-"), what.find(')')) {
        (Some(from), Some(to)) if from < to => [&what[..from], &what[to + 1..]].concat(),
        _ => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_lists_the_limits_of_the_program_and_of_the_library() {
        let text = text(4, Duration::from_hours(1), None);
        for line in [
            "           4  tests at once",
            "           3  tests at once of one IPv4 address",
            "         196  connections of one IPv4 address",
            "          64  connections of a listener that have requested nothing",
            "       16384  ACK_VECTOR_CELLS: Ack Vector cells kept per connection",
            "        10ms  RETRY_FIRST: The pause before a socket that failed is opened again.",
            "       65536  REPLAY_BITS: Numbers before the newest run of arrivals among which repetitions are found.",
            "        10 s  time that a test takes a place beyond its duration",
        ] {
            let found = text.lines().any(|l| l.starts_with(line));
            assert!(found, "{line}: {text}");
        }
        assert_eq!(
            text.lines().count(),
            2 + 19 + bounds::ALL.len() + dccp::limits::ALL.len()
        );
    }

    // goal 16: the hosts that clients may name are part of the limits.
    #[test]
    fn text_lists_the_hosts_of_third_party_tests() {
        let processes = |destinations| {
            let text = text(16, Duration::from_hours(1), destinations);
            let is_wanted = |line: &&str| line.contains("third-party tests");
            let lines = text.lines().filter(is_wanted).map(str::to_owned);
            lines.collect::<Vec<_>>()
        };
        let off = processes(None);
        assert_eq!(off.len(), 1);
        assert!(off[0].starts_with("           0  processes"), "{off:?}");
        let on = processes(Some("192.0.2.0/24"));
        assert!(on[0].starts_with("          16  processes"), "{on:?}");
        assert_eq!(
            on[1],
            "hosts to which third-party tests may go: 192.0.2.0/24"
        );
    }
}
