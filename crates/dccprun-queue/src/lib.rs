//! Queues of datagrams in shared memory, between the processes of a program and `dccprun`.
//!
//! ```
//! # #[cfg(target_os = "linux")] {
//! use dccprun_queue::outward::{Consumer, LEN_MAX, Producer, Pushed};
//!
//! let (mut consumer, descriptor) = Consumer::create()?;
//! let producer = Producer::attach(&descriptor)?;
//! assert!(matches!(producer.push(b"hello"), Pushed::Done { .. }));
//! let mut room = [0; LEN_MAX];
//! assert_eq!(consumer.take(&mut room), Ok(Some(5)));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`outward`] | datagrams to send: the program fills the queue, `dccprun` empties it |
//! | [`inward`] | received datagrams: `dccprun` fills the queue, the program empties it |
//! | [`table`] | the queues of a process by their descriptors |
//!
//! # Layout
//! | words | |
//! |---|---|
//! | control | a pair of cache lines for each word that changes |
//! | entries | 128 of 264 words: sequence, length, 2096 bytes of data |
//!
//! A datagram takes as many entries in sequence as it needs. Positions count entries from 0 and are never used again.
//!
//! The program's side may be threads, signal handlers and processes in any number. Producers neither lock nor wait. Consumers
//! wait a moment for a bell that is on its way. If one of them is killed while it copies, the queue stops there.

#![cfg(target_os = "linux")]

pub mod inward;
mod memory;
pub mod outward;
pub mod table;

pub use memory::DATAGRAMS_MAX;
