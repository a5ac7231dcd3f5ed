//! Black holes: large packets disappear without an error message (RFC 8899 §4.3).

use super::*;

#[test]
fn a_black_hole_is_found_and_measured() {
    let mut path = TestPath::new(new(), 1400);
    path.pmtu.on_large(path.now, lost(4, 1444));
    path.run_until(s(60));
    assert_eq!(path.probed[..5], [1500; 5]);
    // Once more to tell a black hole from an outage, and three times as the first size of a search.
    assert_eq!(path.probed[5..10], [1200, 1500, 1500, 1500, 1500]);
    assert_eq!(path.pmtu.pmtu(), 1396);
    assert_eq!(path.pmtu.counts().black_holes, 1);
}

#[test]
fn a_path_below_576_bytes_is_found_and_measured() {
    // 4340-14.1-7
    for carries in [552, 400, 296] {
        let mut path = TestPath::new(new(), carries);
        path.pmtu.on_large(path.now, lost(4, 1444));
        path.run_until(s(60));
        let pmtu = path.pmtu.pmtu();
        assert!(
            pmtu <= carries && pmtu + STEP > carries,
            "{pmtu}, {carries}"
        );
    }
}

#[test]
fn three_losses_are_no_suspicion_and_four_are() {
    let mut pmtu = new();
    pmtu.on_large(s(1), lost(3, 1444));
    assert!(!pmtu.has_probe_due());
    pmtu.on_large(s(1), lost(1, 1444));
    assert_eq!(pmtu.poll_probe(), Some(1500));
}

#[test]
fn losses_mean_nothing_when_packets_as_large_arrive() {
    let mut pmtu = new();
    for _ in 0..9 {
        pmtu.on_large(s(1), lost(3, 1300));
        pmtu.on_large(s(1), received(1300));
        let both = LargeNews {
            received_len: 1300,
            ..lost(4, 1300)
        };
        pmtu.on_large(s(1), both);
    }
    assert!(!pmtu.has_probe_due());
    // Smaller ones that arrive say nothing about larger ones that do not.
    pmtu.on_large(s(1), lost(2, 1301));
    pmtu.on_large(s(1), received(1300));
    pmtu.on_large(
        s(1),
        LargeNews {
            received_len: 1300,
            ..lost(2, 1400)
        },
    );
    assert!(pmtu.has_probe_due());
}

#[test]
fn an_answered_suspicion_is_not_raised_again_for_ten_seconds() {
    let mut path = TestPath::new(new(), 1500);
    path.pmtu.on_large(s(1), lost(4, 1444));
    path.run_until(s(2));
    assert_eq!((path.pmtu.pmtu(), &path.probed[..]), (1500, &[1500][..]));
    let answered = s(1) + Duration::from_millis(50);
    path.pmtu
        .on_large(answered + TRUST - Duration::from_nanos(1), lost(4, 1444));
    assert!(!path.pmtu.has_probe_due());
    path.pmtu.on_large(answered + TRUST, lost(1, 1444));
    assert!(path.pmtu.has_probe_due());
}

/// Found by fuzzing: the time to raise the PMTU was in the past when the doubt had ended.
#[test]
fn a_doubt_that_outlasts_the_time_to_look_for_more_ends_with_that_search() {
    // 4340-14.1-5
    for (answered_at, next, timeout) in [
        (s(11) - Duration::from_nanos(1), None, Some(s(11))),
        (s(11), Some(1500), None),
        (s(12), Some(1500), None),
    ] {
        let mut pmtu = new();
        pmtu.on_too_big(s(1), 1400, EVIDENT);
        pmtu.on_large(s(10), lost(4, 1344));
        assert_eq!(pmtu.poll_probe(), Some(1400));
        pmtu.on_probe_sent(s(10), Seq::new(7));
        pmtu.on_sync_acked(answered_at, Seq::new(7));
        assert_eq!((pmtu.poll_probe(), pmtu.poll_timeout()), (next, timeout));
    }
}

#[test]
fn two_timeouts_with_a_large_packet_in_flight_are_suspicious() {
    let mut pmtu = new();
    pmtu.on_silence(s(1), lost(0, usize::MAX));
    pmtu.on_silence(s(2), lost(1, 1444));
    assert!(!pmtu.has_probe_due());
    pmtu.on_silence(s(3), lost(1, 1444));
    assert!(pmtu.has_probe_due());
    let mut pmtu = new();
    pmtu.on_silence(s(1), lost(4, 1444));
    assert!(pmtu.has_probe_due());
}

#[test]
fn timeouts_mean_nothing_when_packets_as_large_arrive_in_between() {
    for (len, is_suspicious) in [(1299, true), (1300, false)] {
        let mut pmtu = new();
        for i in 1..9 {
            pmtu.on_silence(s(i), lost(1, 1300));
            pmtu.on_large(s(i), received(len));
        }
        assert_eq!(pmtu.has_probe_due(), is_suspicious, "{len}");
    }
}

