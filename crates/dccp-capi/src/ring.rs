//! Packet rings: connections that another process runs.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::events::{CEvent, put_event};
use crate::failure::{Failure, status, value};
use crate::memory::{self, Growing};
use crate::options::{DCCP_FOREVER, encapsulation, time};
use crate::socket::{descriptor, ready_bits};
use crate::text;
use core::ffi::{c_char, c_int, c_void};
use core::time::Duration;
use dccp::packet_ring::Shape;
use dccp::{CloseReason, DccpAddr, Encapsulation, ReadyFd, ResetCode, ToDccpAddrs, reason_text};
use dccp_ring_ipc::{RingClient, RingConnectError, RingError, RingListenRequest, RingRequest};
use std::sync::OnceLock;

/// A connection that another process runs, and the packet ring before it, in memory that both share. Its datagrams can be
/// changed, withdrawn and reordered until they leave, without a system call (docs/ring.md). dccp_ring_connect() and
/// dccp_ring_accept() make one; dccp_ring_free() frees it. Only one thread at a time may use it. Linux only.
#[derive(Debug)]
pub struct RingHandle {
    pub(crate) client: RingClient,
    ready: OnceLock<ReadyFd>,
}

impl RingHandle {
    pub(crate) fn new(client: RingClient) -> Self {
        Self {
            client,
            ready: OnceLock::new(),
        }
    }
}

/// The connection and the ring that a program asks for. Set `size` to the size of the struct, `slots` and `slot_bytes` to
/// what the program needs, and all other fields to 0 for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CRingRequest {
    /// The size of this struct in bytes.
    pub size: usize,
    /// Datagrams that can wait to be sent: a power of two, at most 65536.
    pub slots: u32,
    /// The longest of them in bytes, at most 65535.
    pub slot_bytes: u32,
    /// Fates that can wait to be read: a power of two; 0: four times `slots`.
    pub fates: u32,
    /// Received datagrams that can wait to be read: a power of two; 0: as many as `slots`.
    pub arrivals: u32,
    /// The longest of them in bytes, at most 65535; 0: as `slot_bytes`.
    pub arrival_bytes: u32,
    /// The CCID of both directions; 0: those of the server's options.
    pub ccid: u32,
    /// The Service Codes (RFC 5595) as numbers: one for a connection, up to 32 for a listener. NULL: Service Code 0.
    pub service_codes: *const u32,
    /// The number of Service Codes.
    pub service_code_count: usize,
    /// How long dccp_ring_connect() waits for the connection in microseconds; 0: 190 s.
    pub timeout_us: u64,
    /// The greatest number of accepted connections of a listener at a time; 0: 16.
    pub connections: u32,
    /// The protocol that carries DCCP: DCCP_ENCAPSULATION_UDP (0) or DCCP_ENCAPSULATION_IP.
    pub encapsulation: c_int,
    /// The law of CCID 2's window as text, such as "cubic", in at most 64 bytes. The server decides which ones it knows. NULL:
    /// that of the server's options.
    pub law: *const c_char,
}

// SAFETY: the struct begins with its size, and zeros are a value of each field.
unsafe impl Growing for CRingRequest {
    const FIRST_SIZE: usize = 72;
}

impl CRingRequest {
    fn shape(&self) -> Shape {
        let or = |given: u32, default: u32| if given == 0 { default } else { given };
        let shape = Shape::new(self.slots, self.slot_bytes);
        Shape {
            fates: or(self.fates, shape.fates),
            arrivals: or(self.arrivals, shape.arrivals),
            arrival_bytes: or(self.arrival_bytes, shape.arrival_bytes),
            ..shape
        }
    }

    fn ccid(&self) -> Result<Option<u8>, Failure> {
        match u8::try_from(self.ccid) {
            Ok(0) => Ok(None),
            Ok(ccid) => Ok(Some(ccid)),
            Err(_) => Err(Failure::invalid(format!(
                "request.ccid: {}: must be at most 255",
                self.ccid
            ))),
        }
    }

