//! The models.

mod changes;
mod lanes;
mod sleep;

use crate::app::Sender;
use crate::bell::{Bell, silent};
use crate::layout::{Layout, Shape};
use crate::mem::Memory;
use crate::recv::{Receiver, Sink};
use crate::slot::Label;
use crate::transport::{Look, Source};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of preemptive thread switches. `cargo xtask soak loom` explores more.
const PREEMPTIONS: usize = 4;

/// Explores a model in every order and prints the number of orders.
fn explore(name: &str, model: impl Fn() + Sync + Send + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    let count = executions.clone();
    let mut builder = loom::model::Builder::new();
    let given = std::env::var("LOOM_MAX_PREEMPTIONS").ok();
    let given = given.and_then(|preemptions| preemptions.parse().ok());
    builder.preemption_bound = given.or(Some(PREEMPTIONS));
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!("{name}: {} executions", executions.load(Ordering::Relaxed));
}

fn ring(slots: u32, transport_bell: Arc<dyn Bell>, app_bell: Arc<dyn Bell>) -> Ring {
    let shape = Shape {
        slots,
        slot_bytes: 1,
        fates: 2,
        arrivals: 2,
        arrival_bytes: 1,
    };
    let layout = Layout::new(shape).expect("a small ring");
    let memory = Memory::plain(layout.atomic_words(), layout.entry_words());
    Layout::write_indexes(&memory);
    Ring {
        sender: Sender::new(&memory, &layout, transport_bell),
        source: Source::new(&memory, &layout, app_bell.clone()),
        sink: Sink::new(&memory, &layout, app_bell),
        receiver: Receiver::new(&memory, &layout),
    }
}

struct Ring {
    sender: Sender,
    source: Source,
    sink: Sink,
    receiver: Receiver,
}

/// A ring with waiting datagrams of one byte each, which is also the tag.
fn filled(slots: u32, data: &[u8]) -> (Sender, Source, Vec<crate::app::Ticket>) {
    let Ring {
        mut sender, source, ..
    } = ring(slots, silent(), silent());
    let tickets = data
        .iter()
        .map(|&byte| sender.push(&[byte], tag(byte)))
        .map(|pushed| pushed.expect("there is room").ticket)
        .collect();
    (sender, source, tickets)
}

fn tag(byte: u8) -> Label {
    Label {
        tag: byte.into(),
        ..Label::default()
    }
}

/// How the transport claims.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// This number in one step.
    ahead: u32,
    /// One by one, with at most this number of looks.
    looks: usize,
}

/// One by one; in one step; in one step that claims more than it takes.
const WAYS: [Way; 3] = [
    Way { ahead: 1, looks: 2 },
    Way { ahead: 2, looks: 2 },
    Way { ahead: 2, looks: 1 },
];
/// Claims all datagrams.
const REST: Way = Way { ahead: 2, looks: 8 };

/// Claims all claimable datagrams and returns their data. Checks that each label fits its data.
fn claim(source: &mut Source, way: Way) -> Vec<u8> {
    let mut claimed = Vec::new();
    for _ in 0..way.looks {
        match source.look(0).expect("an honest application") {
            Look::Nothing => break,
            Look::Expired(_) => panic!("no datagram has a deadline"),
            Look::Offer { len } => {
                let mut buf = [0];
                source.claim_ahead(way.ahead).expect("honest");
                let Some(of) = source.claim_into(&mut buf[..len]).expect("honest") else {
                    continue;
                };
                assert_eq!(of.label.tag, buf[0].into(), "a label of other data");
                claimed.push(buf[0]);
            }
        }
    }
    if way.ahead > 1 {
        source.flush();
    }
    claimed
}
