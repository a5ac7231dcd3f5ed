//! A ring in shared memory under random writes.

use dccp_ring::{
    App, Arrival, ChangeError, Label, Look, PushError, Report, Shape, Ticket, Transport, Violation,
    shared, silent,
};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Size of a slot in bytes.
const SLOT: u32 = 16;

/// `data` is a list of commands: a byte and its arguments. Both sides act honestly, and random words are
/// written in between. They may report violations; they must not panic or return more than a slot holds.
///
/// # Panics
/// If a side breaks these rules.
pub fn run(data: &[u8]) {
    let (transport, fd) = shared::create(Shape::new(4, SLOT), silent()).expect("memory");
    let app = shared::attach(&fd, silent()).expect("a ring that was just made");
    let file = File::from(fd);
    let words = file.metadata().expect("the length of the memory").len() / 8;
    let mut ring = Ring {
        app,
        transport,
        tickets: Vec::new(),
    };
    let mut rest = data;
    while let Some((&command, after)) = rest.split_first() {
        let (n, after) = after.split_first().unwrap_or((&0, after));
        rest = after;
        if command % 4 != 3 {
            // A reported violation does not end the run.
            _ = ring.step(command, *n);
            continue;
        }
        // The word to change: the first of a control line, or any.
        let (place, after) = rest.split_first_chunk().unwrap_or((&[0; 2], rest));
        let (value, after) = after.split_first_chunk().unwrap_or((&[0; 8], after));
        let place = u64::from(u16::from_le_bytes(*place));
        let at = if *n < 128 { place % 16 * 16 } else { place };
        file.write_at(value, at % words * 8)
            .expect("a place in the memory");
        rest = after;
    }
}

struct Ring {
    app: App,
    transport: Transport,
    tickets: Vec<Ticket>,
}

impl Ring {
    fn step(&mut self, command: u8, n: u8) -> Result<(), Violation> {
        match command % 4 {
            0 => self.send(n.into()),
            1 => self.application(n.into()),
            _ => self.arrive(n.into()),
        }
    }

    fn send(&mut self, n: u64) -> Result<(), Violation> {
        let source = &mut self.transport.source;
        match source.look(n % 4)? {
            Look::Nothing => {}
            Look::Expired(claimed) => assert!(claimed.len <= SLOT as usize),
            Look::Offer { len } => {
                // A longer datagram would make the slice panic.
                let buf = &mut [0; SLOT as usize][..len];
                source.claim_ahead((n % 5) as u32)?;
                let claimed = if n < 128 {
                    source.claim_into(buf)?
                } else {
                    source.refuse()?
                };
                if let Some(claimed) = claimed {
                    assert_eq!(claimed.len, len);
                    let report = Report {
                        tag: claimed.label.tag,
                        fate: n,
                        at_ns: n,
                    };
                    source.report(report)?;
                }
            }
        }
        source.flush();
        Ok(())
    }

    fn arrive(&mut self, n: u64) -> Result<(), Violation> {
        let data = [7; 2 * SLOT as usize];
        let len = usize::try_from(n % 18).unwrap_or_default();
        self.transport
            .sink
            .deliver(&data[..len], Arrival::default())?;
        self.transport.sink.flush();
        let received = self.app.receiver.recv(&mut [0; SLOT as usize])?;
        assert!(received.is_none_or(|(len, _)| len <= SLOT as usize));
        Ok(())
    }

    fn application(&mut self, n: u64) -> Result<(), Violation> {
        let label = Label {
            tag: n,
            priority: u8::try_from(n % 3).unwrap_or_default(),
            deadline_ns: n.is_multiple_of(7).then_some(n % 5),
            key: n.is_multiple_of(5).then_some(n % 2),
        };
        let sender = &mut self.app.sender;
        match (n >> 3) % 5 {
            0 | 1 => match sender.push(&[1; SLOT as usize][..usize::from(label.priority)], label) {
                Ok(pushed) => self.tickets.push(pushed.ticket),
                Err(PushError::Broken(violation)) => return Err(violation),
                Err(PushError::Full | PushError::TooLong { .. }) => {}
            },
            2 => sender
                .take_back(usize::from(label.priority))?
                .sort_by(|a, b| b.tag.cmp(&a.tag)),
            3 => _ = sender.fates(9, |_| ())?,
            _ => {
                let Some(ticket) = self.tickets.pop() else {
                    return Ok(());
                };
                let changed = match n % 2 {
                    0 => sender.revise(ticket, &[2], label),
                    _ => sender.withdraw(ticket).map(|_| ()),
                };
                if let Err(ChangeError::Broken(violation)) = changed {
                    return Err(violation);
                }
            }
        }
        Ok(())
    }
}