    /// Reads the struct, and what it points to.
    pub(crate) unsafe fn read<'a>(request: *const Self) -> Result<Asked<'a>, Failure> {
        // SAFETY: the program passes null or a struct that begins with its size.
        let request = unsafe { memory::read_growing(request, "request") }?;
        // SAFETY: the program passes as many codes as it says.
        let codes = unsafe {
            memory::elements(
                request.service_codes,
                request.service_code_count,
                "request.service_codes",
            )
        }?;
        request
            .shape()
            .bytes()
            .map_err(|e| Failure::invalid(format!("request.{}: must be {}", e.field, e.must_be)))?;
        Ok(Asked {
            codes,
            // SAFETY: the program passes null or a text.
            law: unsafe { request.law() }?,
            ccid: request.ccid()?,
            encapsulation: encapsulation(request.encapsulation)?,
            request,
        })
    }

    unsafe fn law<'a>(&self) -> Result<Option<&'a str>, Failure> {
        if self.law.is_null() {
            return Ok(None);
        }
        // SAFETY: the program passes a text.
        let law = unsafe { memory::text(self.law, "request.law") }?;
        if law.len() > LAW_MAX {
            return Err(Failure::invalid(format!(
                "request.law: {law}: must be at most {LAW_MAX} bytes"
            )));
        }
        Ok(Some(law))
    }
}

/// A request that has been read.
pub(crate) struct Asked<'a> {
    request: CRingRequest,
    codes: &'a [u32],
    ccid: Option<u8>,
    law: Option<&'a str>,
    encapsulation: Encapsulation,
}

impl Asked<'_> {
    fn connection(&self, remote: DccpAddr) -> Result<RingRequest, Failure> {
        let request = RingRequest::new(remote, self.request.shape());
        let mut request = request.encapsulation(self.encapsulation);
        match self.codes {
            [] => {}
            [code] => request = request.service_code(code.to_be_bytes()),
            more => {
                return Err(Failure::invalid(format!(
                    "request.service_code_count: {}: must be at most 1 for a connection",
                    more.len()
                )));
            }
        }
        if let Some(ccid) = self.ccid {
            request = request.ccid(ccid);
        }
        if let Some(law) = self.law {
            request = request.law(law);
        }
        Ok(request)
    }

    /// The request for a listener at an address.
    pub(crate) fn listener(&self, local: DccpAddr) -> RingListenRequest {
        let request = RingListenRequest::new(local, self.request.shape());
        let mut request = request.encapsulation(self.encapsulation);
        for code in self.codes {
            request = request.service_code(code.to_be_bytes());
        }
        if let Some(ccid) = self.ccid {
            request = request.ccid(ccid);
        }
        if let Some(law) = self.law {
            request = request.law(law);
        }
        if self.request.connections != 0 {
            request = request.connections(self.request.connections);
        }
        request
    }
}

/// The longest text of a law in a request.
const LAW_MAX: usize = 64;

/// The longest wait for a connection by default: that of the crate `dccp-ring-ipc`.
const OPENING: Duration = Duration::from_secs(190);

/// Where dccpd lends rings, unless its file has another path.
const DCCPD: &str = "/run/dccpd/socket";

/// The path of a server, or that of dccpd for null.
pub(crate) unsafe fn server_path<'a>(path: *const c_char) -> Result<&'a str, Failure> {
    if path.is_null() {
        return Ok(DCCPD);
    }
    // SAFETY: the program passes a text.
    unsafe { memory::text(path, "path") }
}

/// The first address of a text, whose names are looked up.
pub(crate) unsafe fn first_address(address: *const c_char) -> Result<DccpAddr, Failure> {
    // SAFETY: the program passes null or a text.
    let text = unsafe { memory::text(address, "address") }?;
    let found = text.to_dccp_addrs()?.into_iter().next();
    found.ok_or_else(|| Failure::invalid(format!("address: {text}: must have an IP address")))
}

