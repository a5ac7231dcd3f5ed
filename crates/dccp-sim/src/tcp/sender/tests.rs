use super::*;
use dccp_proto::cc::config::CcConfig;
use dccp_proto::cc::law::{self, LawConfig};
use dccp_proto::cc::registry::Ccids;
use dccp_proto::cc::window_rules::Ccid2Rules;
use dccp_proto::cc::{HcSender, Run};

/// An input of a window sender.
#[derive(Clone, Copy)]
enum Event {
    Sent(Sent),
    Told(Instant, Feedback<'static>),
    Timeout(Instant),
}

/// The settings of a TCP with this law; Reno is TCP's own.
fn settings(law: LawConfig) -> CcConfig {
    CcConfig {
        ack_ratio: Some(2),
        ..Config::with_law(law).unwrap_or_default().cc(Instant::ZERO)
    }
}

fn tell_ccid_2(sender: &mut dyn HcSender, event: Event) -> f64 {
    match event {
        Event::Sent(sent) => sender.on_sent(&Run {
            now: sent.now,
            packets: sent.packets,
            last: sent.seq,
            payload_len: 1448,
            pipe: sent.pipe,
            has_more: true,
            is_short: false,
        }),
        Event::Told(now, fb) => sender.on_feedback(now, &fb),
        Event::Timeout(now) => assert!(sender.on_timeout(now)),
    }
    sender.snapshot().cwnd_packets.expect("a window")
}

fn tell_tcp(window: &mut WindowSender, event: Event) -> f64 {
    match event {
        Event::Sent(sent) => window.on_sent(sent, 2),
        Event::Told(now, fb) => window.on_feedback(now, &fb, 2),
        Event::Timeout(now) => assert!(window.on_timeout(now)),
    }
    window.window().cwnd
}

fn told(round: u64, acked: u32, lost: u32, ack: u64, pipe: u32, rtt_ms: u64) -> Feedback<'static> {
    let count = |packets| Count {
        packets,
        bytes: 1448 * u64::from(packets),
    };
    Feedback {
        seq: Seq::ZERO,
        ack: Seq::new(ack),
        acked: count(acked),
        marked: Count::default(),
        lost: count(lost),
        congestion: (lost > 0).then_some(Seq::new(ack)),
        drops: Drops::default(),
        slow_receiver: false,
        rtt: Some(Duration::from_millis(rtt_ms)),
        ack_sent_at: None,
        ack_ccval: None,
        pipe,
        pipe_max: pipe + acked + lost,
        delivered_rate: Some(Rate::from_bytes_per_s(2e6)),
        is_app_limited: false,
        round,
        acks_lost: 0,
        mean_size: 1448,
        gss: Seq::new(ack),
        options: Options(&[]),
        elapsed: None,
    }
}

/// The inputs of CCID 2 and its window after each. The path holds 150 packets, loses one of more than 200, and is
/// silent once.
fn record(config: &CcConfig) -> Vec<(Event, f64)> {
    let mut sender = {
        let ccids = Ccids::default();
        ccids.find(2).expect("built in").sender(config)
    };
    let mut events = Vec::new();
    let (mut seq, mut acked) = (0, 0);
    for round in 1..=120 {
        let now = Instant::from_nanos(round * 400_000_000);
        let mut pipe = 0;
        while pipe < 1000 && matches!(sender.permit(now, pipe), Permit::Now { .. }) {
            seq += 1;
            let sent = Event::Sent(Sent {
                now,
                seq: Seq::new(seq),
                packets: 1,
                pipe,
            });
            events.push((sent, tell_ccid_2(&mut *sender, sent)));
            pipe += 1;
        }
        if round == 90 {
            let expiry = Event::Timeout(sender.poll_timeout().expect("packets are in flight"));
            events.push((expiry, tell_ccid_2(&mut *sender, expiry)));
            acked = seq;
            continue;
        }
        let rtt_ms = 100 + u64::from(pipe.saturating_sub(150)) / 2;
        let mut lost = u32::from(pipe > 200);
        while pipe > 0 {
            let n = pipe.min(2);
            pipe -= n;
            acked += u64::from(n);
            let at = now + Duration::from_millis(rtt_ms);
            let fb = Event::Told(at, told(round, n - lost, lost, acked, pipe, rtt_ms));
            events.push((fb, tell_ccid_2(&mut *sender, fb)));
            lost = 0;
        }
    }
    events
}

#[test]
fn one_trace_of_events_gives_tcp_and_ccid_2_the_same_windows_bit_for_bit() {
    for law in law::all() {
        let config = settings(law.clone());
        let events = record(&config);
        let mut window = WindowSender::new(&config, config.law.build(), Ccid2Rules);
        for (n, &(event, cwnd)) in events.iter().enumerate() {
            let ours = tell_tcp(&mut window, event);
            assert_eq!(
                ours.to_bits(),
                cwnd.to_bits(),
                "{law}, event {n}: {ours} {cwnd}"
            );
        }
        let windows: Vec<f64> = events.iter().map(|(_, cwnd)| *cwnd).collect();
        let is_lively = windows
            .windows(2)
            .filter(|w| w[0].to_bits() != w[1].to_bits())
            .count();
        assert!(is_lively > 50, "{law}: {is_lively} changes");
    }
}

