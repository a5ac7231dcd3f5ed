use super::*;
use crate::cc::Drops;
use crate::cc::fixtures::{START, config, feedback, ms, packets, single};
use crate::seq::Seq;
use proptest::prelude::*;

const RTT: Duration = ms(20);

fn sender(safe_udp: SafeUdpConfig) -> Sender {
    Sender::new(&CcConfig {
        rtt: Some(RTT),
        safe_udp,
        ..config()
    })
}

fn provisioned() -> Sender {
    sender(SafeUdpConfig {
        profile: Profile::Provisioned,
        ..SafeUdpConfig::default()
    })
}

/// Offers a datagram of 1000 bytes, which leaves if it is admitted.
fn offer(s: &mut Sender, now: Instant, seq: &mut u64) -> Admission {
    let admission = s.admits(now, 1000, false);
    if admission == Admission::Send {
        *seq += 1;
        s.on_sent(&Run {
            has_more: false,
            ..single(now, *seq)
        });
    }
    admission
}

/// A source of 1000 datagrams per second, and a peer that acknowledges each after a round trip.
struct Flow {
    sender: Sender,
    now: Instant,
    seq: u64,
    sent: VecDeque<(Instant, u64)>,
    dropped: u64,
    notices: Vec<SendCode>,
    reset: Option<u8>,
    round: u64,
    /// Every n-th packet is lost; 0: none.
    lost_every: u64,
    is_silent: bool,
}

impl Flow {
    fn new(sender: Sender) -> Self {
        Self {
            sender,
            now: START,
            seq: 0,
            sent: VecDeque::new(),
            dropped: 0,
            notices: Vec::new(),
            reset: None,
            round: 0,
            lost_every: 0,
            is_silent: false,
        }
    }

    fn run_ms(&mut self, time: u64) {
        for _ in 0..time {
            self.now += ms(1);
            if self.sender.poll_timeout().is_some_and(|at| at <= self.now) {
                self.sender.on_timeout(self.now);
            }
            while let Some((at, seq)) = self.sent.pop_front_if(|(at, _)| *at + RTT <= self.now) {
                self.acknowledge(at, seq);
            }
            if self.sender.permit(self.now, 0) != Permit::OnFeedback {
                let before = self.seq;
                match offer(&mut self.sender, self.now, &mut self.seq) {
                    Admission::Send => self.sent.push_back((self.now, before + 1)),
                    _ => self.dropped += 1,
                }
            }
            while let Some(notice) = self.sender.poll_notice() {
                self.notices.push(notice);
            }
            while let Some(signal) = self.sender.poll_signal() {
                if let Signal::Reset(code) = signal {
                    self.reset = Some(code);
                }
            }
        }
    }

    fn acknowledge(&mut self, at: Instant, seq: u64) {
        if self.is_silent {
            return;
        }
        let is_lost = self.lost_every > 0 && seq.is_multiple_of(self.lost_every);
        let mut fb = feedback();
        if is_lost {
            fb.lost = packets(1);
            fb.congestion = Some(Seq::new(seq));
        } else {
            fb.acked = packets(1);
        }
        fb.gss = Seq::new(self.seq);
        fb.rtt = Some(self.now - at);
        self.round = seq / 20;
        fb.round = self.round;
        self.sender.on_feedback(self.now, &fb);
    }

    fn state(&self) -> &'static str {
        self.sender.snapshot().phase.expect("a state")
    }
}

#[test]
fn first_round_trip_has_ten_packets_and_the_rest_is_dropped() {
    let mut s = sender(SafeUdpConfig::default());
    let mut seq = 0;
    for _ in 0..10 {
        assert_eq!(offer(&mut s, START, &mut seq), Admission::Send);
    }
    assert_eq!(offer(&mut s, START, &mut seq), Admission::Drop);
    assert!(matches!(
        s.send_code(START),
        Some(SendCode::Dropped {
            bits_per_s: 4_000_000,
            dropped: 1
        })
    ));
    // A tenth of the round trip later there is room for one more.
    assert_eq!(offer(&mut s, START + ms(2), &mut seq), Admission::Send);
    assert_eq!(offer(&mut s, START + ms(2), &mut seq), Admission::Drop);
}

