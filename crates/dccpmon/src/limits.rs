//! The limits of `dccpmon serve`: what its clients can use of this host.

use crate::control::MESSAGE_MAX;
use crate::packet::{LEN_MAX, LEN_MIN};
use core::fmt::Write as _;
use core::time::Duration;
use dccp::proto::config::bounds;

/// Tests at the same time, over all listeners.
pub(crate) const TESTS_MAX: usize = 4;
/// Connections of one listener that wait for their first message. A further one displaces the oldest of the source
/// address that holds the most.
pub(crate) const GUESTS_MAX: usize = 64;
/// The longest time from accepting a connection to its request for a test, and for each later answer of the client.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(10);
/// The most time that a test gets beyond the duration that its client asked for.
pub(crate) const OVERTIME_MAX: Duration = Duration::from_secs(5);
/// The longest wait for the answer of a client whose test was ended for its time.
pub(crate) const FAREWELL_MAX: Duration = Duration::from_secs(1);
/// A test without data for this time ends, or for two intervals between datagrams if its rate is so low …
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(10);
/// … but after this time at the latest, because a client can name any rate.
pub(crate) const IDLE_SLOW_MAX: Duration = Duration::from_mins(1);
/// The longest test.
pub(crate) const DURATION_MAX: Duration = Duration::from_hours(1);
/// The most flows of one test.
pub(crate) const FLOWS_MAX: u32 = 32;
/// Connections of one source address: those of all its tests, and as many that have requested nothing.
pub(crate) const SOURCE_CONNECTIONS: usize = TESTS_MAX * (1 + FLOWS_MAX as usize) + GUESTS_MAX;
/// Datagrams of one data connection that wait to leave.
pub(crate) const SEND_PACKETS: usize = 512;
/// Datagrams of one data connection that wait to be read.
pub(crate) const RECV_PACKETS: usize = 4096;

/// All limits with their values: those of this program, then those of the library.
pub(crate) fn text() -> String {
    let seconds = |time: Duration| format!("{} s", time.as_secs());
    let own = [
        ("tests at once", TESTS_MAX.to_string()),
        (
            "tests at once of one IPv4 address, or of one IPv6 network of 64 bits",
            (TESTS_MAX - 1).to_string(),
        ),
        ("flows of a test", FLOWS_MAX.to_string()),
        ("duration of a test", seconds(DURATION_MAX)),
        ("time of a test beyond its duration", seconds(OVERTIME_MAX)),
        ("time of a test without data", seconds(IDLE_MAX)),
        ("the same at a very low rate", seconds(IDLE_SLOW_MAX)),
        ("bytes of a datagram", format!("{LEN_MIN} to {LEN_MAX}")),
        (
            "datagrams of a connection that wait to leave",
            SEND_PACKETS.to_string(),
        ),
        (
            "datagrams of a connection that wait to be read",
            RECV_PACKETS.to_string(),
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
            SOURCE_CONNECTIONS.to_string(),
        ),
        ("bytes of a control message", MESSAGE_MAX.to_string()),
    ];
    let mut text = String::from("limits of `dccpmon serve`:\n");
    for (what, value) in own {
        let _ = writeln!(text, "{value:>12}  {what}");
    }
    text += "limits of the library:\n";
    for (name, what, value) in bounds::ALL.iter().chain(dccp::limits::ALL) {
        let value = format!("{value:?}");
        let _ = writeln!(text, "{value:>12}  {name}: {}", what.trim());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_lists_the_limits_of_the_program_and_of_the_library() {
        let text = text();
        for line in [
            "           4  tests at once",
            "          64  connections of a listener that have requested nothing",
            "       16384  ACK_VECTOR_CELLS: Ack Vector cells kept per connection",
            "        10ms  RETRY_FIRST: The first pause after a failure of a socket.",
        ] {
            let found = text.lines().any(|l| l.starts_with(line));
            assert!(found, "{line}: {text}");
        }
        assert_eq!(
            text.lines().count(),
            2 + 14 + bounds::ALL.len() + dccp::limits::ALL.len()
        );
    }
}
