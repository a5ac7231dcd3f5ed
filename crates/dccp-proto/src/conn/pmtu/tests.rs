mod black_hole;
mod forgery;

use super::*;
use crate::path::Encap;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 and UDP below DCCP.
const OVERHEAD: usize = 28;
/// A packet in flight that is larger than any MTU.
const EVIDENT: Option<Quote> = Some(quote(60_000));

/// A packet in flight with `len` bytes of data.
const fn quote(len: usize) -> Quote {
    let seq = Seq::ZERO;
    let len = Some(len);
    Quote { seq, len }
}

fn path(is_ipv6: bool) -> Path {
    let host: IpAddr = if is_ipv6 {
        Ipv6Addr::LOCALHOST.into()
    } else {
        Ipv4Addr::LOCALHOST.into()
    };
    Path {
        local: host,
        remote: host,
        encap: Encap::Udp {
            local_port: 1,
            remote_port: 2,
        },
    }
}

fn with_mtu(mtu: usize) -> Pmtu {
    let config = Config {
        mtu,
        ..Config::default()
    };
    Pmtu::new(&path(false), &config)
}

fn new() -> Pmtu {
    with_mtu(1500)
}

const fn s(seconds: u64) -> Instant {
    Instant::from_nanos(1_000_000_000 * seconds)
}

fn lost(packets: u32, len: usize) -> LargeNews {
    LargeNews {
        received_len: 0,
        gone: packets,
        gone_len: len,
    }
}

fn received(len: usize) -> LargeNews {
    LargeNews {
        received_len: len,
        gone: 0,
        gone_len: usize::MAX,
    }
}

/// A path that carries packets up to a size and is silent about larger ones. Probes travel 50 ms
/// there and back.
struct TestPath {
    pmtu: Pmtu,
    now: Instant,
    /// The size that the path carries.
    carries: usize,
    seq: Seq,
    /// All sizes that were probed, in order.
    probed: Vec<usize>,
}

impl TestPath {
    fn new(pmtu: Pmtu, carries: usize) -> Self {
        Self {
            pmtu,
            now: s(1),
            carries,
            seq: Seq::new(100),
            probed: Vec::new(),
        }
    }

    /// Answers probes and lets timers expire until `end`.
    fn run_until(&mut self, end: Instant) {
        loop {
            if let Some(size) = self.pmtu.poll_probe() {
                assert!(self.pmtu.has_probe_due());
                self.probed.push(size);
                self.seq = self.seq.next();
                self.pmtu.on_probe_sent(self.now, self.seq);
                assert!(!self.pmtu.has_probe_due());
                if size <= self.carries {
                    self.now += Duration::from_millis(50);
                    self.pmtu.on_sync_acked(self.now, self.seq);
                }
            } else if let Some(at) = self.pmtu.poll_timeout().filter(|&at| at <= end) {
                self.now = at;
                self.pmtu.on_timeout(at);
            } else {
                self.now = end;
                return;
            }
        }
    }
}

#[test]
fn the_path_begins_with_the_interface() {
    // 4340-14.1-1, 4340-14-1
    let mut pmtu = new();
    assert_eq!((pmtu.pmtu(), pmtu.mps()), (1500, 1500 - OVERHEAD - 36));
    assert_eq!((pmtu.poll_changed(), pmtu.poll_timeout()), (None, None));
    assert!(!pmtu.has_probe_due());
    assert_eq!(pmtu.poll_probe(), None);
    pmtu.on_timeout(s(9999));
    assert!(!pmtu.has_probe_due());
}

#[test]
fn icmp_lowers_the_pmtu_and_never_raises_it() {
    // 4340-14.1-2, 4340-14.1-3
    for (mtu, result) in [
        (1400, 1400),
        (1499, 1499),
        (1500, 1500),
        (9000, 1500),
        (552, 552),
        (68, 296), // never less
        (0, 1492),
    ] {
        let mut pmtu = new();
        let is_used = pmtu.on_too_big(s(1), mtu, EVIDENT);
        assert_eq!((pmtu.pmtu(), is_used), (result, result < 1500), "{mtu}");
        let mps = (result < 1500).then_some(result - OVERHEAD - 36);
        assert_eq!((pmtu.poll_changed(), pmtu.poll_changed()), (mps, None));
    }
}

