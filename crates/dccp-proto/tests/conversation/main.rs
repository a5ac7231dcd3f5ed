//! Conversations: one real endpoint, and the test as its peer, packet by packet.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod basics;
mod bench;
mod checks;
mod close;
mod confirms;
mod cookie;
mod coverage;
mod data;
mod dropped;
mod ecn;
mod features;
mod forgery;
mod handshake;
mod hostile;
mod icmp;
mod limits;
mod mtu;
mod numbers;
mod options;
mod refusal;
mod room;
mod sequence;
mod short;
mod silence;
mod simultaneous;
mod tfrc;
mod time_wait;
mod timers;
mod timing;
