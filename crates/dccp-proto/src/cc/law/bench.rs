//! Helpers of the tests of built-in laws: tables, and a bottleneck. A person can check the plot of its
//! sawtooth by eye.

pub(crate) use super::testing::{acked, assert_near, avoiding, inner, loss};
use super::{Law, LawConfig, Window};
use crate::cc::config::CcConfig;
use crate::cc::fixtures::{Net, START, config, ms, us};
use core::fmt::Write as _;

/// Builds a law with these settings.
pub(crate) fn law(settings: impl Into<LawConfig>) -> Box<dyn Law> {
    settings.into().build()
}

/// A law whose slow start ends at 150 packets.
pub(crate) fn from_threshold(settings: impl Into<LawConfig>) -> LawConfig {
    let mut law = settings.into();
    law.slow_start.initial_ssthresh = 150.0;
    law
}

/// Acknowledges one window of packets, one by one, `round_trips` times. The number of packets is the
/// whole part of the window at the start of each round trip.
pub(crate) fn round_trips(law: &mut dyn Law, window: &mut Window, round_trips: f64) {
    for _ in 0..whole(round_trips) {
        for _ in 0..window.packets() {
            law.on_ack(window, &acked(1));
        }
    }
}

/// Packets per second of the bottleneck.
const RATE: u32 = 2000;
/// Its base round trip in milliseconds, and the packets that fill it.
const BASE_MS: u32 = 100;
const PRODUCT: u32 = RATE * BASE_MS / 1000;
/// The length of its queue in packets.
const QUEUE: u32 = 100;
/// Packets per column of the plot.
const SCALE: f64 = 5.0;

/// Runs one CCID 2 flow with this law alone on the bottleneck for a minute. Plots the window once a second.
fn sawtooth(law: LawConfig) -> String {
    let name = law.name();
    let mut net = Net::new(
        2,
        &CcConfig {
            law,
            is_paced: true,
            rtt: Some(ms(BASE_MS.into())),
            ..config()
        },
    );
    net.delay = ms(u64::from(BASE_MS) / 2);
    net.service = us(1_000_000 / u64::from(RATE));
    net.queue_max = QUEUE.into();
    let mut plot = format!(
        "{name}: {RATE} packets/s, round trip {BASE_MS} ms (| {PRODUCT} packets), \
         queue {QUEUE} packets (| {})\n  s   cwnd\n",
        PRODUCT + QUEUE
    );
    for second in 0..=60 {
        net.run(START + ms(1000 * second), |_| ());
        let cwnd = net.sender.snapshot().cwnd_packets.unwrap_or_default();
        let mut line: Vec<u8> = vec![b' '; 80];
        for limit in [PRODUCT, PRODUCT + QUEUE] {
            line[column(f64::from(limit))] = b'|';
        }
        line[column(cwnd)] = b'*';
        let line = String::from_utf8_lossy(&line);
        let _ = writeln!(plot, "{second:3} {cwnd:6.0}  {}", line.trim_end());
    }
    plot
}

fn column(packets: f64) -> usize {
    whole(packets / SCALE).min(79) as usize
}

/// Converts a count in a table to an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are small and positive"
)]
pub(crate) fn whole(n: f64) -> u32 {
    n as u32
}

/// Compares the sawtooth of a law with the stored one. With `BLESS` set, stores the new one and fails.
/// A run that stores therefore never counts as passed.
#[track_caller]
pub(crate) fn check_sawtooth(law: LawConfig, expected: &str) {
    let name = law.name();
    let plot = sawtooth(law);
    if std::env::var_os("BLESS").is_some() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cc/law/sawtooth");
        std::fs::write(format!("{folder}/{name}.txt"), plot).expect("the folder is there");
        panic!("stored {name}.txt: check the picture, then run without BLESS");
    }
    assert!(plot == expected, "the sawtooth changed:\n{plot}");
}

/// Parses the rows of a table of expected values: numbers, separated by spaces.
pub(crate) fn table<const N: usize>(text: &str) -> Vec<[f64; N]> {
    let rows = text.lines().filter(|row| !row.trim().is_empty());
    let row = |row: &str| {
        let numbers: Result<Vec<f64>, _> = row.split_whitespace().map(str::parse).collect();
        let numbers = numbers.unwrap_or_else(|e| panic!("{row}: {e}"));
        numbers
            .try_into()
            .unwrap_or_else(|n| panic!("{n:?} has not {N} columns"))
    };
    rows.map(row).collect()
}
