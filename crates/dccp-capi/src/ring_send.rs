//! Datagrams in a packet ring: pushing and changing them, and their fates.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::errors::{DCCP_ERR_AGAIN, DCCP_ERR_INVALID, DCCP_ERR_RING_BROKEN, DCCP_ERR_TOO_BIG};
use crate::failure::{Failure, status, value};
use crate::memory;
use crate::options::{DCCP_WHEN_FULL_DEFAULT, DCCP_WHEN_FULL_ERROR, time};
use crate::receive::{CRecvMeta, put_meta};
use crate::ring::RingHandle;
use crate::send::{CSendItem, CSendOptions, DCCP_SEND_KEY};
use crate::text::count;
use core::ffi::{c_int, c_void};
use dccp::packet_ring::{ChangeError, Held, Label, PushError, Sender, Ticket, Violation};
use dccp::{Fate, Fault, RingFate, clock};

/// Order for dccp_ring_sort(): highest priority first.
pub const DCCP_RING_BY_PRIORITY: c_int = 1;
/// Order for dccp_ring_sort(): earliest deadline first, datagrams without one last.
pub const DCCP_RING_BY_DEADLINE: c_int = 2;
/// Order for dccp_ring_sort(): lowest tag first.
pub const DCCP_RING_BY_TAG: c_int = 3;

/// The fate of one datagram of a ring.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CRingReport {
    /// The program's tag.
    pub tag: u64,
    /// When the fate became known, as of dccp_now_ns().
    pub known_ns: u64,
    /// One of DCCP_FATE_….
    pub fate: c_int,
    /// Drop Code of DCCP_FATE_RX_DROPPED, otherwise 0.
    pub drop_code: c_int,
}

impl CRingReport {
    fn of(report: &RingFate) -> Self {
        let drop_code = match report.fate {
            Fate::RxDropped(code) => code,
            _ => 0,
        };
        Self {
            tag: report.tag,
            known_ns: report.at.as_nanos(),
            fate: report.fate.index().into(),
            drop_code: drop_code.into(),
        }
    }
}

/// The label in a program's options, or the default for null.
unsafe fn label(options: *const CSendOptions) -> Result<Label, Failure> {
    if options.is_null() {
        return Ok(Label::default());
    }
    // SAFETY: the program passes a struct that begins with its size.
    let options = unsafe { memory::read_growing(options, "options") }?;
    let _checked = options.checked()?;
    if !matches!(
        options.when_full,
        DCCP_WHEN_FULL_DEFAULT | DCCP_WHEN_FULL_ERROR
    ) {
        return Err(Failure::invalid(
            "when_full: must be DCCP_WHEN_FULL_DEFAULT or DCCP_WHEN_FULL_ERROR, because a ring has no other policy",
        ));
    }
    let lifetime =
        (options.lifetime_us != 0).then(|| (clock::now() + time(options.lifetime_us)).as_nanos());
    let deadline = Some(options.deadline_ns).filter(|&ns| ns != 0);
    Ok(Label {
        tag: options.tag,
        priority: u8::try_from(options.priority).unwrap_or(u8::MAX),
        deadline_ns: lifetime.into_iter().chain(deadline).min(),
        key: (options.flags & DCCP_SEND_KEY != 0).then_some(options.key),
    })
}

fn number(ticket: Ticket) -> i64 {
    i64::try_from(ticket.number()).unwrap_or(i64::MAX)
}

/// Runs a call on the sender of a ring.
unsafe fn with<N: From<c_int>>(
    ring: *mut RingHandle,
    run: impl FnOnce(&mut Sender) -> Result<N, Failure>,
) -> N {
    value(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        run(handle.client.sender()).map_err(|failure| {
            if failure.code != DCCP_ERR_RING_BROKEN {
                return failure;
            }
            // A server that has ended leaves any bytes in the memory.
            match handle.client.over() {
                Some(over) => over.clone().into(),
                None => failure,
            }
        })
    })
}

/// Puts a datagram of `len` bytes into the ring, which copies it: at the end, but before datagrams of lower priority that
/// wait there. It replaces one with the same key. `options` are those of dccp_send_with(), or NULL. Returns the datagram's
/// ticket, with which it can be changed, or a negative error: DCCP_ERR_AGAIN if the ring is full, DCCP_ERR_TOO_BIG if the
/// datagram is longer than a slot.
///
/// A ticket is a number that stands for this datagram only. dccp_ring_revise() keeps it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_push(
    ring: *mut RingHandle,
    data: *const c_void,
    len: usize,
    options: *const CSendOptions,
) -> i64 {
    let push = |sender: &mut Sender| {
        // SAFETY: the program passes `len` bytes.
        let data = unsafe { memory::bytes(data, len, "data") }?;
        // SAFETY: the program passes null or options.
        let label = unsafe { label(options) }?;
        Ok(number(sender.push(data, label)?.ticket))
    };
    // SAFETY: the program passes null or a ring that no other thread uses.
    unsafe { with(ring, push) }
}

