use super::*;
use crate::random::Seed;
use crate::source::Frames;
use dccp_proto::wire::Payload;

const MS: Duration = Duration::from_millis(1);

fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

fn start(source: Source) -> RunningSource {
    let app = App {
        source,
        ..App::default()
    };
    RunningSource::new(&app, ms(100))
}

/// Polls at each millisecond up to `end` and returns the times of datagrams.
fn moments_until(end: u64, source: &mut RunningSource) -> Vec<u64> {
    let mut moments = Vec::new();
    for at in 100..end {
        while source.poll(ms(at), 1000).is_some() {
            moments.push(at);
        }
    }
    moments
}

/// All moments of a source that ends.
fn moments(source: Source) -> Vec<u64> {
    let mut source = start(source);
    let moments = moments_until(200, &mut source);
    assert_eq!(source.next_at(), None);
    moments
}

#[test]
fn each_source_has_its_rhythm() {
    assert!(moments(Source::Silent).is_empty());
    assert_eq!(moments(Source::Bulk { len: 1, count: 3 }), [100; 3]);
    assert!(moments(Source::Bulk { len: 1, count: 0 }).is_empty());
    let cbr = |count| Source::Cbr {
        len: 1,
        interval: 20 * MS,
        count,
    };
    assert_eq!(moments(cbr(3)), [100, 120, 140]);
    assert!(moments(cbr(0)).is_empty());
    let script = [7, 7, 9].map(|t| (t * MS, Message::Zeros(1)));
    assert_eq!(moments(Source::Script(script.to_vec())), [107, 107, 109]);
}

#[test]
fn a_script_sends_its_own_bytes() {
    let script = vec![(Duration::ZERO, Message::Bytes(b"late".to_vec()))];
    let mut source = start(Source::Script(script));
    let message = source.poll(ms(100), 1).unwrap().message;
    assert_eq!(message.payload(), Payload::Bytes(b"late"));
    assert_eq!(Message::from(message.payload()), message);
    assert_eq!((message.len(), message.is_empty()), (4, false));
}

#[test]
fn independent_datagrams_come_at_the_mean_rate_and_at_other_times_with_another_stream() {
    let poisson = Source::Poisson {
        len: 100,
        interval: MS,
        count: u64::MAX,
    };
    let come = |name: &str| {
        let app = App {
            source: poisson.clone(),
            random: Seed(1).stream(name),
            ..App::default()
        };
        moments_until(10_100, &mut RunningSource::new(&app, ms(100)))
    };
    let (a, b) = (come("a"), come("b"));
    assert!((9_700..10_300).contains(&a.len()), "{}", a.len());
    assert_ne!(a, b);
    assert_eq!(a, come("a"));
    // In a Poisson process the variance of the number in 100 ms is its mean, 100.
    let counts = (0..100).map(|k| a.iter().filter(|t| (*t - 100) / 100 == k).count());
    let squares: usize = counts.map(|n| n.abs_diff(100).pow(2)).sum();
    assert!((6_000..15_000).contains(&squares), "{squares}");
}

#[test]
fn on_and_off_take_turns() {
    let source = Source::OnOff {
        len: 1,
        interval: 2 * MS,
        on: Spread::Fixed(4 * MS),
        off: Spread::Fixed(10 * MS),
    };
    let moments = moments_until(135, &mut start(source));
    assert_eq!(moments, [100, 102, 104, 114, 116, 118, 128, 130, 132]);
}

#[test]
fn a_swinging_rate_has_its_mean_and_its_extremes() {
    let source = Source::Sine {
        len: 1000,
        mean: Rate::from_bytes_per_s(500_000.0),
        swing: Rate::from_bytes_per_s(300_000.0),
        period: 4000 * MS,
    };
    let moments = moments_until(8100, &mut start(source));
    let within = |from: u64, to: u64| {
        let is_in = |t: &&u64| (100 + from..100 + to).contains(*t);
        moments.iter().filter(is_in).count()
    };
    // 500 a second; a tenth of a second around the crest 80, around the trough 20.
    assert!(within(0, 8000).abs_diff(4000) <= 1);
    assert!(within(950, 1050).abs_diff(80) <= 1);
    assert!(within(2950, 3050).abs_diff(20) <= 1);
    // Half a period carries 1000 and the area of a half wave: 300 · 4 / π.
    assert!(within(0, 2000).abs_diff(1382) <= 1);
}

