//! One UDP port of several threads: a socket in each, between which the kernel divides the flows by a hash of their
//! addresses and ports (`SO_REUSEPORT`). So a flow stays with its thread as long as none of the sockets goes; therefore
//! none goes before all can.

use dccp_io::Transport;
use std::sync::{Arc, Mutex, PoisonError};

/// The sockets of one address and UDP port.
#[derive(Debug)]
struct Group {
    members: Mutex<Vec<Member>>,
}

/// Asks a thread to close the sockets that it keeps for others only.
pub(crate) type CloseIdle = Box<dyn Fn() + Send>;

struct Member {
    close_idle: CloseIdle,
    need: Need,
}

/// Purpose of a thread's socket.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Need {
    /// Nothing.
    Nothing,
    /// It keeps its address from other programs while a flow rests.
    Rest,
    /// Connections or listeners.
    Work,
}

/// One thread's place in a group.
#[derive(Debug)]
pub(crate) struct Seat {
    group: Arc<Group>,
    index: usize,
}

/// A socket of a group, on its way to its thread.
pub(crate) struct Membership {
    pub(crate) transport: Box<dyn Transport>,
    pub(crate) seat: Seat,
}

impl core::fmt::Debug for Member {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Member")
            .field("need", &self.need)
            .finish_non_exhaustive()
    }
}

/// Makes a group of sockets, one for each thread.
pub(crate) fn found(
    transports: Vec<Box<dyn Transport>>,
    threads: impl Iterator<Item = CloseIdle>,
) -> Vec<Membership> {
    let members = threads.map(|close_idle| Member {
        close_idle,
        need: Need::Work,
    });
    let group = Arc::new(Group {
        members: Mutex::new(members.collect()),
    });
    let transports = transports.into_iter().enumerate();
    let memberships = transports.map(|(index, transport)| Membership {
        transport,
        seat: Seat {
            group: group.clone(),
            index,
        },
    });
    memberships.collect()
}

impl Seat {
    /// Says what this thread needs its socket for; gives the most that any does. When that becomes less, the others
    /// look again whether theirs can go.
    pub(crate) fn say(&self, need: Need) -> Need {
        let members = &self.group.members;
        let mut members = members.lock().unwrap_or_else(PoisonError::into_inner);
        let most = |members: &[Member]| members.iter().map(|member| member.need).max();
        let before = most(&members);
        members[self.index].need = need;
        let now = most(&members);
        if now < before {
            for (index, other) in members.iter().enumerate() {
                if index != self.index {
                    (other.close_idle)();
                }
            }
        }
        now.unwrap_or(need)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.say(Need::Nothing);
    }
}