/// Puts `count` datagrams into the ring in one call, and shows them to the server together. Sets the result of each item to
/// its ticket, or a negative error. Returns the number of datagrams in the ring. If it took none, returns the error of the
/// first. If an item has a bad argument, returns DCCP_ERR_INVALID and takes none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_pushv(
    ring: *mut RingHandle,
    items: *mut CSendItem,
    count: usize,
) -> i64 {
    let push = |sender: &mut Sender| {
        // SAFETY: the program passes `count` items.
        let items = unsafe { memory::elements_mut(items, count, "items") }?;
        let mut labels = Vec::with_capacity(items.len());
        for item in &*items {
            // SAFETY: the program passes `len` bytes.
            unsafe { memory::bytes(item.data, item.len, "data") }?;
            // SAFETY: the program passes null or options.
            labels.push(unsafe { label(item.options) }?);
        }
        let mut taken = 0;
        let mut first = None;
        let mut batch = sender.batch();
        for (item, label) in items.iter_mut().zip(labels) {
            // SAFETY: the program passes `len` bytes.
            let data = unsafe { memory::bytes(item.data, item.len, "data") }?;
            match batch.push(data, label) {
                Ok(pushed) => {
                    item.result = number(pushed.ticket);
                    taken += 1;
                }
                Err(error) => {
                    item.result = push_code(&error).into();
                    first = first.or(Some(error));
                }
            }
        }
        match first {
            Some(error) if taken == 0 => Err(error.into()),
            _ => Ok(crate::text::count(taken)),
        }
    };
    // SAFETY: the program passes null or a ring that no other thread uses.
    unsafe { with(ring, push) }
}

/// 1 if a change was made, 0 if it came too late.
fn outcome(result: Result<(), ChangeError>) -> Result<i64, Failure> {
    match result {
        Ok(()) => Ok(1),
        Err(ChangeError::TooLate) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Replaces a datagram that waits, and its label. It keeps its place and its ticket. Returns 1, 0 if it has left or has
/// another fate, or a negative error. DCCP_ERR_INVALID if another datagram waits with the new key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_revise(
    ring: *mut RingHandle,
    ticket: u64,
    data: *const c_void,
    len: usize,
    options: *const CSendOptions,
) -> i64 {
    let revise = |sender: &mut Sender| {
        // SAFETY: the program passes `len` bytes.
        let data = unsafe { memory::bytes(data, len, "data") }?;
        // SAFETY: the program passes null or options.
        let label = unsafe { label(options) }?;
        outcome(sender.revise(Ticket::of_number(ticket), data, label))
    };
    // SAFETY: the program passes null or a ring that no other thread uses.
    unsafe { with(ring, revise) }
}

/// Takes a datagram that waits out of the ring. The program has no other report of it. Returns 1, 0 if it has left or has
/// another fate, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_withdraw(ring: *mut RingHandle, ticket: u64) -> i64 {
    let withdraw =
        |sender: &mut Sender| outcome(sender.withdraw(Ticket::of_number(ticket)).map(drop));
    // SAFETY: the program passes null or a ring that no other thread uses.
    unsafe { with(ring, withdraw) }
}

/// Takes the datagrams that wait and whose tag is from `first` to `last` out of the ring. Returns their number, or a
/// negative error. With one tag per frame this drops the frames that are out of date.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_withdraw_tags(
    ring: *mut RingHandle,
    first: u64,
    last: u64,
) -> i64 {
    let withdraw = |sender: &mut Sender| {
        let mut held = sender.take_back(usize::MAX)?;
        let before = held.len();
        held.retain(|label| !(first..=last).contains(&label.tag));
        Ok(count(before - held.len()))
    };
    // SAFETY: the program passes null or a ring that no other thread uses.
    unsafe { with(ring, withdraw) }
}

/// Moves a datagram that waits to another place in the order of departure: 0 is the next one to leave, and a number beyond
/// the last place is the last. Returns 1, 0 if the datagram has left or has another fate, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_move(ring: *mut RingHandle, ticket: u64, place: usize) -> i64 {
    let change = |sender: &mut Sender| {
        let mut held = sender.take_back(usize::MAX)?;
        let found = held.find(Ticket::of_number(ticket));
        if let Some(from) = found {
            let last = held.len() - 1;
            held.move_to(from, place.min(last));
        }
        Ok(i64::from(found.is_some()))
    };
    // SAFETY: the program passes null or a ring that no other thread uses.
    unsafe { with(ring, change) }
}

/// Sorts the datagrams that wait. `order` is DCCP_RING_BY_PRIORITY, DCCP_RING_BY_DEADLINE or DCCP_RING_BY_TAG. Datagrams that
/// are equal in it keep their order. Returns the number of datagrams that wait, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_sort(ring: *mut RingHandle, order: c_int) -> i64 {
    let sort = |sender: &mut Sender| {
        let sort: fn(&mut Held<'_>) = match order {
            DCCP_RING_BY_PRIORITY => |held| held.sort_by(|a, b| b.priority.cmp(&a.priority)),
            DCCP_RING_BY_DEADLINE => |held| {
                let due = |label: &Label| label.deadline_ns.unwrap_or(u64::MAX);
                held.sort_by(|a, b| due(a).cmp(&due(b)));
            },
            DCCP_RING_BY_TAG => |held| held.sort_by(|a, b| a.tag.cmp(&b.tag)),
            other => {
                let detail = format!("order: {other}: must be one of DCCP_RING_BY_…");
                return Err(Failure::invalid(detail));
            }
        };
        let mut held = sender.take_back(usize::MAX)?;
        sort(&mut held);
        Ok(count(held.len()))
    };
    // SAFETY: the program passes null or a ring that no other thread uses.
    unsafe { with(ring, sort) }
}

