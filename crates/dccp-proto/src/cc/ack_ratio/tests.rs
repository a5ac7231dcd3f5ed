//! Ack Ratios by window and loss, and the rules of RFC 4341 §6.1.2.

use super::*;

/// A control after `rounds` round trips at one window; `lost` returns the losses of each round trip.
fn after(mut control: AckRatio, rounds: u64, cwnd: u32, lost: impl Fn(u64) -> u32) -> AckRatio {
    for round in 1..=rounds {
        // The loss belongs to the round trip that ends with the next one.
        control.on_feedback(control.round, lost(round), cwnd);
        control.on_feedback(control.round + 1, 0, cwnd);
    }
    control
}

fn strict(cwnd: u32) -> AckRatio {
    AckRatio::new(cwnd, None, true)
}

#[test]
fn ack_ratio_falls_by_one_after_clean_windows() {
    // 4341-6.1.2-2: R = 2 is the minimum for windows of 4 packets and more.
    for (cwnd, ratio, clean_windows) in [
        (24, 4, 2),
        (100, 3, 17),
        (100, 4, 9),
        (100, 8, 2),
        (8333, 16, 35),
    ] {
        let mut control = strict(cwnd);
        control.congestion = ratio;
        let before = after(control, clean_windows - 1, cwnd, |_| 0);
        assert_eq!(before.congestion, ratio, "{cwnd}");
        let lowered = after(control, clean_windows, cwnd, |_| 0);
        assert_eq!(lowered.congestion, ratio - 1, "{cwnd}");
        assert_eq!(lowered.wanted, ratio - 1, "{cwnd}");
    }
    for (cwnd, clean_windows) in [(10, 5), (100, 50)] {
        assert_eq!(
            after(strict(cwnd), 3 * clean_windows, cwnd, |_| 0).wanted,
            2
        );
    }
}

#[test]
fn the_largest_legal_value_is_as_pinned() {
    // 4341-6.1.2-1: the window limits the Ack Ratio.
    for (cwnd, most) in [
        (1, 2),
        (2, 2),
        (3, 2),
        (4, 2),
        (5, 3),
        (10, 5),
        (100, 50),
        (8333, 4167),
    ] {
        assert_eq!(largest(cwnd), most);
        // Acknowledgements lost in every window double it up to there.
        let control = after(strict(cwnd), 20, cwnd, |_| 1);
        assert_eq!(control.wanted, if cwnd <= 3 { 1 } else { most });
    }
}

#[test]
fn ack_ratio_doubles_for_each_window_with_lost_acknowledgements() {
    // 4341-6.1.2-2: once, however many were lost.
    for (lossy, ratio) in [(1, 4), (2, 8), (3, 16)] {
        let control = after(strict(100), lossy, 100, |_| 7);
        assert_eq!(control.wanted, ratio);
    }
    // A loss also ends the count of clean windows: 100 / (16 − 4) is 9.
    let control = after(strict(100), 1, 100, |_| 1);
    let control = after(control, 8, 100, |_| 0);
    let control = after(control, 1, 100, |_| 1);
    assert_eq!(control.wanted, 8);
    assert_eq!(after(control, 1, 100, |_| 0).wanted, 8);
}

#[test]
fn clean_windows_save_nothing_below_2() {
    // 4341-6.1.2-2: the next loss of acknowledgements makes 4 of it, however long there was none.
    let control = after(strict(10), 15, 10, |_| 0);
    assert_eq!(after(control, 1, 10, |_| 1).wanted, 4);
}

#[test]
fn small_windows_have_every_packet_acknowledged() {
    // 4341-6.1.2-3, LINUX-10; from 4 on it is at least 2 (4341-6.1.2-1).
    for (cwnd, ratio) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2)] {
        assert_eq!(strict(cwnd).wanted, ratio);
        assert_eq!(
            AckRatio::new(cwnd, Some(9), false).wanted,
            ratio.max(largest(cwnd).min(9) * u32::from(cwnd > 3))
        );
        assert_eq!(AckRatio::new(cwnd, Some(0), false).wanted, ratio);
    }
}