/// The longest wait of a call.
pub(crate) fn limit(us: u64) -> Option<Duration> {
    Some(us).filter(|&us| us != DCCP_FOREVER).map(time)
}

/// Asks the server of rings at the Unix socket `path` for a connection to `address`, as dccp_connect() has it, and waits
/// until it is open. NULL for `path` stands for that of dccpd, "/run/dccpd/socket". Stores a new handle in `*ring`, or NULL
/// if that fails. Returns 0 or a negative error: DCCP_ERR_NO_SERVER, DCCP_ERR_NOT_PERMITTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_connect(
    path: *const c_char,
    address: *const c_char,
    request: *const CRingRequest,
    ring: *mut *mut RingHandle,
) -> c_int {
    status(|| {
        let open = || {
            // SAFETY: the program passes null or a text.
            let path = unsafe { server_path(path) }?;
            // SAFETY: the program passes null or a request.
            let asked = unsafe { CRingRequest::read(request) }?;
            // SAFETY: the program passes null or a text.
            let remote = unsafe { first_address(address) }?;
            let timeout = match asked.request.timeout_us {
                0 => OPENING,
                us => time(us),
            };
            Ok(RingHandle::new(RingClient::connect_timeout(
                path,
                &asked.connection(remote)?,
                timeout,
            )?))
        };
        // SAFETY: the program passes room for a pointer.
        unsafe { memory::put_handle(ring, open, "ring") }
    })
}

/// Frees a ring; NULL is allowed. The server sends what waits, and closes the connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_free(ring: *mut RingHandle) {
    // SAFETY: the program passes null or a ring that it frees once.
    unsafe { memory::free(ring) }
}

/// Sends what waits, closes, and waits for the end of the connection, at most for `timeout_us` microseconds. Returns 0 or a
/// negative error. The handle stays valid: fates and received datagrams can be read for some seconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_close(ring: *mut RingHandle, timeout_us: u64) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        handle.client.close(time(timeout_us))?;
        Ok(())
    })
}

/// Ends the connection at once, and withdraws what waits. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_abort(ring: *mut RingHandle) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        handle.client.abort();
        Ok(())
    })
}

/// Writes the reason of the connection's end as text into `buffer` of `size` bytes. 1024 bytes suffice for most reasons.
/// Returns the length of the text, 0 if the connection has not ended, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_close_reason(
    ring: *mut RingHandle,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        let reason = match handle.client.over() {
            None => String::new(),
            Some(RingError::Closed(reason)) => reason_text(reason),
            Some(other) => other.to_string(),
        };
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer.cast::<c_void>(), size, "buffer") }?;
        text::copy(&reason, buffer)
    })
}

/// Sets how long dccp_ring_recv() and dccp_ring_wait_room() wait, in microseconds. DCCP_FOREVER is the default. With 0 they
/// return DCCP_ERR_TIMED_OUT at once. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_set_timeout(ring: *mut RingHandle, us: u64) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        handle.client.set_timeout(limit(us));
        Ok(())
    })
}

/// Returns the calls that would not wait now, as dccp_ready() does, or a negative error. If it reports nothing to do, the
/// descriptor of dccp_ring_fd() becomes readable at the next change. Call it before each wait for the descriptor, because
/// datagrams and fates arrive in memory without a system call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_ready(ring: *mut RingHandle) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        Ok(ready_bits(handle.client.ready()?))
    })
}

/// Returns a file descriptor for poll() and epoll, or a negative error. It is readable when what dccp_ring_ready() last
/// reported may have changed, until the next call of that function. The ring owns it: watch it, but never read, write or
/// close it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_fd(ring: *mut RingHandle) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        descriptor(&handle.ready, || handle.client.ready_fd())
    })
}