/// Returns the number of datagrams that wait in the ring, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_waiting(ring: *mut RingHandle) -> i64 {
    // SAFETY: the program passes null or a ring that no other thread uses.
    unsafe { with(ring, |sender| Ok(count(sender.waiting()?))) }
}

/// Returns the number of datagrams that fit into the ring now, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_room(ring: *mut RingHandle) -> i64 {
    // SAFETY: the program passes null or a ring that no other thread uses.
    unsafe { with(ring, |sender| Ok(count(sender.room()?))) }
}

/// Waits until there is room in the ring, at most for the time of dccp_ring_set_timeout(). Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_wait_room(ring: *mut RingHandle) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        Ok(handle.client.wait_for_room()?)
    })
}

/// Waits until there are fates, at most for `timeout_us` microseconds. Returns 1 if there are, otherwise 0, or a negative
/// error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_wait_fates(ring: *mut RingHandle, timeout_us: u64) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        Ok(handle.client.wait_for_fates(time(timeout_us))?.into())
    })
}

/// Writes up to `count` known fates to `reports` without waiting, and forgets them. Returns their number, or a negative
/// error. After the end of the connection, datagrams that are still in the ring get the fate DCCP_FATE_WITHDRAWN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_fates(
    ring: *mut RingHandle,
    reports: *mut CRingReport,
    count: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        // SAFETY: the program passes `count` structs.
        let room = unsafe { memory::elements_mut(reports, count, "reports") }?;
        let mut fates = Vec::new();
        handle.client.recv_fates(&mut fates, room.len())?;
        for (report, fate) in room.iter_mut().zip(&fates) {
            *report = CRingReport::of(fate);
        }
        Ok(crate::text::count(fates.len()))
    })
}

/// Returns the number of fates that found no room in the ring and stay unknown, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_fates_missed(ring: *mut RingHandle) -> i64 {
    let missed = |sender: &mut Sender| Ok(i64::try_from(sender.fates_missed()).unwrap_or(i64::MAX));
    // SAFETY: the program passes null or a ring that no other thread uses.
    unsafe { with(ring, missed) }
}

/// Copies the next datagram into `buffer` of `size` bytes, and its properties to `*meta`, which may be NULL. Waits for it, at
/// most for the time of dccp_ring_set_timeout(). Returns the number of bytes copied, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_recv(
    ring: *mut RingHandle,
    buffer: *mut c_void,
    size: usize,
    meta: *mut CRecvMeta,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer, size, "buffer") }?;
        if meta.is_null() {
            return Ok(count(handle.client.recv(buffer)?));
        }
        // SAFETY: the program passes a struct that begins with its size.
        unsafe { put_meta(meta, size, || Ok(handle.client.recv_meta(buffer)?)) }
    })
}

fn push_code(error: &PushError) -> c_int {
    match error {
        PushError::Full => DCCP_ERR_AGAIN,
        PushError::TooLong { .. } => DCCP_ERR_TOO_BIG,
        PushError::Broken(_) => DCCP_ERR_RING_BROKEN,
    }
}

const SHORTEN: &str = "send shorter datagrams, or ask for larger slots";

impl From<PushError> for Failure {
    fn from(e: PushError) -> Self {
        let (fault, next_step) = match &e {
            PushError::Full => (None, "wait for room with dccp_ring_wait_room()"),
            PushError::TooLong { .. } => (Some(Fault::Caller), SHORTEN),
            PushError::Broken(violation) => return (*violation).into(),
        };
        Self::new(push_code(&e), fault, e.to_string(), next_step)
    }
}

impl From<ChangeError> for Failure {
    fn from(e: ChangeError) -> Self {
        let (code, next_step) = match &e {
            ChangeError::TooLate => (DCCP_ERR_INVALID, "send a new datagram"),
            ChangeError::TooLong { .. } => (DCCP_ERR_TOO_BIG, SHORTEN),
            ChangeError::KeyInUse { .. } => (DCCP_ERR_INVALID, "withdraw one of the two datagrams"),
            ChangeError::Broken(violation) => return (*violation).into(),
        };
        Self::new(code, Some(Fault::Caller), e.to_string(), next_step)
    }
}

impl From<Violation> for Failure {
    fn from(e: Violation) -> Self {
        let next_step =
            "read the end of the connection with dccp_ring_poll_event(), and connect again";
        Self::new(
            DCCP_ERR_RING_BROKEN,
            Some(Fault::System),
            e.to_string(),
            next_step,
        )
    }
}