#[test]
fn provisioned_sender_has_no_start_up() {
    let mut s = provisioned();
    let mut seq = 0;
    for _ in 0..10_000 {
        assert_eq!(offer(&mut s, START, &mut seq), Admission::Send);
    }
    assert_eq!(s.permit(START, 0), Permit::Now { packets: BATCH });
}

#[test]
fn clean_path_ends_the_start_up_and_drops_nothing_more() {
    let mut flow = Flow::new(sender(SafeUdpConfig::default()));
    flow.run_ms(300);
    assert_eq!(flow.state(), "clear");
    let before = flow.dropped;
    flow.run_ms(10_000);
    assert_eq!((flow.dropped, flow.state()), (before, "clear"));
    assert_eq!(flow.notices, []);
}

#[test]
fn end_of_a_measurement_is_no_timeout() {
    let mut flow = Flow::new(provisioned());
    flow.run_ms(50);
    let at = flow.sender.poll_timeout().expect("an interval");
    assert!(!flow.sender.is_overdue(at));
    flow.is_silent = true;
    flow.run_ms(200);
    let at = flow.sender.poll_timeout().expect("an interval");
    assert!(flow.sender.is_overdue(at));
}

#[test]
fn silence_opens_the_breaker_after_a_second() {
    // SafeUDP §6: also in the start-up.
    for mut s in [sender(SafeUdpConfig::default()), provisioned()] {
        assert_eq!(s.hold_off(), None);
        s.size = 0.0;
        let mut flow = Flow::new(s);
        flow.is_silent = true;
        flow.run_ms(900);
        assert_eq!((flow.reset, flow.state()), (None, "enforce"));
        flow.run_ms(400);
        assert_eq!(flow.reset, Some(Cause::Feedback.reset_code().0));
        assert_eq!(flow.state(), "open");
        let until = flow.sender.hold_off().expect("a hold");
        assert!(until > flow.now + ms(8000));
        assert!(matches!(
            flow.notices.last(),
            Some(SendCode::Refused { cause: Cause::Feedback, not_before }) if *not_before == until
        ));
        assert!(!flow.sender.send_code(flow.now).expect("a code").is_sent());
    }
}

#[test]
fn pause_of_the_application_is_no_silence() {
    let mut s = provisioned();
    let mut seq = 0;
    for _ in 0..20 {
        offer(&mut s, START, &mut seq);
    }
    // The tail of the burst was lost. Nothing is sent any more.
    let first = s.poll_timeout().expect("an interval");
    s.on_timeout(first);
    let mut fb = feedback();
    fb.acked = packets(18);
    fb.pipe = 2;
    s.on_feedback(first, &fb);
    let mut is_lost = false;
    while let Some(at) = s.poll_timeout() {
        assert!(at < START + ms(5000), "the timer does not end");
        is_lost |= s.on_timeout(at);
    }
    assert!(is_lost);
    assert_eq!(s.hold_off(), None);
}

#[test]
fn persistent_loss_is_advised_then_enforced() {
    let mut flow = Flow::new(provisioned());
    flow.lost_every = 20;
    flow.run_ms(400);
    assert_eq!(flow.state(), "advisory");
    let advice = |code: &SendCode| matches!(code, SendCode::Congestion { .. });
    assert!(flow.notices.iter().any(advice));
    assert_eq!(flow.dropped, 0);
    flow.run_ms(1200);
    assert_eq!(flow.state(), "enforce");
    assert!(flow.dropped > 0);
    assert!(
        flow.notices
            .iter()
            .any(|c| matches!(c, SendCode::Limited { .. }))
    );
    flow.lost_every = 0;
    flow.run_ms(5000);
    assert_eq!(flow.state(), "clear");
    assert_eq!(
        flow.notices.last(),
        Some(&SendCode::Info(super::super::Info::Cleared))
    );
}

