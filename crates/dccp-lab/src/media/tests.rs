//! Hand-made films and datagrams.

use super::*;

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A datagram of a picture that was made at this time, and arrived at that one, both in ms.
fn delivered(class: u8, picture: u64, made: u64, at: u64) -> Datagram {
    Datagram {
        made: MS(made),
        class,
        picture,
        ending: Ending::Delivered {
            at: MS(at),
            age_ns: nanos(MS(at - made)),
        },
    }
}

fn ended(class: u8, picture: u64, made: u64, ending: Ending) -> Datagram {
    Datagram {
        made: MS(made),
        class,
        picture,
        ending,
    }
}

/// A film with a picture every 40 ms that runs until 10 s.
fn rules(deadline: Option<u64>) -> Rules {
    Rules {
        deadline: deadline.map(MS),
        interval: MS(40),
        begin: Duration::ZERO,
        end: MS(10_000),
    }
}

fn near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 1e-12)
}

#[test]
fn datagrams_are_counted_by_their_ending() {
    let made = [
        delivered(1, 0, 0, 30),
        delivered(0, 1, 10, 20),
        ended(1, 2, 20, Ending::Lost),
        ended(0, 3, 30, Ending::Dropped),
        delivered(1, 4, 40, 50),
        ended(1, 5, 50, Ending::Open),
    ];
    let summary = datagrams(&made).unwrap();
    let expected = Endings {
        offered_packets: 6,
        delivered_packets: 3,
        dropped_packets: 1,
        lost_packets: 1,
        open_packets: 1,
    };
    assert_eq!(summary.all, expected);
    let expected = Endings {
        offered_packets: 4,
        delivered_packets: 2,
        dropped_packets: 0,
        lost_packets: 1,
        open_packets: 1,
    };
    assert_eq!(summary.important, expected);
    assert!(near(summary.undelivered_fraction, 0.4));
    assert!(near(summary.dropped_fraction, 0.2));
    assert!(near(summary.important_delivered_fraction, 2.0 / 3.0));
    assert!(near(important_fraction(&summary), 2.0 / 3.0));
    let ages = summary.age_important_ns.unwrap();
    assert_eq!(
        (ages.samples, ages.min, ages.max),
        (2, 10_000_000, 30_000_000)
    );
}

#[test]
fn summary_of_no_datagrams_is_none_and_of_open_ones_has_no_shares() {
    assert_eq!(datagrams(&[]), None);
    let open = datagrams(&[ended(0, 0, 0, Ending::Open)]).unwrap();
    let shares = [
        open.undelivered_fraction,
        open.dropped_fraction,
        open.important_delivered_fraction,
        important_fraction(&open),
    ];
    assert_eq!(shares, [None; 4]);
}

#[test]
fn picture_is_usable_if_all_of_it_and_what_it_builds_on_is_in_time() {
    // I P B B, I P B: the first P is late by 1 ms, the second I lacks a datagram.
    let film = [
        delivered(2, 0, 0, 20),
        delivered(2, 0, 0, 100),
        delivered(1, 1, 40, 141),
        delivered(0, 2, 80, 90),
        delivered(0, 3, 120, 130),
        delivered(2, 4, 160, 170),
        ended(2, 4, 160, Ending::Lost),
        delivered(1, 5, 200, 210),
        delivered(0, 6, 240, 250),
    ];
    let usable = |film: &[Datagram], deadline| {
        let seen = rules(deadline).watch(film);
        (seen.offered, seen.usable)
    };
    assert_eq!(usable(&film, Some(100)), (7, 1));
    // In time: the pictures that build on the P picture become usable too.
    assert_eq!(usable(&film, Some(101)), (7, 4));
    assert_eq!(usable(&film, None), (7, 4));
    // Nothing builds on a B picture.
    let mut film = film;
    film[3].ending = Ending::Dropped;
    assert_eq!(usable(&film, Some(101)), (7, 3));
    // Without the first I picture nothing is usable until the next, and that is broken.
    assert_eq!(usable(&film[2..], None), (6, 0));
}

