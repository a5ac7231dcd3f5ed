use super::*;

fn faults(config: FaultConfig) -> Faults {
    Faults::new(config, Seed(7), "test")
}

fn fates(config: FaultConfig) -> Vec<Fate> {
    let mut faults = faults(config);
    (0..10_000)
        .map(|_| faults.fate(Instant::ZERO, 100))
        .collect()
}

#[test]
fn an_outage_loses_what_begins_in_it() {
    let ms = |n: u64| Instant::ZERO + Duration::from_millis(n);
    let mut faults = faults(FaultConfig {
        outages: vec![Outage {
            start: ms(10),
            end: ms(20),
        }],
        ..FaultConfig::default()
    });
    for (at, fate) in [
        (9, Fate::Delivered),
        (10, Fate::Lost(Loss::Outage)),
        (19, Fate::Lost(Loss::Outage)),
        (20, Fate::Delivered),
    ] {
        assert_eq!(faults.fate(ms(at), 100), fate, "at {at} ms");
    }
}

#[test]
fn one_kind_of_fault_leaves_the_draws_of_another_alone() {
    let loss = FaultConfig {
        loss: 0.1,
        ..FaultConfig::default()
    };
    let both = FaultConfig {
        duplicate: 0.1,
        ..loss.clone()
    };
    let lost_ones = |config| -> Vec<bool> {
        let is_lost = |f: &Fate| matches!(f, Fate::Lost(_));
        fates(config).iter().map(is_lost).collect()
    };
    assert_eq!(lost_ones(loss), lost_ones(both));
}

#[test]
fn faults_are_as_frequent_as_configured() {
    let all = fates(FaultConfig {
        loss: 0.1,
        corrupt: 0.1,
        duplicate: 0.1,
        ..FaultConfig::default()
    });
    let count = |is: fn(&Fate) -> bool| all.iter().filter(|f| is(f)).count();
    let lost = count(|f| *f == Fate::Lost(Loss::Random));
    let corrupted = count(|f| matches!(f, Fate::Corrupted { bit } if *bit < 800));
    let duplicated = count(|f| *f == Fate::Duplicated);
    assert!((900..1100).contains(&lost), "{lost}");
    assert!((810..990).contains(&corrupted), "{corrupted}");
    assert!((720..900).contains(&duplicated), "{duplicated}");
}

#[test]
fn jitter_stays_within_its_bound_and_reaches_both_ends() {
    let mut faults = faults(FaultConfig {
        jitter: Jitter::Uniform(Duration::from_nanos(3)),
        ..FaultConfig::default()
    });
    let mut seen = [0; 4];
    for _ in 0..1000 {
        seen[usize::try_from(faults.detour().jitter.as_nanos()).unwrap()] += 1;
    }
    assert!(seen.iter().all(|n| *n > 200), "{seen:?}");
}

#[test]
fn losses_add_up_by_reason() {
    let mut losses = Losses::default();
    for reason in [Loss::Queue, Loss::Stranger, Loss::Queue] {
        losses.add(reason);
    }
    assert_eq!(losses.of(Loss::Queue), 2);
    assert_eq!(losses.of(Loss::Stranger), 1);
    assert_eq!(losses.total(), 3);
    for (number, reason) in Loss::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, number);
    }
}

#[test]
fn jitter_has_the_configured_distribution() {
    let draws = |jitter| {
        let mut faults = faults(FaultConfig {
            jitter,
            ..FaultConfig::default()
        });
        let mut all: Vec<_> = (0..10_001)
            .map(|_| faults.detour().jitter.as_micros())
            .collect();
        all.sort_unstable();
        all
    };
    let normal = draws(Jitter::Normal {
        mean: Duration::from_millis(10),
        deviation: Duration::from_millis(1),
    });
    // The median, and 15.9 % of the draws below a deviation less.
    assert!((9_950..10_050).contains(&normal[5000]), "{}", normal[5000]);
    assert!((8_950..9_050).contains(&normal[1587]), "{}", normal[1587]);
    let pareto = draws(Jitter::Pareto {
        scale: Duration::from_millis(1),
        shape: 2.0,
        most: Duration::from_millis(50),
    });
    // 1 ms · √2 at the median, √10 at the last tenth.
    assert!(pareto[0] >= 1000 && pareto[10_000] <= 50_000);
    assert!((1_390..1_440).contains(&pareto[5000]), "{}", pareto[5000]);
    assert!((3_000..3_330).contains(&pareto[9000]), "{}", pareto[9000]);
}

#[test]
fn bursts_and_bit_errors_are_faults_of_a_link() {
    let lost = fates(FaultConfig {
        bursts: Some(GilbertElliott::bursts(0.2, 5.0)),
        ..FaultConfig::default()
    });
    let count = lost
        .iter()
        .filter(|f| **f == Fate::Lost(Loss::Random))
        .count();
    assert!((1_700..2_300).contains(&count), "{count}");
    let flipped = fates(FaultConfig {
        bit_error_rate: 1e-4,
        ..FaultConfig::default()
    });
    // 1 − (1 − 1e-4)^800 = 7.7 %
    let count = flipped
        .iter()
        .filter(|f| matches!(f, Fate::Corrupted { bit: 0..800 }))
        .count();
    assert!((690..850).contains(&count), "{count}");
}

#[test]
fn invalid_faults_are_reported() {
    let told = |config: FaultConfig| config.check().unwrap_err().to_string();
    assert_eq!(FaultConfig::default().check(), Ok(()));
    let bursts = Some(GilbertElliott::bursts(0.9, 0.5));
    let text = told(FaultConfig {
        bursts,
        ..FaultConfig::default()
    });
    assert_eq!(text, "bursts.to_bad must be from 0 to 1");
    let jitter = Jitter::Pareto {
        scale: Duration::ZERO,
        shape: 0.0,
        most: Duration::ZERO,
    };
    let text = told(FaultConfig {
        jitter,
        ..FaultConfig::default()
    });
    assert_eq!(text, "faults.jitter.shape must be above 0");
    let outages = vec![Outage {
        start: Instant::from_nanos(1),
        end: Instant::from_nanos(1),
    }];
    let text = told(FaultConfig {
        outages,
        ..FaultConfig::default()
    });
    assert_eq!(
        text,
        "faults.outages must be intervals that end after they begin"
    );
}
