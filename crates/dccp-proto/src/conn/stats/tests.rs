use super::*;
use std::collections::BTreeSet;

#[test]
fn the_mib_has_the_names_of_linux() {
    let mib = Mib {
        active_opens: 1,
        estab_resets: 2,
        curr_estab: 3,
        out_segs: 4,
        out_rsts: 5,
        abort_on_timeout: 6,
        timeouts: 7,
        passive_opens: 9,
        attempt_fails: 10,
        out_datagrams: 11,
        in_errs: 12,
        opt_mandatory_error: 13,
        invalid_opt: 14,
    };
    let named: Vec<_> = mib.by_name().collect();
    let expected = [
        ("DCCPActiveOpens", 1),
        ("DCCPEstabResets", 2),
        ("DCCPCurrEstab", 3),
        ("DCCPOutSegs", 4),
        ("DCCPOutRsts", 5),
        ("DCCPAbortOnTimeout", 6),
        ("DCCPTimeouts", 7),
        ("DCCPPassiveOpens", 9),
        ("DCCPAttemptFails", 10),
        ("DCCPOutDatagrams", 11),
        ("DCCPInErrs", 12),
        ("DCCPOptMandatoryError", 13),
        ("DCCPInvalidOpt", 14),
    ];
    assert_eq!(named, expected);
}

#[test]
fn names_are_unique() {
    let drops = DropCounts::default();
    let counters = Counters::default();
    let names: Vec<_> = drops.by_name().map(|(n, _)| n).collect();
    assert_eq!(names.len(), BTreeSet::from_iter(&names).len());
    assert_eq!(names.len(), DropReason::ALL.len());
    let names: Vec<_> = counters.by_name().map(|(n, _)| n).collect();
    assert_eq!(names.len(), BTreeSet::from_iter(&names).len());
}

#[test]
fn each_parse_error_keeps_its_name() {
    for error in ParseError::ALL {
        assert_eq!(DropReason::from(error).name(), error.name());
    }
}

#[test]
fn each_reason_and_each_type_has_its_counter() {
    let mut stats = Stats::default();
    for (n, &reason) in DropReason::ALL.iter().enumerate() {
        (0..=n).for_each(|_| stats.drops.count(reason));
    }
    for (n, packet_type) in PacketType::ALL.into_iter().enumerate() {
        (0..=n).for_each(|_| stats.packets_in.count(packet_type));
    }
    for (n, (&reason, (name, count))) in
        (1..).zip(DropReason::ALL.iter().zip(stats.drops.by_name()))
    {
        assert_eq!((stats.drops.of(reason), reason.name()), (n, name));
        assert_eq!(count, n);
    }
    for (n, packet_type) in (1..).zip(PacketType::ALL) {
        assert_eq!(stats.packets_in.of(packet_type), n);
    }
    assert_eq!(stats.packets_in.total(), 66);
    let all = DropReason::ALL.len() as u64;
    assert_eq!(stats.drops.total(), all * (all + 1) / 2);
}

#[test]
fn each_reset_code_each_drop_code_and_each_timer_has_its_counter() {
    let (mut stats, mut resets) = (Stats::default(), PerResetCode::default());
    for (n, code) in PerResetCode::codes().enumerate() {
        (0..=n).for_each(|_| resets.count(code));
    }
    for (n, code) in (1..).zip(PerResetCode::codes()) {
        assert_eq!(resets.of(code), n);
    }
    let all = PerResetCode::KINDS as u64;
    assert_eq!(resets.total(), all * (all + 1) / 2);
    assert_eq!(resets.of(ResetCode(255)), all - 1);
    assert_eq!(resets.of(ResetCode(127)), all);
    for n in 0..8 {
        let code = DropCode::from_number(n).expect("a code");
        (0..=n).for_each(|_| stats.drop_codes_out.count(code));
        assert_eq!(stats.drop_codes_out.of(code), u64::from(n) + 1);
    }
    assert_eq!(stats.drop_codes_out.total(), 36);
    for (n, timer) in (1..).zip(Timer::ALL) {
        (0..n).for_each(|_| stats.timers.count(timer));
        assert_eq!(stats.timers.of(timer), n);
    }
}

#[test]
fn the_sum_of_two_connections_is_that_of_each_counter() {
    let mut one = Stats::default();
    one.mib.out_segs = 3;
    one.counters.data_lost = 4;
    one.packets_out.count(PacketType::Data);
    one.packets_in.count(PacketType::Ack);
    one.rx_dropped[2] = 5;
    one.drops.count(DropReason::Closed);
    one.drop_codes_out.count(DropCode::CORRUPT);
    one.timers.count(Timer::Pace);
    let mut sum = one;
    sum += one;
    assert_eq!((sum.mib.out_segs, sum.counters.data_lost), (6, 8));
    assert_eq!(sum.packets_out.of(PacketType::Data), 2);
    assert_eq!(sum.packets_in.of(PacketType::Ack), 2);
    assert_eq!(
        (sum.rx_dropped[2], sum.drops.of(DropReason::Closed)),
        (10, 2)
    );
    assert_eq!(sum.drop_codes_out.of(DropCode::CORRUPT), 2);
    assert_eq!(sum.timers.of(Timer::Pace), 2);
    let mut resets = Resets::default();
    resets.sent.count(ResetCode::CLOSED);
    resets.received.count(ResetCode::ABORTED);
    let mut sum = resets;
    sum += resets;
    assert_eq!(sum.sent.of(ResetCode::CLOSED), 2);
    assert_eq!(sum.received.of(ResetCode::ABORTED), 2);
}