#[test]
fn an_ipv6_path_never_falls_below_1280() {
    let mut pmtu = Pmtu::new(&path(true), &Config::default());
    assert!(pmtu.on_too_big(s(1), 1000, EVIDENT));
    assert_eq!((pmtu.pmtu(), pmtu.mps()), (1280, 1280 - 48 - 36));
    assert!(!pmtu.on_too_big(s(1), 1000, EVIDENT));
    assert_eq!(
        pmtu.large_len(),
        usize::MAX,
        "nothing is left to fall back to"
    );
}

#[test]
fn an_interface_below_the_base_is_the_base() {
    let mut pmtu = with_mtu(500);
    assert_eq!(pmtu.pmtu(), 500);
    assert_eq!(pmtu.large_len(), 296 - OVERHEAD - 12);
    assert!(pmtu.on_too_big(s(1), 100, EVIDENT));
    assert_eq!((pmtu.pmtu(), pmtu.large_len()), (296, usize::MAX));
}

#[test]
fn a_router_of_a_path_below_576_bytes_is_believed() {
    // 4340-14.1-7: the probe of 576 bytes is lost, and a router says why.
    let mut path = TestPath::new(new(), 552);
    path.pmtu.on_silence(path.now, lost(9, 1444));
    while path.probed.last() != Some(&576) {
        path.run_until(path.now + Duration::from_millis(100));
    }
    let probe = Some(Quote {
        seq: path.seq,
        len: None,
    });
    assert!(path.pmtu.on_too_big(path.now, 552, probe));
    assert_eq!(path.pmtu.pmtu(), 552);
    path.run_until(path.now + Duration::from_mins(5));
    assert_eq!(path.pmtu.pmtu(), 552);
}

#[test]
fn messages_without_an_mtu_step_down_the_plateaus() {
    // 4340-14.1-2 with the table of RFC 1191 §7, down to the floor
    let mut pmtu = with_mtu(65_535);
    let mut sizes = Vec::new();
    for i in 1..12 {
        pmtu.on_too_big(s(2 * i), 0, EVIDENT);
        sizes.push(pmtu.pmtu());
    }
    let plateaus = [
        32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 296, 296,
    ];
    assert_eq!(sizes, plateaus);
}

#[test]
fn a_burst_of_such_messages_is_one_step() {
    let mut pmtu = new();
    assert!(pmtu.on_too_big(s(1), 0, EVIDENT));
    assert!(!pmtu.on_too_big(s(2) - Duration::from_nanos(1), 0, EVIDENT));
    assert_eq!(pmtu.pmtu(), 1492);
    assert!(
        pmtu.on_too_big(s(1), 1300, EVIDENT),
        "one that names it counts"
    );
    pmtu.set_rtt(Duration::from_millis(500));
    assert!(!pmtu.on_too_big(s(3) - Duration::from_nanos(1), 0, EVIDENT));
    assert!(pmtu.on_too_big(s(3), 0, EVIDENT));
    assert_eq!(pmtu.pmtu(), 1006);
}

#[test]
fn a_pmtu_that_icmp_lowered_is_tried_again_after_ten_seconds() {
    let mut pmtu = new();
    pmtu.on_too_big(s(1), 1400, EVIDENT);
    assert_eq!(pmtu.poll_timeout(), Some(s(11)));
    let mut path = TestPath::new(pmtu, 1500);
    path.run_until(s(11) - Duration::from_nanos(1));
    assert_eq!(path.probed, []);
    path.run_until(s(12));
    assert_eq!(
        path.probed,
        [1400, 1500],
        "that it still works, then the most"
    );
    assert_eq!((path.pmtu.pmtu(), path.pmtu.poll_timeout()), (1500, None));
    let counts = PmtuCounts {
        probes: 2,
        probes_acked: 2,
        black_holes: 0,
    };
    assert_eq!(path.pmtu.counts(), counts);
}

#[test]
fn eight_bytes_are_worth_a_probe_and_seven_are_not() {
    for (mtu, probed) in [(1492, &[1492, 1500][..]), (1493, &[1493])] {
        let mut pmtu = new();
        pmtu.on_too_big(s(1), mtu, EVIDENT);
        let mut path = TestPath::new(pmtu, 1500);
        path.run_until(s(12));
        assert_eq!(path.probed, probed);
    }
}

