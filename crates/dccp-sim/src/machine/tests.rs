use super::*;
use proptest::prelude::*;

const US: Duration = Duration::from_micros(1);

fn us(n: u64) -> Instant {
    Instant::ZERO + US * u32::try_from(n).unwrap()
}

/// Plays arrivals at these microseconds and returns the time at which each packet was handed over.
fn hand_overs(config: MachineConfig, arrivals: &[u64]) -> Vec<(u64, u64)> {
    let mut machine = Machine::new(config);
    let mut handed = Vec::new();
    let mut coming = arrivals.iter().copied().peekable();
    loop {
        let next = [coming.peek().map(|&at| us(at)), machine.next_at()];
        let Some(now) = next.into_iter().flatten().min() else {
            return handed;
        };
        while let Some(packet) = machine.poll(now) {
            handed.push((
                packet,
                (now - Instant::ZERO).as_micros().try_into().unwrap(),
            ));
        }
        if let Some(packet) = coming.next_if(|&at| us(at) == now) {
            machine.receive(now, packet).unwrap();
        }
    }
}

#[test]
fn the_processor_takes_its_time_for_each_packet() {
    let config = MachineConfig {
        receive_cost: 10 * US,
        batch: 1,
        ..MachineConfig::default()
    };
    let expected = [(0, 10), (3, 20), (4, 30), (100, 110)];
    assert_eq!(hand_overs(config, &[0, 3, 4, 100]), expected);
}

#[test]
fn what_arrives_during_the_wakeup_comes_together() {
    let config = MachineConfig {
        wakeup: 50 * US,
        receive_cost: US,
        ..MachineConfig::default()
    };
    let expected = [(0, 52), (20, 52), (51, 53), (200, 251)];
    assert_eq!(hand_overs(config, &[0, 20, 51, 200]), expected);
}

#[test]
fn a_batch_has_a_limit() {
    let config = MachineConfig {
        wakeup: 10 * US,
        receive_cost: US,
        batch: 2,
        ..MachineConfig::default()
    };
    let expected = [(0, 12), (1, 12), (2, 14), (3, 14), (4, 15)];
    assert_eq!(hand_overs(config, &[0, 1, 2, 3, 4]), expected);
}

#[test]
fn a_full_backlog_takes_no_more() {
    let config = MachineConfig {
        receive_cost: 10 * US,
        backlog: 2,
        ..MachineConfig::default()
    };
    let mut machine = Machine::new(config);
    assert_eq!(machine.receive(us(0), 'a'), Ok(()));
    assert_eq!(machine.receive(us(0), 'b'), Ok(()));
    assert_eq!(machine.receive(us(0), 'c'), Err(('c', Loss::Backlog)));
    assert_eq!(machine.poll(us(0)), None);
    assert_eq!(machine.poll(us(20)), Some('a'));
    assert_eq!(machine.receive(us(20), 'd'), Ok(()));
    assert_eq!(machine.poll(us(20)), Some('b'));
    assert_eq!(machine.busy(), 20 * US);
    let losses = HostLosses {
        backlog: 1,
        no_buffer: 0,
    };
    assert_eq!(machine.losses(), losses);
}

/// The packets without a buffer of the 78,333 that arrive per second, in three refills of a pool.
fn without_buffer(pool_kib: usize, refill: Duration) -> u64 {
    let mut machine = Machine::new(MachineConfig {
        memory: Some(Memory {
            buffers: pool_kib / 2,
            refill,
        }),
        ..MachineConfig::default()
    });
    for n in 0_u64.. {
        let now = Instant::from_nanos(n * 1_000_000_000 / 78_333);
        if now >= Instant::ZERO + 3 * refill {
            break;
        }
        // The machine counts what it refuses.
        let _ = machine.receive(now, n);
        machine.poll(now);
    }
    assert_eq!(machine.losses().backlog, 0);
    machine.losses().no_buffer
}