/// Segments that leave for each of the acknowledgements after the first of 16 was lost: 15 that report
/// one more segment each, and that of everything; and the window then.
fn sent_in_recovery(halves_flight: bool) -> (Vec<usize>, u32) {
    let config = Config {
        mss: 1000,
        initial_window: 16,
        halves_flight,
        law: dccp_historic::law("scalable-linux").expect("a name in the list"),
        ..Config::default()
    };
    let mut sender = Sender::new(&config, Instant::ZERO, u64::MAX);
    sender.write(1_000_000);
    let now = Instant::from_nanos(100_000_000);
    while sender.poll(Instant::ZERO).is_some() {}
    let mut answer = |next: u64, until: u64| {
        let ack = Ack {
            next,
            blocks: &[(1000, until)],
            ece: false,
            is_pure: true,
            timestamps: None,
        };
        sender.on_ack(now, &ack);
        let sent = core::iter::from_fn(|| sender.poll(now)).count();
        (sent, sender.window.window().packets())
    };
    let mut sent: Vec<_> = (2..=16).map(|until| answer(0, 1000 * until).0).collect();
    let all = 1000 * (16 + sent.iter().sum::<usize>() as u64 - 1);
    let (last, window) = answer(all, all);
    sent.push(last);
    (sent, window)
}

#[test]
fn a_halved_flight_sends_half_as_much_and_resumes_from_what_is_in_flight() {
    let whole = vec![1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 14];
    assert_eq!(sent_in_recovery(false), (whole, 14));
    let half = vec![1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 12];
    assert_eq!(sent_in_recovery(true), (half, 12));
}

/// The timeout in milliseconds when it expired, when all that was sent before is acknowledged 1 ms later, and when the
/// first segment after that is, another 100 ms later.
fn timeouts_after_expiry(keeps_backoff: bool) -> [u128; 3] {
    let config = Config {
        mss: 1000,
        initial_window: 4,
        samples_every_ack: true,
        keeps_backoff,
        ..Config::default()
    };
    let mut sender = Sender::new(&config, Instant::ZERO, u64::MAX);
    sender.write(1_000_000);
    let ack = |sender: &mut Sender, now, next| {
        let ack = Ack {
            next,
            blocks: &[],
            ece: false,
            is_pure: true,
            timestamps: None,
        };
        sender.on_ack(now, &ack);
        while sender.poll(now).is_some() {}
        sender.window.snapshot().rto.expect("it").as_millis()
    };
    while sender.poll(Instant::ZERO).is_some() {}
    ack(&mut sender, Instant::from_nanos(100_000_000), 4000);
    let all = sender.next();
    let expiry = sender.poll_timeout().expect("segments in flight");
    sender.on_timeout(expiry);
    let expired = sender.window.snapshot().rto.expect("it").as_millis();
    let before = ack(&mut sender, expiry + Duration::from_millis(1), all);
    let after = ack(&mut sender, expiry + Duration::from_millis(101), all + 1000);
    [expired, before, after]
}

#[test]
fn a_doubled_timeout_ends_with_a_sample_or_with_new_data() {
    // It expires 300 ms and the 40 of a delayed acknowledgement after 100 ms. A mean of 100 ms with a variation of 50;
    // then 341 ms: 130.125 and 97.75; then 100 ms: 126.36 and 80.84.
    assert_eq!(timeouts_after_expiry(false), [600, 521, 449]);
    assert_eq!(timeouts_after_expiry(true), [600, 1042, 449]);
}

#[test]
fn one_way_delay_does_not_include_the_wait_for_a_second_segment() {
    let law = LawConfig::from(law::lp::Config::default());
    let config = Config::with_law(law).expect("TCP's slow start");
    let mut sender = Sender::new(&config, Instant::ZERO, u64::MAX);
    let ms = |ms: u64| Instant::from_nanos(1_000_000 * ms);
    // The segments of the second pair leave 10 ms apart. Each takes 25 ms, and the second one is acknowledged at once.
    let mut delay_after = |first: u64, second: u64, next: u64| {
        for at in [first, second] {
            sender.write(1448);
            sender.poll(ms(at)).expect("room in the window");
        }
        let ack = Ack {
            next,
            blocks: &[],
            ece: false,
            is_pure: true,
            timestamps: Some(Timestamps {
                value: ms(second + 25).timestamp(),
                // RFC 7323 §4.3: that of the first segment.
                echo: ms(first).timestamp(),
            }),
        };
        sender.on_ack(ms(second + 50), &ack);
        let inner = sender.window.snapshot().inner;
        let delay = inner.iter().find(|(name, _)| *name == "delay_s");
        delay.expect("a sample").1
    };
    let together = delay_after(0, 0, 2 * 1448);
    let longer = delay_after(100, 110, 4 * 1448) - together;
    assert!(longer.abs() < 1e-9, "{longer}");
}