#[test]
fn a_search_ends_below_what_the_path_carries() {
    // 4340-14.1-5
    for carries in (576..=1500).step_by(7).chain([1492, 1493, 1499, 1500]) {
        let mut pmtu = new();
        pmtu.on_too_big(s(1), 576, EVIDENT);
        let mut path = TestPath::new(pmtu, carries);
        path.run_until(s(71));
        let found = path.pmtu.pmtu();
        assert!(
            found <= carries && carries < found + STEP,
            "{carries}: {found}"
        );
        assert!(path.probed.len() <= 2 + 3 * 9, "{:?}", path.probed);
        let is_all = found == 1500;
        assert_eq!(path.pmtu.poll_timeout().is_none(), is_all, "{carries}");
    }
}

#[test]
fn a_search_halves_what_is_left() {
    let mut pmtu = new();
    pmtu.on_too_big(s(1), 1200, EVIDENT);
    let mut path = TestPath::new(pmtu, 1400);
    path.run_until(s(70));
    path.probed.dedup();
    assert_eq!(
        path.probed,
        [1200, 1500, 1350, 1425, 1387, 1406, 1396, 1401]
    );
    assert_eq!(path.pmtu.pmtu(), 1396);
    // 50 ms for each of four answers, 3 s for each of four sizes that are too large.
    let end = s(11) + Duration::from_millis(4 * 50 + 4 * 3000);
    assert_eq!(path.pmtu.poll_timeout(), Some(end + RAISE_INTERVAL));
}

#[test]
fn icmp_shortens_a_search() {
    let mut pmtu = new();
    pmtu.on_too_big(s(1), 1200, EVIDENT);
    let mut path = TestPath::new(pmtu, 1404);
    path.run_until(s(11) + Duration::from_millis(60));
    assert_eq!(path.probed, [1200, 1500]);
    let pmtu = &mut path.pmtu;
    assert!(
        !pmtu.on_too_big(path.now, 0, EVIDENT),
        "says nothing about the PMTU"
    );
    assert!(!pmtu.on_too_big(path.now, 1404, None));
    assert!(
        !pmtu.on_too_big(path.now, 1500, EVIDENT),
        "the size of the probe"
    );
    assert!(pmtu.on_too_big(path.now, 1404, EVIDENT));
    path.run_until(s(15));
    assert_eq!(path.probed, [1200, 1500, 1404]);
    assert_eq!(path.pmtu.pmtu(), 1404);
}

#[test]
fn icmp_that_names_the_pmtu_ends_a_search() {
    // RFC 8899 §4.6.2: only a message about the probe itself does.
    let mut pmtu = new();
    pmtu.on_too_big(s(1), 1200, EVIDENT);
    let mut path = TestPath::new(pmtu, 1204);
    path.run_until(s(11) + Duration::from_millis(60));
    assert_eq!(path.probed, [1200, 1500]);
    let about = |seq| Some(Quote { seq, len: None });
    let (pmtu, probe) = (&mut path.pmtu, path.seq);
    assert!(!pmtu.on_too_big(path.now, 1200, about(probe.next())));
    assert!(!pmtu.on_too_big(path.now, 1200, Some(quote(100))));
    assert!(pmtu.on_too_big(path.now, 1200, about(probe)));
    assert_eq!(pmtu.poll_probe(), None);
    assert_eq!(pmtu.poll_timeout(), Some(path.now + RAISE_INTERVAL));
}

#[test]
fn a_late_answer_to_an_early_probe_counts() {
    let mut pmtu = new();
    pmtu.on_too_big(s(1), 1400, EVIDENT);
    pmtu.on_timeout(s(601));
    let seqs = [7, 8, 9].map(Seq::new);
    for (i, seq) in (0..).zip(seqs) {
        assert_eq!(pmtu.poll_probe(), Some(1400));
        pmtu.on_probe_sent(s(601 + i), seq);
        assert_eq!(pmtu.poll_timeout(), Some(s(602 + i)));
        pmtu.on_timeout(s(602 + i) - Duration::from_nanos(1));
        assert_eq!(pmtu.poll_probe(), None, "not yet lost");
        if i < 2 {
            pmtu.on_timeout(s(602 + i));
        }
    }
    pmtu.on_sync_acked(s(604), Seq::new(10));
    assert_eq!(pmtu.poll_probe(), None, "not ours");
    pmtu.on_sync_acked(s(604), seqs[0]);
    assert_eq!(pmtu.poll_probe(), Some(1500));
    pmtu.on_sync_acked(s(604), seqs[1]);
    assert_eq!(
        pmtu.counts().probes_acked,
        1,
        "an answer to an older question"
    );
}