#[test]
fn a_film_gives_all_of_a_picture_at_once() {
    let film = Frames {
        pattern: "IB".into(),
        interval: 40 * MS,
        sizes: [2500, 1000, 300],
        datagram: 1000,
        count: 3,
    };
    let mut source = start(Source::Frames(film));
    let mut lens = Vec::new();
    for at in [100, 139, 140, 180] {
        while let Some(datagram) = source.poll(ms(at), 1500) {
            lens.push((at, datagram.message.len()));
        }
    }
    let expected = [(100, 1000), (100, 1000), (100, 500), (140, 300)];
    assert_eq!(lens[..4], expected);
    assert_eq!(lens[4..], [(180, 1000), (180, 1000), (180, 500)]);
    assert_eq!(source.next_at(), None);
}

#[test]
fn the_next_request_waits_for_the_whole_answer_or_gives_it_up() {
    let mut source = start(Source::Requests {
        len: 10,
        answer: 1500,
        think: Spread::Fixed(5 * MS),
        patience: 50 * MS,
        count: 3,
    });
    source.on_received(ms(100), 1500); // nobody asked
    assert_eq!(source.poll(ms(100), 1000).unwrap().message.len(), 10);
    assert_eq!(source.next_at(), Some(ms(150)));
    source.on_received(ms(110), 1000);
    assert_eq!(source.next_at(), Some(ms(150)));
    source.on_received(ms(111), 500);
    assert_eq!(source.next_at(), Some(ms(116)));
    assert!(source.poll(ms(115), 1000).is_none());
    assert!(source.poll(ms(116), 1000).is_some());
    // The second answer never comes.
    assert!(source.poll(ms(166), 1000).is_some());
    assert_eq!(source.next_at(), Some(ms(216)));
    source.on_received(ms(170), 1500);
    assert_eq!(source.next_at(), None);
}

#[test]
fn the_last_request_is_given_up_too() {
    let mut source = start(Source::Requests {
        len: 10,
        answer: 1,
        think: Spread::Fixed(MS),
        patience: 50 * MS,
        count: 1,
    });
    assert!(source.poll(ms(100), 1000).is_some());
    assert!(source.poll(ms(150), 1000).is_none());
    assert_eq!(source.next_at(), None);
}

#[test]
fn a_source_that_stamps_numbers_its_datagrams() {
    let cbr = Source::Cbr {
        len: 64,
        interval: 10 * MS,
        count: 2,
    };
    let app = App {
        source: cbr,
        stamps: true,
        ..App::default()
    };
    let mut source = RunningSource::new(&app, ms(100));
    let stamps: Vec<_> = [103, 110]
        .map(|t| source.poll(ms(t), 1000).unwrap())
        .iter()
        .map(|datagram| match datagram.message.payload() {
            Payload::Bytes(bytes) => Stamp::read(bytes).unwrap(),
            Payload::Zeros(_) => panic!("no stamp"),
        })
        .collect();
    // Its stamp has the time at which it was due, not that of the call.
    assert_eq!(
        stamps.iter().map(|s| s.made).collect::<Vec<_>>(),
        [ms(100), ms(110)]
    );
    assert_eq!(stamps.iter().map(|s| s.number).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn each_nth_datagram_is_important_from_the_first_on() {
    let app = App {
        source: Source::Bulk { len: 1, count: 7 },
        important_every: Some(3),
        ..App::default()
    };
    let mut source = RunningSource::new(&app, ms(100));
    let classes = core::iter::from_fn(|| source.poll(ms(100), 1000)).map(|d| d.class);
    assert_eq!(classes.collect::<Vec<_>>(), [1, 0, 0, 1, 0, 0, 1]);
}

#[test]
fn datagrams_of_a_picture_have_its_number_and_its_class() {
    let film = Frames {
        pattern: "PIB".into(),
        interval: MS,
        sizes: [30, 30, 20],
        datagram: 20,
        count: 3,
    };
    let mut source = start(Source::Frames(film));
    let all = core::iter::from_fn(|| source.poll(ms(200), 1000));
    let all: Vec<_> = all.map(|d| (d.number, d.picture, d.class)).collect();
    assert_eq!(all, [(0, 0, 1), (1, 0, 1), (2, 1, 2), (3, 1, 2), (4, 2, 0)]);
}