#[test]
fn receiver_without_buffers_limits_the_next_round_trip() {
    let mut flow = Flow::new(provisioned());
    flow.run_ms(100);
    let mut fb = feedback();
    fb.acked = packets(1);
    fb.drops = Drops {
        receive_buffer: 5,
        ..Drops::default()
    };
    fb.round = flow.round;
    flow.sender.on_feedback(flow.now, &fb);
    flow.run_ms(21);
    let limit = flow.sender.limit(flow.now).expect("a limit");
    // 20 packets per round trip less 5.
    assert!((700e3..800e3).contains(&limit.rate), "{}", limit.rate);
    flow.run_ms(100);
    assert_eq!(flow.sender.limit(flow.now), None);
    let warning = |code: &SendCode| {
        matches!(
            code,
            SendCode::HostWarning {
                host: Side::Receiver,
                ..
            }
        )
    };
    flow.run_ms(1000);
    assert!(flow.notices.iter().any(warning), "{:?}", flow.notices);
}

#[test]
fn endless_application_waits_after_a_thousand_drops() {
    let mut s = sender(SafeUdpConfig::default());
    let mut seq = 0;
    let mut drops = 0;
    let at = loop {
        match offer(&mut s, START, &mut seq) {
            Admission::Send => {}
            Admission::Drop => drops += 1,
            Admission::At(at) => break at,
        }
    };
    assert_eq!(drops, DROPS_AT_ONCE);
    assert!(at > START);
    assert_eq!(offer(&mut s, at, &mut seq), Admission::Send);
}

#[test]
fn marked_datagrams_pass_before_others() {
    // The cap is half of the input, and a third of the input is marked.
    let mut flow = Flow::new(provisioned());
    flow.lost_every = 20;
    flow.run_ms(3000);
    let mut s = flow.sender;
    let cap = s.machine.cap().expect("enforcement");
    let (mut passed, mut seq) = ([0, 0], flow.seq);
    let mut now = flow.now;
    for n in 0..900_u32 {
        now += Duration::from_secs_f64(1000.0 / (2.0 * cap));
        let is_important = n.is_multiple_of(3);
        if s.admits(now, 1000, is_important) == Admission::Send {
            seq += 1;
            s.on_sent(&single(now, seq));
            passed[usize::from(is_important)] += 1;
        }
    }
    let [others, marked] = passed;
    assert!(marked >= 299, "{marked} {others}");
    assert!((130..=160).contains(&others), "{marked} {others}");
}

#[test]
fn declared_rate_is_on_the_packets_of_one_run_per_interval() {
    let mut s = sender(SafeUdpConfig {
        declared_rate: Some(8_000_000),
        ..SafeUdpConfig::default()
    });
    let mut options = OptionWriter::new(20);
    assert_eq!(s.data_options_len(), DECLARED_RATE_LEN);
    s.prepare(START, &mut options);
    let read = super::super::options::read_declared_rate(crate::wire::Options(options.as_slice()));
    assert_eq!(read, Some(1_000_000));
    offer(&mut s, START, &mut 0);
    assert_eq!(s.data_options_len(), 0);
    let mut options = OptionWriter::new(20);
    s.prepare(START, &mut options);
    assert_eq!(options.len(), 0);
}

#[test]
fn notices_are_bounded_and_do_not_repeat() {
    let mut s = provisioned();
    for _ in 0..1000 {
        s.notify(SendCode::Blocked);
    }
    assert_eq!(s.notices.len(), 1);
    for bits_per_s in 0..1000 {
        s.notify(SendCode::Limited { bits_per_s });
    }
    assert_eq!(s.notices.len(), NOTICES);
}