#[test]
fn a_probe_waits_four_round_trips_if_that_is_longer() {
    let mut pmtu = new();
    pmtu.set_rtt(Duration::from_millis(251));
    pmtu.on_too_big(s(1), 1400, EVIDENT);
    pmtu.on_timeout(s(601));
    pmtu.on_probe_sent(s(601), Seq::new(1));
    assert_eq!(
        pmtu.poll_timeout(),
        Some(s(601) + Duration::from_millis(1004))
    );
}

#[test]
fn full_datagrams_that_arrive_verify_a_size_before_the_search() {
    let mut pmtu = new();
    pmtu.on_too_big(s(1), 1400, EVIDENT);
    pmtu.on_timeout(s(601));
    pmtu.on_probe_sent(s(601), Seq::new(1));
    pmtu.on_large(s(601), received(pmtu.mps() - 1));
    assert_eq!(pmtu.poll_probe(), None);
    pmtu.on_large(s(601), received(pmtu.mps()));
    assert_eq!(pmtu.poll_probe(), Some(1500));
    // Data cannot show whether larger packets arrive.
    pmtu.on_probe_sent(s(601), Seq::new(2));
    pmtu.on_large(s(601), received(1444));
    assert_eq!((pmtu.pmtu(), pmtu.poll_probe()), (1400, None));
    assert_eq!(pmtu.poll_timeout(), Some(s(602)));
}

#[test]
fn without_probing_only_icmp_counts() {
    let config = Config {
        probe_pmtu: false,
        ..Config::default()
    };
    let mut pmtu = Pmtu::new(&path(false), &config);
    assert_eq!(pmtu.large_len(), usize::MAX);
    pmtu.on_large(s(1), lost(9, 1444));
    pmtu.on_silence(s(1), lost(9, 1444));
    assert!(!pmtu.has_probe_due());
    assert!(!pmtu.on_too_big(s(1), 1400, None));
    assert_eq!((pmtu.pmtu(), pmtu.poll_probe()), (1500, None));
    pmtu.on_too_big(s(1), 1400, EVIDENT);
    assert_eq!((pmtu.pmtu(), pmtu.poll_timeout()), (1400, None));
}

#[test]
fn the_application_may_begin_again_every_two_seconds() {
    let mut pmtu = new();
    pmtu.on_too_big(s(1), 1400, EVIDENT);
    pmtu.poll_changed();
    assert!(pmtu.rediscover(s(2)));
    assert_eq!((pmtu.pmtu(), pmtu.poll_timeout()), (1500, None));
    assert_eq!(pmtu.poll_changed(), Some(1500 - OVERHEAD - 36));
    pmtu.on_too_big(s(3), 1400, EVIDENT);
    assert!(!pmtu.rediscover(s(4) - Duration::from_nanos(1)));
    assert_eq!(pmtu.pmtu(), 1400);
    assert!(pmtu.rediscover(s(4)));
    assert_eq!(pmtu.pmtu(), 1500);
}

#[test]
fn a_search_is_given_up_when_the_path_shrinks() {
    let mut pmtu = new();
    pmtu.on_too_big(s(1), 1300, EVIDENT);
    pmtu.on_timeout(s(601));
    pmtu.on_probe_sent(s(601), Seq::new(1));
    pmtu.on_sync_acked(s(601), Seq::new(1));
    assert_eq!(pmtu.poll_probe(), Some(1500));
    assert!(pmtu.on_too_big(s(602), 1250, EVIDENT));
    assert_eq!((pmtu.pmtu(), pmtu.poll_probe()), (1250, None));
    assert_eq!(pmtu.poll_timeout(), Some(s(612)));
}
