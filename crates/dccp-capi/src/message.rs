//! Messages larger than a packet.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::errors::{DCCP_ERR_AGAIN, DCCP_ERR_CLOSED, DCCP_ERR_TOO_BIG};
use crate::failure::{Failure, status, value};
use crate::memory::{self, Growing};
use crate::options::{DCCP_WHEN_FULL_DEFAULT, OptionsHandle, set_handle, time};
use crate::receive::DCCP_RECV_TRUNCATED;
use crate::send::{CSendOptions, DCCP_SEND_KEY};
use crate::socket::SocketHandle;
use crate::text::count;
use core::ffi::{c_char, c_int, c_void};
use dccp::message::{Message, MessageError, MessageOptions, MessageReport, with_messages};
use dccp::{Fate, Instant, clock};

/// Properties of a received message. Set `size` to the size of the struct before the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CMessageMeta {
    /// The size of this struct in bytes. The call sets it to the number of bytes written.
    pub size: usize,
    /// The length of the message in bytes, also if the buffer is shorter.
    pub message_len: usize,
    /// When its first fragment arrived, as of dccp_now_ns().
    pub first_arrived_ns: u64,
    /// When its last fragment arrived.
    pub completed_ns: u64,
    /// The sender's number of the message, modulo 2^32.
    pub number: u32,
    /// DCCP_RECV_TRUNCATED if the buffer was too short and the message's end is lost, otherwise 0.
    pub flags: u32,
}

// SAFETY: the struct begins with its size, and zeros are a value of each field.
unsafe impl Growing for CMessageMeta {
    const FIRST_SIZE: usize = 40;
}

/// The fate of one message. Times are those of dccp_now_ns().
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CMessageReport {
    /// The message's number.
    pub id: u64,
    /// The program's tag.
    pub tag: u64,
    /// When the program sent it.
    pub queued_ns: u64,
    /// When its first fragment left; 0 if none did.
    pub begun_ns: u64,
    /// When the fate became known.
    pub known_ns: u64,
    /// Its length in bytes.
    pub len: usize,
    /// DCCP_FATE_ACKED if the peer received all fragments. Otherwise the fate of the fragment that failed first.
    pub fate: c_int,
    /// Drop Code of DCCP_FATE_RX_DROPPED, otherwise 0.
    pub drop_code: c_int,
}

impl CMessageReport {
    fn of(report: &MessageReport) -> Self {
        let drop_code = match report.fate {
            Fate::RxDropped(code) => code,
            _ => 0,
        };
        Self {
            id: report.id.0,
            tag: report.tag,
            queued_ns: report.queued.as_nanos(),
            begun_ns: report.begun.map_or(0, Instant::as_nanos),
            known_ns: report.told.as_nanos(),
            len: report.len,
            fate: report.fate.index().into(),
            drop_code: drop_code.into(),
        }
    }
}

/// Lets the connections that are opened with these options carry messages larger than a packet. `application` has three
/// characters, which both ends use: the Service Code is "M" and these. Fates and rate hints are switched on. Returns 0 or a
/// negative error.
///
/// Such sockets, also those that a listener accepts, take the functions dccp_message_… instead of dccp_send(), dccp_recv(),
/// dccp_fates(), dccp_close() and their relatives, which then fail with DCCP_ERR_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_messages(
    options: *mut OptionsHandle,
    application: *const c_char,
) -> c_int {
    let change = |mut handle: OptionsHandle| {
        // SAFETY: the program passes null or a text.
        let application = unsafe { memory::text(application, "application") }?;
        let characters = application.as_bytes().try_into().map_err(|_| {
            Failure::invalid(format!(
                "application: {application}: must have three characters of one byte"
            ))
        })?;
        handle.options = with_messages(handle.options, characters);
        handle.has_messages = true;
        Ok(handle)
    };
    // SAFETY: the program passes null or live options.
    unsafe { set_handle(options, change) }
}

/// The options of a message, or the defaults for null.
unsafe fn options_of(options: *const CSendOptions) -> Result<MessageOptions, Failure> {
    let mut message = MessageOptions::new();
    if options.is_null() {
        return Ok(message);
    }
    // SAFETY: the program passes a struct that begins with its size.
    let options = unsafe { memory::read_growing(options, "options") }?;
    let _checked = options.checked()?;
    if options.when_full != DCCP_WHEN_FULL_DEFAULT {
        let detail = "when_full: must be DCCP_WHEN_FULL_DEFAULT for messages";
        return Err(Failure::invalid(detail));
    }
    message = message
        .priority(u8::try_from(options.priority).unwrap_or(u8::MAX))
        .tag(options.tag);
    if options.flags & DCCP_SEND_KEY != 0 {
        message = message.key(options.key);
    }
    if options.lifetime_us != 0 {
        message = message.lifetime(time(options.lifetime_us));
    }
    if options.deadline_ns != 0 {
        let deadline = Instant::from_nanos(options.deadline_ns);
        message = message.deadline(clock::to_std(deadline));
    }
    Ok(message)
}