// E24: buffers of 2 KiB at 78,333 packets/s. 5741 KiB last 37 ms and 65535 KiB 418 ms.
#[test]
fn a_pool_of_buffers_loses_only_if_its_refill_comes_too_late() {
    for (pool_kib, lasts_us) in [(5741, 36_638), (65_535, 418_303)] {
        let lasts = US * lasts_us;
        assert_eq!(without_buffer(pool_kib, lasts), 0, "{pool_kib} KiB");
        assert!(without_buffer(pool_kib, lasts + US) > 0, "{pool_kib} KiB");
        // Twice as long a pause: half of the packets find no buffer.
        let lost = without_buffer(pool_kib, 2 * lasts);
        let all = 3 * 2 * pool_kib as u64 / 2;
        assert!(lost.abs_diff(all / 2) < 10, "{lost} of {all}");
    }
}

#[test]
fn work_of_a_transport_delays_what_waits() {
    let config = MachineConfig {
        batch: 1,
        ..MachineConfig::default()
    };
    let mut machine = Machine::new(config);
    machine.receive(us(0), 'a').unwrap();
    machine.receive(us(0), 'b').unwrap();
    assert_eq!(machine.poll(us(0)), Some('a'));
    machine.work(us(0), 30 * US);
    assert_eq!(machine.poll(us(0)), None);
    assert_eq!(machine.next_at(), Some(us(30)));
    assert_eq!(machine.may_send(us(10), Ok(1)), 0, "the processor is busy");
    assert_eq!(machine.poll(us(30)), Some('b'));
    assert_eq!(machine.busy(), 30 * US);
}

#[test]
fn sending_and_receiving_share_the_processor() {
    let config = MachineConfig {
        send_cost: 42 * US,
        receive_cost: 10 * US,
        ..MachineConfig::default()
    };
    let mut machine = Machine::new(config);
    assert_eq!(machine.may_send(us(5), Ok(3)), 3);
    assert_eq!(machine.may_send(us(5), Ok(100)), 64, "a quantum");
    machine.on_send(us(5));
    assert_eq!(machine.may_send(us(6), Ok(3)), 0);
    assert_eq!(machine.next_at(), Some(us(47)));
    assert!(!machine.takes_sender(us(46)));
    machine.receive(us(10), ()).unwrap();
    assert_eq!(machine.poll(us(47)), None);
    // The received packet came first, so the sender asks in vain once more.
    assert!(machine.takes_sender(us(47)));
    assert_eq!(machine.may_send(us(47), Ok(3)), 0);
    assert_eq!(machine.next_at(), Some(us(57)));
    assert_eq!(machine.poll(us(57)), Some(()));
    assert!(machine.takes_sender(us(57)));
    assert!(!machine.takes_sender(us(57)));
    assert_eq!(machine.next_at(), None);
}

#[test]
fn a_full_interface_lets_a_sender_wait() {
    let mut machine = Machine::<()>::new(MachineConfig::default());
    assert_eq!(machine.may_send(us(5), Err(us(9))), 0);
    assert_eq!(machine.next_at(), Some(us(9)));
    assert!(machine.takes_sender(us(9)));
}

#[test]
fn a_clock_is_ahead_drifts_and_ticks() {
    let clock = Clock {
        offset: Duration::from_secs(3),
        drift_ppb: 100_000,
        granularity: Duration::from_millis(10),
    };
    // After 100 s it has gained 10 ms.
    assert_eq!(clock.at(us(100_000_000)), us(103_010_000));
    assert_eq!(clock.at(us(99_999_000)), us(103_000_000));
    assert_eq!(clock.when(us(103_010_000)), us(100_000_000));
    assert_eq!(Clock::default().at(us(7)), us(7));
    assert_eq!(Clock::default().when(us(7)), us(7));
    assert_eq!(clock.when(us(1)), us(0));
}

proptest! {
    #[test]
    fn a_clock_shows_a_time_first_when_it_says(
        offset in 0..10_u64.pow(12),
        drift_ppb in -500_000_000..500_000_000_i32,
        granularity in prop_oneof![Just(0), 1..10_u64.pow(8)],
        shown in 0..10_u64.pow(14),
    ) {
        let clock = Clock {
            offset: Duration::from_nanos(offset),
            drift_ppb,
            granularity: Duration::from_nanos(granularity),
        };
        let shown = Instant::from_nanos(shown);
        let when = clock.when(shown);
        prop_assert!(clock.at(when) >= shown);
        if when > Instant::ZERO {
            prop_assert!(clock.at(Instant::from_nanos(when.as_nanos() - 1)) < shown);
        }
    }
}