/// One thing that happens to a sender.
#[derive(Clone, Copy, Debug)]
enum Input {
    Offer(usize),
    Feedback {
        counts: [u32; 7],
        rtt_us: u64,
        host_losses: u32,
        rounds: u64,
    },
    Wait(u64),
    Failed(u32),
}

fn input() -> impl Strategy<Value = Input> {
    let few = || prop_oneof![Just(0), Just(1), 0..1000_u32];
    let counts = [few(), few(), few(), few(), few(), few(), few()];
    prop_oneof![
        (0..70_000_usize).prop_map(Input::Offer),
        (counts, 0..3_000_000_u64, any::<u32>(), 0..3_u64).prop_map(
            |(counts, rtt_us, host_losses, rounds)| Input::Feedback {
                counts,
                rtt_us,
                host_losses,
                rounds,
            }
        ),
        (0..2_000_000_000_u64).prop_map(Input::Wait),
        any::<u32>().prop_map(Input::Failed),
    ]
}

/// The feedback that a peer, honest or not, sends.
fn report(s: &mut Sender, now: Instant, seq: u64, input: Input) {
    let Input::Feedback {
        counts: [acked, marked, lost, full, corrupt, protocol, gone],
        rtt_us,
        host_losses,
        rounds,
    } = input
    else {
        return;
    };
    let mut options = OptionWriter::new(50);
    AckOptions {
        receive_rate: Some(host_losses),
        arrival_time: None,
        host_loss_count: Some(host_losses % (1 << 24)),
    }
    .write(&mut options);
    let mut fb = feedback();
    fb.acked = packets(acked);
    fb.marked = packets(marked);
    fb.lost = packets(lost);
    fb.drops = Drops {
        protocol,
        not_listening: gone / 999,
        receive_buffer: full,
        corrupt,
    };
    fb.congestion = (lost + marked + corrupt > 0).then_some(Seq::new(seq));
    fb.gss = Seq::new(seq);
    fb.round = s.events.events() + rounds;
    fb.rtt = Some(Duration::from_micros(rtt_us));
    fb.options = crate::wire::Options(options.as_slice());
    s.on_feedback(now, &fb);
}

proptest! {
    #[test]
    fn no_report_breaks_the_sender(
        inputs in proptest::collection::vec(input(), 1..300),
        is_shared in any::<bool>(),
        loss_limit in proptest::option::of(1..1_000_000_u32),
    ) {
        let profile = if is_shared { Profile::Shared } else { Profile::Provisioned };
        let mut s = sender(SafeUdpConfig { profile, declared_rate: None, loss_limit });
        let (mut now, mut seq) = (START, 0);
        for input in inputs {
            match input {
                Input::Offer(len) if s.permit(now, 0) != Permit::OnFeedback => {
                    match s.admits(now, len, len % 2 == 0) {
                        Admission::Send => {
                            seq += 1;
                            s.on_sent(&Run { payload_len: len, ..single(now, seq) });
                        }
                        Admission::Drop => {}
                        Admission::At(at) => prop_assert!(at > now),
                    }
                }
                Input::Offer(_) => {}
                Input::Feedback { .. } => report(&mut s, now, seq, input),
                Input::Wait(ns) => now += Duration::from_nanos(ns),
                Input::Failed(packets) => s.on_send_failed(packets),
            }
            while let Some(at) = s.poll_timeout().filter(|at| *at <= now) {
                s.on_timeout(now);
                prop_assert!(s.poll_timeout().is_none_or(|next| next > at && next > now));
            }
            while s.poll_signal().is_some() {}
            let limit = s.limit(now).filter(|_| s.size > 0.0);
            prop_assert!(limit.is_none_or(|l| l.rate > 0.0 && l.depth.is_finite()), "{limit:?}");
            prop_assert!(s.notices.len() <= NOTICES);
            prop_assert!(s.packets_per_rtt().is_none_or(f64::is_finite));
            let _ = (s.snapshot(), s.send_code(now));
        }
    }
}
