//! Arbitrary datagrams as fragments of messages.

use dccp_proto::Instant;
use dccp_proto::message::{Reassembler, ReceiveLimits, Received};
use std::time::Duration;

const LIMITS: ReceiveLimits = ReceiveLimits {
    message_len: 2000,
    messages: 4,
    bytes: 5000,
    age: Duration::from_millis(100),
};

/// Each datagram is a byte that says how many milliseconds pass, a byte that is its length, and its bytes. Memory stays
/// within the limits, and a complete message has the length that its fragments state.
///
/// # Panics
/// If a bound is exceeded.
pub fn run(mut data: &[u8]) {
    let mut reassembler = Reassembler::new(LIMITS);
    let mut now = Instant::ZERO;
    while let [pause, len, rest @ ..] = data {
        now += Duration::from_millis(u64::from(*pause));
        let (datagram, rest) = rest.split_at(usize::from(*len).min(rest.len()));
        let received = reassembler.receive(now, datagram);
        if let Received::Message(message) = received {
            assert!(message.data.len() <= LIMITS.message_len);
            assert!(message.first_arrived <= message.completed);
            assert!(message.completed - message.first_arrived < LIMITS.age);
            let stated = datagram.get(1..4).unwrap_or_default();
            let stated = stated.iter().fold(0, |n, &b| n << 8 | usize::from(b));
            assert_eq!(message.data.len(), stated);
        }
        assert!(reassembler.incomplete() <= LIMITS.messages);
        data = rest;
    }
}
