//! When packets leave, and what they carry (RFC 5348 §4.6, §8.3; RFC 4342 §8.1).

use super::*;

#[test]
fn without_a_round_trip_time_one_packet_per_second_leaves() {
    // 5348-4.2-1
    let mut s = Sender::<Tfrc>::new(&config());
    assert!(matches!(s.permit(START, 0), Permit::Now { packets: 1, .. }));
    send(&mut s, START, true);
    assert_eq!(s.permit(START, 0), Permit::At(at(1000)));
    assert_eq!(s.snapshot().phase, Some("initial"));
    // Small packets, too.
    let mut s = Sender::<Tfrc>::new(&config());
    send_size(&mut s, START, true, 10);
    assert_eq!(s.permit(START, 0), Permit::At(at(1000)));
}

#[test]
fn packets_leave_one_interval_apart_and_t_delta_early() {
    // 5348-4.6-1, 5348-8.3-1: 40,000 bytes/s is a packet per 25 ms.
    for (granularity, early) in [(0, 0), (4, 2), (20, 10), (100, 12)] {
        let mut s = Sender::<Tfrc>::new(&CcConfig {
            rtt: Some(RTT),
            granularity: ms(granularity),
            ..config()
        });
        send(&mut s, START, true);
        let early = if early == 12 { us(12_500) } else { ms(early) };
        assert_eq!(
            s.permit(START, 0),
            Permit::At(at(25) - early),
            "{granularity}"
        );
        let permit = s.permit(at(25) - early, 0);
        assert_eq!(permit, Permit::Now { packets: 1 });
    }
}

#[test]
fn saved_credit_is_bounded() {
    // 5348-4.6-1: after a second without data no more than a millisecond is made up for.
    let mut s = sender();
    send(&mut s, START, true);
    send(&mut s, at(1000), true);
    assert_eq!(s.permit(at(1000), 0), Permit::At(at(1024)));
}

#[test]
fn a_new_rate_counts_for_the_packet_that_waits() {
    // 5348-4.6-1: at one packet per second the next one would leave at 1 s.
    let mut s = Sender::<Tfrc>::new(&config());
    send(&mut s, START, true);
    tell(&mut s, at(100), &Told::default());
    assert_eq!(s.permit(at(100), 0), Permit::Now { packets: 1 });
}

#[test]
fn fast_senders_get_a_batch_of_250_us() {
    // `docs/design.md`, decision 8b
    let mut s = sender();
    send_all(&mut s, 0, 100, true);
    s.x = 1e8;
    assert_eq!(s.permit(at(10_000), 0), Permit::Now { packets: 25 });
    // A quarter of the window is the most, where the path is short.
    s.round_trip = Some(RoundTrip::first(0.000_4));
    assert_eq!(s.permit(at(10_000), 0), Permit::Now { packets: 10 });
}

#[test]
fn a_growing_queue_slows_the_sender_before_losses_do() {
    // 5348-4.5-1
    let mut s = sender();
    send(&mut s, START, true);
    tell(
        &mut s,
        at(120),
        &Told {
            change: |fb| fb.rtt = Some(Duration::from_millis(120)),
            ..Told::default()
        },
    );
    assert_near(s.x_inst() / s.x, 0.921_584);
    assert_near(s.round_trip.unwrap().r, 0.102);
    s.x = 16.0;
    assert_near(s.x_inst(), 1000.0 / 64.0);
}

#[test]
fn packets_carry_the_window_counter() {
    // 4342-8.1-1, 4342-8.1-2
    let mut s = sender();
    assert_eq!(send(&mut s, at(0), true), 0);
    assert_eq!(send(&mut s, at(24), true), 0);
    assert_eq!(send(&mut s, at(25), true), 1);
    let mut fb = feedback();
    fb.ack_ccval = Some(0);
    s.on_feedback(at(30), &fb);
    assert_eq!(send(&mut s, at(31), true), 4);
}

#[test]
fn the_sender_tells_its_estimate_where_it_promised_to() {
    // 6323-3.3-1, 6323-3.2.1-1
    let mut s = sender();
    assert_eq!(send_size(&mut s, at(0), true, 1000), (0, 0));
    s.on_feature(Feature::SendRttEstimate.number(), 1);
    // 100,000 µs need three bytes.
    assert_eq!(send_size(&mut s, at(0), true, 1000), (0, 5));
    let mut w = OptionWriter::new(100);
    s.on_send_sync(&mut w);
    assert_eq!(w.as_slice(), [128, 5, 1, 0x86, 0xA0]);
    let mut s = Sender::<Tfrc>::new(&config());
    s.on_feature(Feature::SendRttEstimate.number(), 1);
    assert_eq!(send_size(&mut s, at(0), true, 1000).1, 3);
    s.on_feature(Feature::SendRttEstimate.number(), 0);
    let mut w = OptionWriter::new(100);
    s.on_send_sync(&mut w);
    assert!(w.is_empty());
}

#[test]
fn ack_vectors_are_acknowledged_once_per_round_trip() {
    // 4342-6.3-1
    for options in [&[38, 3, 0][..], &[40, 3, 0]] {
        let mut s = sender();
        let mut signals = 0;
        for t in 0..1000 {
            let fb = Feedback {
                options: Options(options),
                ..feedback()
            };
            s.on_feedback(at(t), &fb);
            send(&mut s, at(t), true);
            while let Some(signal) = s.poll_signal() {
                assert_eq!(signal, Signal::SendAck);
                signals += 1;
            }
        }
        assert_eq!(signals, 9);
    }
    // Without them there is nothing to keep.
    let mut s = sender();
    for t in 0..1000 {
        s.on_feedback(at(t), &feedback());
        send(&mut s, at(t), true);
    }
    assert_eq!(s.poll_signal(), None);
}

#[test]
fn a_packet_much_larger_than_the_mean_takes_its_own_time() {
    // 5348-4.6-1: 100 bytes at 4000 bytes/s take 25 ms.
    for (size, gap) in [
        (100, ms(25)),
        (200, ms(25)),
        (201, us(50_250)),
        (1000, ms(250)),
    ] {
        let mut s = sender();
        send_size(&mut s, START, true, 100);
        assert_near(s.x, 4000.0);
        send_size(&mut s, at(1000), true, size);
        let now = at(1000);
        let Permit::At(next) = s.permit(now, 0) else {
            panic!("nothing leaves at once");
        };
        let early = s.t_delta(gap);
        assert!(
            next + early + ms(2) >= now + gap && next <= now + gap,
            "{size}: {:?}",
            next - now
        );
    }
}