/// Takes the next event and writes it to `*event`, without waiting. Returns 1, 0 if there is none, or a negative error. Of
/// 64 that wait, the oldest make room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_poll_event(ring: *mut RingHandle, event: *mut CEvent) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        // SAFETY: the program passes null or a struct that begins with its size.
        unsafe { put_event(event, || handle.client.poll_event()) }
    })
}

/// Returns the most bytes that a datagram can hold now, 0 if that is unknown, or a negative error. A longer one in the ring
/// gets the fate DCCP_FATE_TOO_BIG.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_max_packet_size(ring: *mut RingHandle) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        let bytes = handle.client.max_packet_size().unwrap_or_default();
        Ok(text::count(bytes))
    })
}

/// Writes the peer's address as text into `buffer` of `size` bytes; DCCP_ADDRESS_SIZE suffices. Returns the length of the
/// text, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_peer_address(
    ring: *mut RingHandle,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer.cast::<c_void>(), size, "buffer") }?;
        text::copy(&handle.client.peer_addr().to_string(), buffer)
    })
}

/// Returns the Service Code of the connection (RFC 5595) as a number in host byte order, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_service_code(ring: *mut RingHandle) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        Ok(i64::from(handle.client.service_code().0))
    })
}

/// The number of a handshake that has failed, as dccp_connect() returns it.
fn code_of_handshake(reason: &CloseReason) -> c_int {
    use crate::errors::{
        DCCP_ERR_BAD_SERVICE_CODE, DCCP_ERR_CLOSED, DCCP_ERR_NO_ANSWER, DCCP_ERR_REFUSED,
        DCCP_ERR_TOO_BUSY, DCCP_ERR_UNREACHABLE,
    };
    match *reason {
        CloseReason::TimedOut => DCCP_ERR_NO_ANSWER,
        CloseReason::Unreachable { .. } => DCCP_ERR_UNREACHABLE,
        CloseReason::Reset { code, .. } => match code {
            ResetCode::CONNECTION_REFUSED | ResetCode::NO_CONNECTION => DCCP_ERR_REFUSED,
            ResetCode::BAD_SERVICE_CODE => DCCP_ERR_BAD_SERVICE_CODE,
            ResetCode::TOO_BUSY => DCCP_ERR_TOO_BUSY,
            _ => DCCP_ERR_CLOSED,
        },
        _ => DCCP_ERR_CLOSED,
    }
}

impl From<RingConnectError> for Failure {
    fn from(e: RingConnectError) -> Self {
        use crate::errors::{
            DCCP_ERR_NO_SERVER, DCCP_ERR_NOT_PERMITTED, DCCP_ERR_SERVER_GONE, DCCP_ERR_SYSTEM,
            DCCP_ERR_TIMED_OUT,
        };
        let code = match &e {
            RingConnectError::NoServer { .. } => DCCP_ERR_NO_SERVER,
            RingConnectError::Refused(_) => DCCP_ERR_NOT_PERMITTED,
            RingConnectError::Ended(reason) => code_of_handshake(reason),
            RingConnectError::NoAnswer | RingConnectError::TimedOut => DCCP_ERR_TIMED_OUT,
            RingConnectError::ServerGone => DCCP_ERR_SERVER_GONE,
            _ => DCCP_ERR_SYSTEM,
        };
        Self::new(code, Some(e.fault()), e.to_string(), e.next_step())
    }
}

impl From<RingError> for Failure {
    fn from(e: RingError) -> Self {
        use crate::errors::{
            DCCP_ERR_CLOSED, DCCP_ERR_RING_BROKEN, DCCP_ERR_SERVER_GONE, DCCP_ERR_TIMED_OUT,
        };
        let code = match &e {
            RingError::TimedOut => DCCP_ERR_TIMED_OUT,
            RingError::Closed(_) => DCCP_ERR_CLOSED,
            RingError::ServerGone => DCCP_ERR_SERVER_GONE,
            _ => DCCP_ERR_RING_BROKEN,
        };
        Self::new(code, e.fault(), e.to_string(), e.next_step())
    }
}
