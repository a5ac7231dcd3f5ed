//! A receiving application that reads at 80 % of the source's rate, with and without Slow Receiver (RFC 4340 §11.6).

use core::time::Duration;
use dccp_proto::Rate;
use dccp_proto::conn::stats::Stats;
use dccp_sim::Report;
use dccp_sim::pair::{End, Pair, Setup};
use dccp_sim::source::{App, Reading, Source};

const TIME: Duration = Duration::from_secs(30);
/// Bytes that the application reads in a second; the source makes 1.25 million.
const READ: f64 = 1e6;
/// Datagrams of 1000 bytes that it can read in that time.
const READ_MAX: u64 = 30_000;
/// Datagrams that wait at the receiver at most.
const ROOM: usize = 100;

/// Sends 10 Mbit/s over CCID 2, 100 Mbit/s and 20 ms. Returns the sender's counters and the receiver's report.
fn transfer(slow_receiver: bool) -> (Stats, Report) {
    let source = App {
        source: Source::Cbr {
            len: 1000,
            interval: Duration::from_micros(800),
            count: u64::MAX,
        },
        ..App::default()
    };
    let reader = App {
        receive_buffer: ROOM,
        reading: Reading::AtRate(Rate::from_bytes_per_s(READ)),
        slow_receiver,
        ..App::default()
    };
    let setup = Setup::default().links(|link| {
        link.rate = Some(Rate::from_bytes_per_s(12.5e6));
        link.delay = Duration::from_millis(10);
    });
    let mut pair = Pair::untraced(setup);
    pair.listen(reader);
    pair.connect(source);
    pair.run_for(TIME);
    let sender = pair.host(End::Client);
    let stats = pair.world.node(sender).stats(0);
    (stats, pair.report(End::Server))
}

#[test]
fn application_reads_at_its_rate_while_its_buffer_has_data() {
    let (_, report) = transfer(false);
    // The connection opens and the rate grows in the first 0.3 s.
    assert!(
        (READ_MAX - 300..=READ_MAX).contains(&report.received),
        "{}",
        report.received
    );
}

#[test]
fn slow_receiver_avoids_drops_and_is_no_congestion() {
    let (without, refused) = transfer(false);
    let (with, refused_with) = transfer(true);
    assert_eq!(without.counters.slow_receiver, 0);
    assert!(with.counters.slow_receiver > 0);
    let (without_drops, with_drops) = (refused.refused, refused_with.refused);
    assert!(
        0 < with_drops && with_drops < without_drops,
        "{with_drops} {without_drops}"
    );
    // 4340-11.6-1, 4340-11.7.1-1: neither the option nor drops for lack of buffers are congestion.
    for stats in [without, with] {
        let c = stats.counters;
        assert_eq!((c.data_lost, c.data_marked), (0, 0));
    }
}