#[test]
fn picture_whose_datagrams_are_under_way_does_not_count_until_its_deadline() {
    let film = |made: u64| {
        [
            delivered(2, 0, made, made + 10),
            ended(2, 0, made, Ending::Open),
            delivered(1, 1, made + 40, made + 50),
        ]
    };
    // The run ends at 10 s: the deadline of the first has passed, that of the second has not.
    assert_eq!(rules(Some(100)).watch(&film(9000)).offered, 2);
    assert_eq!(rules(Some(100)).watch(&film(9940)).offered, 0);
    assert_eq!(rules(None).watch(&film(9000)).offered, 0);
}

#[test]
fn pictures_before_the_discarded_time_ends_do_not_count_but_others_build_on_them() {
    let film = [
        delivered(2, 0, 0, 10),
        delivered(1, 1, 40, 50),
        delivered(0, 2, 80, 90),
    ];
    let seen = Rules {
        begin: MS(40),
        ..rules(None)
    }
    .watch(&film);
    assert_eq!((seen.offered, seen.usable), (2, 2));
    assert_eq!(seen.ages_ns, [10_000_000, 10_000_000]);
}

#[test]
fn age_of_a_picture_is_that_of_its_last_datagram() {
    let film = [
        delivered(2, 0, 0, 30),
        delivered(2, 0, 0, 20),
        // Not complete: no age.
        delivered(1, 1, 40, 45),
        ended(1, 1, 40, Ending::Dropped),
        // Complete, but not usable.
        delivered(0, 2, 80, 95),
    ];
    let seen = rules(None).watch(&film);
    assert_eq!(seen.ages_ns, [30_000_000, 15_000_000]);
}

#[test]
fn stall_is_a_gap_of_more_than_150_ms_and_an_interval() {
    // I pictures every 40 ms. Those from `lost.0` to before `lost.1` are lost.
    let film = |lost: core::ops::Range<u64>| {
        let picture = |n: u64| {
            if lost.contains(&n) {
                ended(2, n, n * 40, Ending::Lost)
            } else {
                delivered(2, n, n * 40, n * 40 + 10)
            }
        };
        (0..26).map(picture).collect::<Vec<_>>()
    };
    for deadline in [Some(100), None] {
        let stalls = |lost| rules(deadline).watch(&film(lost)).stalls;
        // Three lost: 160 ms from one picture to the next. Four lost: 200 ms, and 190 ms are no stall.
        assert_eq!(stalls(5..8), []);
        assert_eq!(stalls(5..9), [MS(200)]);
        // Nothing is shown before the sixth picture, or after the twentieth.
        let late = if deadline.is_some() { 0 } else { 10 };
        assert_eq!(stalls(0..5), [MS(200 + late)]);
        assert_eq!(stalls(20..26), [MS(240 - late)]);
        assert_eq!(stalls(0..26), [MS(1000)]);
    }
}

#[test]
fn pictures_of_a_stream_that_come_late_stall_the_film_until_they_come() {
    // Without a deadline, a picture is shown when it is complete, and not before the one before it.
    let film = [
        delivered(2, 0, 0, 10),
        delivered(2, 1, 40, 400),
        delivered(2, 2, 80, 390),
        delivered(2, 3, 120, 410),
    ];
    let seen = rules(None).watch(&film);
    assert_eq!((seen.stalls, seen.time), (vec![MS(390)], MS(410)));
    let seen = rules(Some(100)).watch(&film);
    assert_eq!((seen.usable, seen.stalls), (1, vec![]));
}

#[test]
fn streams_of_a_flow_add_up() {
    let films = [
        Seen {
            offered: 3,
            usable: 1,
            ages_ns: vec![5, 7],
            stalls: vec![MS(200)],
            time: MS(1000),
        },
        Seen {
            offered: 1,
            usable: 1,
            ages_ns: vec![9],
            stalls: vec![MS(300), MS(500)],
            time: MS(3000),
        },
        // Its connection did not open.
        Seen::default(),
    ];
    let summary = rules(None).sum_up(&films);
    assert_eq!((summary.offered_frames, summary.usable_frames), (4, 2));
    assert!(near(summary.usable_fraction, 0.5));
    // Half of two times 25 pictures.
    assert!(near(summary.usable_per_s, 25.0));
    assert_eq!((summary.stalls, summary.stalled_ns), (3, 1_000_000_000));
    assert_eq!(summary.stall_longest_ns, 500_000_000);
    assert!(near(summary.stalled_fraction, 0.25));
    assert_eq!(summary.age_ns.unwrap().p50, 7);
}
