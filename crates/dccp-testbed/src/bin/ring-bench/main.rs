//! Measures packet rings on the loopback interface, and prints JSON lines: one for each kind of ring.
//!
//! ```sh
//! cargo run --release -p dccp-testbed --bin ring-bench -- rate --seconds 3
//! cargo run --release -p dccp-testbed --bin ring-bench -- latency --samples 2000 --busy-wait
//! ```
//!
//! `rate`: zero-length datagrams pushed through a ring, sent and delivered, per second, beside a loop of `send`
//! of zero-length UDP datagrams to a sink. `latency`: from push to the moment at which the datagram is out,
//! beside two threads that wake each other through eventfds.
//!
//! The program starts itself for the other ends; `--peer-cpu` gives these a processor of their own.
//! (Linux)

mod latency;
mod peer;
mod rate;
mod ring;

use clap::{Parser, Subcommand};
use std::error::Error;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// DCCP port of all connections.
const PORT: u16 = 5001;

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
    /// The processor for the other ends.
    #[arg(long, global = true)]
    peer_cpu: Option<usize>,
    /// Engines look for work all the time.
    #[arg(long, global = true)]
    busy_wait: bool,
}

#[derive(Subcommand)]
enum Command {
    /// How many datagrams a second go through.
    Rate {
        /// How long, for each.
        #[arg(long, default_value_t = 3)]
        seconds: u64,
    },
    /// How long one takes.
    Latency {
        /// How often, for each.
        #[arg(long, default_value_t = 1000)]
        samples: usize,
    },
    /// Another end (the program starts it itself): receives over DCCP, and says how much.
    #[command(hide = true)]
    Sink,
    /// The same over UDP.
    #[command(hide = true)]
    SinkUdp,
    /// Lends rings at a path.
    #[command(hide = true)]
    Lend {
        /// Where.
        path: std::path::PathBuf,
    },
}

fn main() -> Outcome {
    let args = Args::parse();
    let peers = peer::Peers {
        cpu: args.peer_cpu,
        is_busy: args.busy_wait,
    };
    match args.command {
        Command::Rate { seconds } => rate::run(&peers, seconds),
        Command::Latency { samples } => latency::run(&peers, samples),
        Command::Sink => peer::sink(&peers),
        Command::SinkUdp => peer::sink_udp(),
        Command::Lend { path } => peer::lend(&peers, &path),
    }
}
