//! One dumbbell as `cargo xtask peers sim` and `cargo xtask bench sim` run it, beside the same in
//! ns-2 and ns-3:
//!
//! ```sh
//! dumbbell rate=100 rtt=70 queue=583 time=120 warmup=30 'flows=tcp/reno@0.1;tcp/cubic@0.35'
//! ```
//!
//! Every flow has its own two hosts. Their links to the routers have 1 Gbit/s, or the bottleneck's
//! rate if that is larger, and a sixteenth of the one-way delay each. The output covers the time
//! from `warmup` to the end:
//!
//! ```text
//! flow NUMBER LAW packets N bytes N events N lost N
//! link mean_queue PACKETS utilisation SHARE delivered N drops N
//! hops N
//! memory KIB
//! ```
//!
//! where `events` are reductions of the window, `lost` is what the sender took for lost, and `hops`
//! counts transmissions over all links; `memory` is the most that the program took, where the system
//! tells.

mod args;
mod network;

use args::Settings;
use network::Network;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Settings::read(std::env::args().skip(1)) {
        Ok(settings) => {
            print!("{}", run(&settings));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("dumbbell: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(settings: &Settings) -> String {
    let mut network = Network::new(settings);
    network.run_until(settings.warmup);
    let before = network.account();
    network.run_until(settings.time);
    let after = network.account();
    let memory = peak_memory().map_or_else(String::new, |kib| format!("memory {kib}\n"));
    after.text_since(&before, settings) + &memory
}

/// The most memory that this process took, in KiB, as Linux tells it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next().map(str::to_owned)
}