#[test]
fn large_windows_keep_sixteen_acknowledgements_per_round_trip() {
    // `docs/design.md`, decision 8c
    for (cwnd, ratio) in [
        (32, 2),
        (47, 2),
        (48, 3),
        (160, 10),
        (1023, 63),
        (1024, 64),
        (100_000, 64),
    ] {
        assert_eq!(AckRatio::new(cwnd, None, false).wanted, ratio);
        assert_eq!(strict(cwnd).wanted, 2);
    }
    // Losses raise it further.
    let control = after(AckRatio::new(160, None, false), 3, 160, |_| 1);
    assert_eq!(control.wanted, 80);
}

#[test]
fn a_value_that_the_application_fixed_stays_within_the_law() {
    // 4341-6.1.2-1
    for (cwnd, ratio) in [(4, 2), (8, 4), (20, 10), (21, 10), (100, 10)] {
        let control = AckRatio::new(cwnd, Some(10), false);
        assert_eq!(control.wanted, ratio);
        assert_eq!(after(control, 5, cwnd, |_| 1).wanted, ratio);
    }
}

#[test]
fn ack_ratio_is_requested_once_per_round_trip() {
    // 4341-6.1.2-3
    let mut control = AckRatio::new(160, None, false);
    assert_eq!(control.poll(160), Some(10));
    assert_eq!(control.poll(160), None);
    // The window grows, but the round trip is not over.
    control.on_feedback(0, 0, 320);
    assert_eq!(control.poll(320), None);
    control.on_feedback(1, 0, 320);
    assert_eq!(control.poll(320), Some(20));
    control.on_feedback(1, 0, 640);
    assert_eq!(control.poll(640), None);
}

#[test]
fn a_window_that_shrinks_makes_it_fall_at_once() {
    // 4341-6.1.2-1
    let mut control = AckRatio::new(1024, None, false);
    assert_eq!(control.poll(1024), Some(64));
    assert_eq!(control.poll(512), None);
    assert_eq!(control.poll(20), Some(10));
    assert_eq!(control.poll(1), Some(1));
}

#[test]
fn confirmed_ack_ratio_is_in_use() {
    let mut control = strict(10);
    assert_eq!(control.in_use(), 2);
    control.on_confirm(7);
    assert_eq!(control.in_use(), 7);
    // Another value than wanted was set: ask again.
    assert_eq!(control.poll(10), Some(2));
    // AMB-4
    control.on_confirm(0);
    assert_eq!(control.in_use(), 1);
    control.on_confirm(u64::MAX);
    assert_eq!(control.in_use(), u32::MAX);
}

#[test]
fn lost_acknowledgements_double_a_ratio_that_a_large_window_raised() {
    // 4341-6.1.2-2: the ratio in force is doubled, not a counter that it hides.
    let mut ratio = AckRatio::new(1000, None, false);
    assert_eq!(ratio.poll(1000), Some(62));
    let mut announced = Vec::new();
    for round in 1..=4 {
        ratio.on_feedback(round, 1, 1000);
        announced.extend(ratio.poll(1000));
    }
    assert_eq!(announced, [124, 248, 496, 500]);
    // Every clean round trip takes one off, because cwnd / (R² - R) is below 1.
    for round in 5..=6 {
        ratio.on_feedback(round, 0, 1000);
    }
    assert_eq!(ratio.poll(1000), Some(498));
}

#[test]
fn a_ratio_of_a_huge_window_does_not_overflow() {
    let mut ratio = AckRatio::new(u32::MAX, None, true);
    for round in 1..200 {
        ratio.on_feedback(round, u32::from(round < 100), u32::MAX);
    }
    assert!(ratio.poll(u32::MAX).is_none_or(|r| r > 2));
}
