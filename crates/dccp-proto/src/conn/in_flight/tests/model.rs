//! Against a model that reads every cell of every vector and counts afresh.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Data,
    Control,
    /// Names the packet this far before the newest; one cell per entry.
    Ack(u64, &'static [u8]),
    Timeout,
}

/// The state of a packet in the model.
#[derive(Clone, Copy, Debug)]
struct Known {
    is_data: bool,
    is_in_pipe: bool,
    is_received: bool,
    fate: Option<Fate>,
}

#[derive(Default)]
struct Model(Vec<Known>);

impl Model {
    fn send(&mut self, is_data: bool) {
        self.0.push(Known {
            is_data,
            is_in_pipe: is_data,
            is_received: false,
            fate: None,
        });
    }

    fn receive(&mut self, i: u64, fate: Fate) {
        let p = &mut self.0[usize::try_from(i).unwrap()];
        p.is_in_pipe = false;
        p.is_received = true;
        p.fate = p.fate.or(Some(fate));
    }

    fn ack(&mut self, named: u64, cells: &[u8]) {
        let mut next = named;
        for &cell in cells {
            for _ in 0..=cell & 63 {
                match cell >> 6 {
                    0 => self.receive(next, Acked),
                    1 => self.receive(next, AckedCe),
                    _ => {}
                }
                next = next.wrapping_sub(1);
            }
        }
        self.receive(named, Acked);
        for i in 0..usize::try_from(named).unwrap() {
            let later = self.0[i + 1..].iter().filter(|p| p.is_received).count();
            let p = &mut self.0[i];
            if later >= 3 && !p.is_received && !cells.is_empty() {
                p.is_in_pipe = false;
                p.fate = p.fate.or(Some(Lost));
            }
        }
    }

    fn pipe(&self) -> u32 {
        self.0.iter().map(|p| u32::from(p.is_in_pipe)).sum()
    }

    fn fates(&self) -> Vec<(u32, Fate)> {
        let data = (0..).zip(&self.0).filter(|(_, p)| p.is_data);
        data.filter_map(|(i, p)| Some((i, p.fate?))).collect()
    }
}

fn step() -> impl Strategy<Value = Step> {
    const VECTORS: &[&[u8]] = &[
        &[],
        &[0],
        &[3],
        &[64],
        &[0, 0xc0, 1],
        &[1, 0xc1, 0x40, 0xc0, 2],
        &[0, 0xc2, 0, 0xc0, 0x81, 5],
        &[0xc0, 0, 0xc0, 0, 0xc0],
        &[7],
        &[0, 0xcf],
    ];
    prop_oneof![
        6 => Just(Step::Data),
        2 => Just(Step::Control),
        4 => (0..8_u64, proptest::sample::select(VECTORS)).prop_map(|(n, v)| Step::Ack(n, v)),
        1 => Just(Step::Timeout),
    ]
}

proptest! {
    #[test]
    fn fates_and_pipe_are_those_of_a_model_that_reads_everything(
        iss in prop_oneof![Just(1000), Just((1_u64 << 48) - 20)],
        steps in proptest::collection::vec(step(), 1..200),
    ) {
        let mut flow = Flow::starting_at(iss, "");
        let mut model = Model::default();
        let mut told = Vec::new();
        for step in steps {
            match step {
                Step::Data | Step::Control => {
                    let is_data = matches!(step, Step::Data);
                    flow.send(if is_data { "d" } else { "." });
                    model.send(is_data);
                }
                Step::Ack(back, cells) if back < flow.sent => {
                    let named = flow.sent - 1 - back;
                    let covers: u64 = cells.iter().map(|c| u64::from(c & 63) + 1).sum();
                    let cells = if covers <= named + 1 { cells } else { &[] };
                    flow.ack(named, &option(38, cells));
                    model.ack(named, cells);
                }
                Step::Ack(..) => {}
                Step::Timeout => {
                    flow.flight.on_timeout();
                    model.0.iter_mut().for_each(|p| p.is_in_pipe = false);
                }
            }
            prop_assert_eq!(flow.flight.pipe(), model.pipe());
            told.append(&mut flow.take_fates());
            told.sort_by_key(|&(i, _)| i);
            prop_assert_eq!(&told, &model.fates());
        }
        flow.close();
        told.append(&mut flow.take_fates());
        told.sort_by_key(|&(i, _)| i);
        let slots: Vec<u32> = told.iter().map(|&(i, _)| i).collect();
        let data: Vec<u32> = (0..).zip(&model.0).filter(|(_, p)| p.is_data).map(|(i, _)| i).collect();
        prop_assert_eq!(slots, data, "each datagram has exactly one fate");
    }
}
