//! The descriptors that the server's thread waits for.

use crate::wait::timespec;
use dccp::clock;
use dccp_proto::Instant;
use rustix::event::{PollFlags, epoll};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// The most descriptors that one wait reports.
const EVENTS: usize = 64;

/// Waits for many descriptors, each under the key of its owner. The cost grows only with the number of ready descriptors.
pub(crate) struct Watch {
    epoll: OwnedFd,
}

/// The descriptors of one owner that are watched, and for what.
#[derive(Default, Debug)]
pub(crate) struct Watched(Vec<(RawFd, PollFlags)>);

impl Watch {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll })
    }

    /// Registers the owner's descriptors for these events, and removes those without events. Descriptors registered before
    /// may already be closed.
    ///
    /// # Errors
    /// When the system has no memory for it, or the user watches too many.
    pub(crate) fn update<'a>(
        &self,
        key: u64,
        watched: &mut Watched,
        held: impl Iterator<Item = (BorrowedFd<'a>, PollFlags)>,
    ) -> io::Result<()> {
        let before = core::mem::take(&mut watched.0);
        for (fd, flags) in held {
            let raw = fd.as_raw_fd();
            let known = before.iter().find(|(other, _)| *other == raw);
            self.set(fd, key, known.map(|(_, flags)| *flags), flags)?;
            if !flags.is_empty() {
                watched.0.push((raw, flags));
            }
        }
        Ok(())
    }

    fn set(
        &self,
        fd: BorrowedFd<'_>,
        key: u64,
        before: Option<PollFlags>,
        flags: PollFlags,
    ) -> rustix::io::Result<()> {
        if flags.is_empty() {
            return match before {
                Some(_) => epoll::delete(&self.epoll, fd),
                None => Ok(()),
            };
        }
        let data = epoll::EventData::new_u64(key);
        let mut events = epoll::EventFlags::empty();
        events.set(epoll::EventFlags::IN, flags.contains(PollFlags::IN));
        events.set(epoll::EventFlags::OUT, flags.contains(PollFlags::OUT));
        match before {
            Some(known) if known == flags => Ok(()),
            Some(_) => epoll::modify(&self.epoll, fd, data, events),
            None => epoll::add(&self.epoll, fd, data, events),
        }
    }

    /// Watches these no more, because their owner ends. A descriptor that others share would be reported for ever.
    pub(crate) fn forget<'a>(&self, held: impl Iterator<Item = (BorrowedFd<'a>, PollFlags)>) {
        for (fd, _) in held {
            // One that is not watched fails, which changes nothing.
            let _ = epoll::delete(&self.epoll, fd);
        }
    }

    /// Waits until a descriptor is ready, or until `due`. Returns the keys of those that are, 64 at most.
    ///
    /// # Errors
    /// When the system has no memory.
    pub(crate) fn wait(&self, due: Option<Instant>) -> io::Result<BTreeSet<u64>> {
        let mut buffer = [MaybeUninit::uninit(); EVENTS];
        let now = clock::now();
        let timeout = due.map(|due| timespec(due, now));
        match epoll::wait(&self.epoll, &mut buffer, timeout.as_ref()) {
            Ok((events, _)) => Ok(events.iter().map(|event| event.data.u64()).collect()),
            Err(Errno::INTR) => Ok(BTreeSet::new()),
            Err(error) => Err(error.into()),
        }
    }
}