/// Sends a message of `len` bytes, which the library copies, as soon as congestion control allows, without waiting.
/// `options` are those of dccp_send_with(), or NULL. A message that cannot finish before its deadline does not begin, and
/// one that has lost a fragment does not go on. Returns its number, counted from 0, or a negative error: DCCP_ERR_AGAIN if
/// too many messages have no fate yet, DCCP_ERR_TOO_BIG.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_message_send(
    socket: *const SocketHandle,
    data: *const c_void,
    len: usize,
    options: *const CSendOptions,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let messages = unsafe { memory::shared(socket, "socket") }?.messages()?;
        // SAFETY: the program passes `len` bytes.
        let data = unsafe { memory::bytes(data, len, "data") }?;
        // SAFETY: the program passes null or options.
        let options = unsafe { options_of(options) }?;
        let id = messages.send(data, options)?;
        Ok(i64::try_from(id.0).unwrap_or(i64::MAX))
    })
}

/// Copies the next whole message into `buffer` of `size` bytes, and its properties to `*meta`, which may be NULL. A blocking
/// socket waits for it. The longest message has 1048576 bytes. Returns the number of bytes copied, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_message_recv(
    socket: *const SocketHandle,
    buffer: *mut c_void,
    size: usize,
    meta: *mut CMessageMeta,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let messages = unsafe { memory::shared(socket, "socket") }?.messages()?;
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer, size, "buffer") }?;
        if !meta.is_null() {
            // Before the message is taken, because it would be lost.
            // SAFETY: the program passes a struct that begins with its size.
            unsafe { memory::check_growing(meta, "meta") }?;
        }
        let message = messages.recv()?;
        let copied = message.data.len().min(buffer.len());
        buffer[..copied].copy_from_slice(&message.data[..copied]);
        if !meta.is_null() {
            let found = properties(&message, copied);
            // SAFETY: as above.
            unsafe { memory::write_growing(meta, &found, "meta") }?;
        }
        Ok(count(copied))
    })
}

fn properties(message: &Message, copied: usize) -> CMessageMeta {
    let is_truncated = copied < message.data.len();
    CMessageMeta {
        size: size_of::<CMessageMeta>(),
        message_len: message.data.len(),
        first_arrived_ns: message.first_arrived.as_nanos(),
        completed_ns: message.completed.as_nanos(),
        number: message.number,
        flags: u32::from(is_truncated) * DCCP_RECV_TRUNCATED,
    }
}

/// Writes up to `count` known fates of messages to `reports` without waiting, and forgets them. Returns their number, or a
/// negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_message_fates(
    socket: *const SocketHandle,
    reports: *mut CMessageReport,
    count: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let messages = unsafe { memory::shared(socket, "socket") }?.messages()?;
        // SAFETY: the program passes `count` structs.
        let room = unsafe { memory::elements_mut(reports, count, "reports") }?;
        let mut known = Vec::new();
        messages.recv_fates(&mut known, room.len());
        for (report, found) in room.iter_mut().zip(&known) {
            *report = CMessageReport::of(found);
        }
        Ok(crate::text::count(known.len()))
    })
}

/// Withdraws the messages whose tag is from `first` to `last`, as far as they have not left entirely. They get the fate
/// DCCP_FATE_WITHDRAWN. Returns their number, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_message_withdraw_tags(
    socket: *const SocketHandle,
    first: u64,
    last: u64,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let messages = unsafe { memory::shared(socket, "socket") }?.messages()?;
        let withdrawn = messages.withdraw_if(|_, label| (first..=last).contains(&label.tag));
        Ok(count(withdrawn))
    })
}

/// Waits until the messages have left, at most for `timeout_us` microseconds, and withdraws the rest. Then closes, and waits
/// for the end for as long again. Returns 0, or DCCP_ERR_TIMED_OUT if the connection then ends in the background.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_message_close(socket: *const SocketHandle, timeout_us: u64) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let messages = unsafe { memory::shared(socket, "socket") }?.messages()?;
        messages.close(time(timeout_us))?;
        Ok(())
    })
}

/// Fills the rate up to `bits_per_s` with datagrams that the peer's messages ignore, as dccp_set_target_rate() does with
/// datagrams of the program; 0 ends that. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_message_set_target_rate(
    socket: *const SocketHandle,
    bits_per_s: u64,
) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let messages = unsafe { memory::shared(socket, "socket") }?.messages()?;
        messages.set_target_rate(bits_per_s);
        Ok(())
    })
}

impl From<MessageError> for Failure {
    fn from(e: MessageError) -> Self {
        let code = match &e {
            MessageError::Full => DCCP_ERR_AGAIN,
            MessageError::TooLong => DCCP_ERR_TOO_BIG,
            _ => DCCP_ERR_CLOSED,
        };
        Self::new(code, e.fault(), e.to_string(), e.next_step())
    }
}