#[test]
fn data_that_arrive_answer_a_suspicion_as_probes_do() {
    // Of the data that were lost the shortest had 1300 bytes.
    let mut pmtu = new();
    pmtu.on_large(s(1), lost(4, 1300));
    pmtu.on_probe_sent(s(1), Seq::new(1));
    pmtu.on_large(s(2), received(1299));
    pmtu.on_timeout(s(2));
    assert!(pmtu.has_probe_due());
    pmtu.on_large(s(2), received(1300));
    assert_eq!((pmtu.poll_probe(), pmtu.poll_timeout()), (None, None));
    pmtu.on_large(s(12) - Duration::from_nanos(1), lost(4, 1300));
    assert!(!pmtu.has_probe_due(), "trusted for 10 s");
    pmtu.on_large(s(12), lost(1, 1300));
    assert!(pmtu.has_probe_due());
    assert_eq!((pmtu.pmtu(), pmtu.counts().probes_acked), (1500, 0));
}

#[test]
fn packets_sent_before_the_pmtu_fell_raise_no_suspicion() {
    // A packet with 1360 bytes of data has 1400 bytes at least.
    for (len, is_suspicious) in [(1360, true), (1361, false)] {
        let mut pmtu = new();
        pmtu.on_too_big(s(1), 1400, EVIDENT);
        pmtu.on_large(s(2), lost(4, len));
        assert_eq!(pmtu.has_probe_due(), is_suspicious, "{len}");
        let mut pmtu = new();
        pmtu.on_too_big(s(1), 1400, EVIDENT);
        pmtu.on_silence(s(2), lost(4, len));
        assert_eq!(pmtu.has_probe_due(), is_suspicious, "{len}");
    }
}

#[test]
fn losses_do_not_end_a_search() {
    let mut pmtu = new();
    pmtu.on_too_big(s(1), 1300, EVIDENT);
    pmtu.on_timeout(s(601));
    pmtu.on_probe_sent(s(601), Seq::new(1));
    pmtu.on_sync_acked(s(601), Seq::new(1));
    pmtu.on_large(s(601), lost(9, 1230));
    assert_eq!(pmtu.poll_probe(), Some(1500), "the search goes on");
    pmtu.on_probe_sent(s(601), Seq::new(2));
    pmtu.on_sync_acked(s(601), Seq::new(2));
    assert_eq!((pmtu.pmtu(), pmtu.poll_probe()), (1500, None));
}

#[test]
fn an_outage_leaves_the_size() {
    let mut path = TestPath::new(new(), 0);
    path.pmtu.on_silence(path.now, lost(9, 1444));
    path.run_until(s(100));
    assert_eq!(path.pmtu.pmtu(), 1500);
    path.probed.dedup();
    assert_eq!(path.probed[..6], [1500, 1200, 576, 296, 1500, 1200]);
    path.carries = 1500;
    path.run_until(s(140));
    assert_eq!(path.pmtu.pmtu(), 1500);
    assert_eq!(path.pmtu.poll_timeout(), None);
    assert_eq!(path.pmtu.counts().black_holes, 0);
}

#[test]
fn an_outage_that_ends_while_smaller_sizes_are_probed_leaves_the_size() {
    for end_ms in (0..20_000).step_by(250) {
        let mut path = TestPath::new(new(), 0);
        path.pmtu.on_silence(path.now, lost(9, 1444));
        path.run_until(s(1) + Duration::from_millis(end_ms));
        path.carries = 1500;
        while path.now < s(60) {
            path.run_until(path.now + Duration::from_millis(10));
            assert_eq!(path.pmtu.pmtu(), 1500, "{end_ms} ms");
        }
        assert_eq!(path.pmtu.counts().black_holes, 0, "{end_ms} ms");
    }
}

#[test]
fn a_path_that_is_narrower_after_an_outage_is_measured() {
    let mut path = TestPath::new(new(), 0);
    path.pmtu.on_silence(path.now, lost(9, 1444));
    path.run_until(s(40));
    path.carries = 1400;
    path.run_until(s(100));
    assert_eq!(path.pmtu.pmtu(), 1396);
    assert_eq!(path.pmtu.counts().black_holes, 1);
}

#[test]
fn losses_of_an_outage_raise_no_suspicion_before_the_next_try() {
    let mut path = TestPath::new(new(), 0);
    path.pmtu.on_silence(path.now, lost(9, 1444));
    path.run_until(s(1 + 14));
    path.pmtu.on_silence(s(16), lost(9, 1444));
    assert!(!path.pmtu.has_probe_due());
    path.pmtu.on_timeout(s(1 + 14 + 5));
    assert_eq!(path.pmtu.poll_probe(), Some(1500));
}

#[test]
fn nothing_gets_through_so_try_again_in_five_seconds() {
    let mut path = TestPath::new(new(), 0);
    path.pmtu.on_silence(path.now, lost(9, 1444));
    path.run_until(s(1 + 14));
    // Five of the size in use, then three each of 1200, 576 and 296.
    assert_eq!(path.probed.len(), 14);
    assert_eq!(path.pmtu.poll_timeout(), Some(s(1 + 14 + 5)));
}

#[test]
fn large_is_what_the_fallback_cannot_carry() {
    let mut pmtu = new();
    assert_eq!(pmtu.large_len(), 1200 - OVERHEAD - 12);
    pmtu.on_too_big(s(1), 1200, EVIDENT);
    assert_eq!(pmtu.large_len(), 576 - OVERHEAD - 12);
    pmtu.on_too_big(s(1), 576, EVIDENT);
    assert_eq!(pmtu.large_len(), 296 - OVERHEAD - 12);
    pmtu.on_too_big(s(1), 296, EVIDENT);
    assert_eq!(pmtu.large_len(), usize::MAX);
    pmtu.on_silence(s(1), lost(9, 1444));
    assert!(!pmtu.has_probe_due());
}
