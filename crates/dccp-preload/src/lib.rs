//! The library that `dccprun` loads into programs (`LD_PRELOAD`): it makes sockets of the Linux kernel's DCCP Unix sockets.
//!
//! A DCCP socket of the program is a Unix socket of type `SOCK_SEQPACKET`, whose other end `dccprun` has. So
//! blocking, polling, duplicates and forks are the kernel's own. This library replaces the calls that a Unix
//! socket would answer differently. `docs/old-programs.md` is the design.
//!
//! | module | subject |
//! |---|---|
//! | `open`, `address`, `options` | sockets, connections and listeners; names of both ends; `setsockopt`, `getsockopt` |
//! | `send`, `receive` | datagrams: length, `SIGPIPE`, addresses |
//! | `queue`, `mapped` | datagrams in shared memory; the queues that this process has |
//! | `descriptor` | duplicates and closed descriptors |
//! | `ours` | recognises a descriptor and its socket |
//! | `host` | requests to `dccprun` |
//! | `native`, `memory` | the replaced functions; copies between the program's memory and this library's |
//!
//! Nothing here allocates, or waits for a lock without a limit: a program may call these functions in a signal handler, or between fork and exec. No
//! state but a hint (`ours`) and queues (`mapped`) for each descriptor is kept. An exec loses them, and they are found again.

#![cfg(target_os = "linux")]
#![expect(
    clippy::missing_safety_doc,
    reason = "the functions are those of the C library, with its contracts"
)]

pub mod address;
pub mod descriptor;
mod host;
mod mapped;
mod memory;
mod native;
pub mod open;
pub mod options;
mod ours;
mod queue;
pub mod receive;
pub mod send;
