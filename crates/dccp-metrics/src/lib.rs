//! Metrics of a program for Prometheus, over HTTP with bounds.
//!
//! A program registers its metrics with a [`Registry`], keeps clones of them and updates these. A [`Server`] writes
//! the current values at each scrape and does nothing else, so a scrape cannot start work in the program.
//!
//! [`Registry`]: prometheus_client::registry::Registry
//!
//! ```
//! use dccp_metrics::Server;
//! use prometheus_client::{metrics::gauge::Gauge, registry::Registry};
//!
//! let running = Gauge::<i64>::default();
//! let mut registry = Registry::default();
//! registry.register("example_tests_running", "Tests that run now", running.clone());
//!
//! let server = Server::start(([127, 0, 0, 1], 0).into(), registry)?;
//! println!("metrics at http://{}/metrics", server.local_addr());
//! running.set(1);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # What a client gets
//! - `GET /metrics` returns all metrics in the text format of OpenMetrics 1.0, which Prometheus reads since 2.5.
//! - `GET /health` returns `ok`, so that a script can check that the program runs.
//!
//! Each connection serves one request.
//!
//! # What a client can cost
//! The endpoint has no key and no encryption, so a program should offer it on loopback or a network for
//! administration. One thread serves all clients, and these bounds hold against hostile ones:
//!
//! | resource | bound |
//! |---|---|
//! | connections | 8. A further one closes the oldest of the source address with the most connections. |
//! | head of a request | 2 KiB within 2 s |
//! | response | taken within 5 s |
//! | data after the request | 64 KiB within 1 s are discarded |
//! | memory | 8 requests and 8 responses |
//!
//! An IPv6 network of 64 bits counts as one source address.

mod clock;
mod connection;
mod http;
mod server;

pub use server::Server;
