//! Counters of DCCP for a whole host, in the manner of the kernel's MIB (`/proc/net/snmp`).
//!
//! A program fills a [`Snapshot`] from its engine, sockets and listeners. [`table::counters`] names each counter once; from it
//! come JSON, the metrics for Prometheus and the objects of SNMP. `docs/counters.md` lists them all.
//!
//! ```
//! use core::time::Duration;
//! use dccp::{Engine, Listener, Options, Socket};
//! use dccp_counters::{ConnectionCounters, Snapshot, Totals};
//!
//! let listener = Listener::bind("127.0.0.1:0/0", &Options::new())?;
//! let socket = Socket::connect(listener.local_addrs(), &Options::new())?;
//!
//! let mut totals = Totals::default();
//! let age = Duration::from_secs(1);
//! let read = || Ok::<_, dccp::EngineGone>(ConnectionCounters::new(1, 0, age, &socket.stats()?, &socket.snapshot()?));
//! let living = vec![read()?];
//! let snapshot = Snapshot::new(age, &totals, &[Engine::shared()?.stats()?], living, Vec::new());
//! assert_eq!(snapshot.totals.get("connections_opened_client"), Some(1));
//!
//! socket.close()?;
//! totals.ended(&read()?);
//! let snapshot = Snapshot::new(age, &totals, &[Engine::shared()?.stats()?], Vec::new(), Vec::new());
//! assert_eq!(snapshot.totals.get("connections_opened_client"), Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod gauges;
pub mod host_gauges;
mod listener;
pub mod prometheus;
mod snapshot;
pub mod snmp;
pub mod table;
mod unit;
mod values;

pub use listener::ListenerCounters;
pub use snapshot::{ConnectionCounters, Snapshot, Totals};
pub use unit::Unit;
pub use values::{Counters, Gauges};
