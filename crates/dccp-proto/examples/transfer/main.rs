//! One bulk transfer over CCID 2 in virtual time, without any network, for counting instructions:
//!
//! ```sh
//! valgrind --tool=callgrind --toggle-collect='*sender_turn*' target/release/examples/transfer 40000 100
//! ```
//!
//! counts those of the sending end, `*receiver_turn*` those of the receiving end. The second number
//! says how many packets are in flight at 100,000 packets/s; 1400 bytes a packet, over UDP, received
//! in batches. The third is the loss: one of this number of packets, at random (then with BBR, whose window
//! does not follow single losses); `overshoot`: every packet beyond those in flight; or `safeudp`: none, with CCID 248.

mod end;

use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::batch::Batch;
use dccp_proto::cc::law::bbr;
use dccp_proto::cc::safeudp::{self, Profile};
use end::{BEGIN, End, PACKETS_PER_TURN, TURN};
use std::collections::VecDeque;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (packets, window, losses) = match words[..] {
        [packets, window] => (packets, window, Some(Losses::None)),
        [packets, window, "overshoot"] => (packets, window, Some(Losses::Overshoot)),
        [packets, window, "safeudp"] => (packets, window, Some(Losses::NoneOfSafeUdp)),
        [packets, window, one_of] => (packets, window, one_of.parse().ok().map(Losses::OneOf)),
        _ => ("", "", None),
    };
    let (Ok(packets), Ok(window), Some(losses)) = (packets.parse(), window.parse(), losses) else {
        eprintln!("usage: transfer PACKETS WINDOW [overshoot | safeudp | ONE_OF_SO_MANY_IS_LOST]");
        return ExitCode::from(2);
    };
    let Some((told, received)) = transfer(packets, window, losses) else {
        eprintln!("the settings are not accepted");
        return ExitCode::FAILURE;
    };
    println!("{told} of {packets} packets have a fate, {received} arrived");
    ExitCode::from(u8::from(told < packets))
}

/// Which packets do not arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Losses {
    None,
    /// None, with CCID 248 in place of CCID 2.
    NoneOfSafeUdp,
    /// One of this number, at random.
    OneOf(u64),
    /// Every packet beyond the window in flight.
    Overshoot,
}

/// Sends until all packets have a fate, at most for a virtual hour. Returns the numbers of fates and of arrivals.
fn transfer(packets: u64, window: u64, losses: Losses) -> Option<(u64, u64)> {
    let turns_of_a_window = usize::try_from(window.div_ceil(PACKETS_PER_TURN)).ok()?;
    let (mut sender, mut receiver) = (End::new(1, 2), End::new(2, 1));
    let mut config = End::config();
    match losses {
        Losses::OneOf(_) => config.law = bbr::Config::default().into(),
        Losses::NoneOfSafeUdp => {
            (config.tx_ccids, config.rx_ccids) = (vec![safeudp::NUMBER], vec![safeudp::NUMBER]);
            // Without a start-up, which would drop most of the packets.
            config.safe_udp.profile = Profile::Provisioned;
        }
        Losses::None | Losses::Overshoot => {}
    }
    receiver.listen(config.clone());
    sender.connect(BEGIN, 40_000, config);
    let mut link: VecDeque<Vec<Batch>> = vec![Vec::new(); turns_of_a_window].into();
    let mut loss = Loss::new(losses, window);
    let mut back = Vec::new();
    let turns = (Duration::from_hours(1).as_micros() / TURN.as_micros()).try_into();
    for turn in 0..turns.unwrap_or(u32::MAX) {
        let now = BEGIN + TURN * turn;
        sender.outbox.limit = match losses {
            Losses::Overshoot => packets,
            _ => packets.min(sender.outbox.told + window),
        };
        let mut batches = core::mem::take(&mut back);
        sender_turn(&mut sender, now, &mut batches);
        loss.decide(&batches);
        link.push_back(batches);
        let mut batches = link.pop_front()?;
        receiver_turn(&mut receiver, now, &mut batches, &mut loss);
        back = batches;
        sender.reuse_batches_of(&mut receiver);
        if sender.outbox.told == packets {
            break;
        }
    }
    Some((sender.outbox.told, receiver.inbox.received))
}

/// Decides at a packet's departure whether it will arrive.
struct Loss {
    losses: Losses,
    window: usize,
    random: u64,
    /// Of the packets on their way, in order.
    arrives: VecDeque<bool>,
}

impl Loss {
    fn new(losses: Losses, window: u64) -> Self {
        Self {
            losses,
            window: usize::try_from(window).unwrap_or(usize::MAX),
            random: 1,
            arrives: VecDeque::new(),
        }
    }

    fn decide(&mut self, batches: &[Batch]) {
        let packets: usize = batches.iter().map(Batch::len).sum();
        for _ in 0..packets {
            let arrives = match self.losses {
                Losses::None | Losses::NoneOfSafeUdp => true,
                Losses::OneOf(many) => !self.random().is_multiple_of(many),
                Losses::Overshoot => self.arrives.len() < self.window,
            };
            self.arrives.push_back(arrives);
        }
    }

    fn random(&mut self) -> u64 {
        // A congruential generator with Knuth's factor; its high bits are good enough.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005);
        self.random = self.random.wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }
}

/// Takes what arrived out of `batches`, and puts there what leaves.
#[inline(never)]
fn sender_turn(end: &mut End, now: Instant, batches: &mut Vec<Batch>) {
    end.turn(now, batches, &mut || true);
}

/// As [`sender_turn`], of those packets that arrive.
#[inline(never)]
fn receiver_turn(end: &mut End, now: Instant, batches: &mut Vec<Batch>, loss: &mut Loss) {
    end.turn(now, batches, &mut || {
        loss.arrives.pop_front().unwrap_or(true)
    });
}
