//! The functions that this library replaces: those of the C library, or of another preloaded library.

#![expect(
    unsafe_code,
    reason = "functions are found by their name, as LD_PRELOAD needs it"
)]

use core::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use core::mem::transmute_copy;
use core::sync::atomic::{AtomicPtr, Ordering};
use libc::{FILE, iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec};

/// Defines functions that call the next one with their name.
macro_rules! native {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        /// A cell for each function.
        #[expect(non_upper_case_globals, reason = "named as the functions are")]
        mod cells {
            $(pub(super) static $name: super::Cell = super::Cell::new(concat!(stringify!($name), "\0"));)*
        }

        /// Finds all functions. Later, the loader's lock could be held by a thread that waits for the caller.
        pub(crate) fn find_all() {
            $(cells::$name.find();)*
        }

        $(
            /// The function that this library replaces.
            pub(crate) unsafe fn $name($($arg: $type),*) -> $result {
                let found = cells::$name.get();
                // SAFETY: the C library declares the function with these arguments and this result.
                let function: unsafe extern "C" fn($($type),*) -> $result = unsafe { transmute_copy(&found) };
                // SAFETY: the caller keeps the contract of the function.
                unsafe { function($($arg),*) }
            }
        )*
    };
}

native! {
    socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    bind(fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int;
    connect(fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int;
    listen(fd: c_int, backlog: c_int) -> c_int;
    accept4(fd: c_int, addr: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int;
    getsockname(fd: c_int, addr: *mut sockaddr, len: *mut socklen_t) -> c_int;
    getpeername(fd: c_int, addr: *mut sockaddr, len: *mut socklen_t) -> c_int;
    setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, len: socklen_t) -> c_int;
    getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, len: *mut socklen_t) -> c_int;
    write(fd: c_int, data: *const c_void, len: size_t) -> ssize_t;
    writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    send(fd: c_int, data: *const c_void, len: size_t, flags: c_int) -> ssize_t;
    sendto(fd: c_int, data: *const c_void, len: size_t, flags: c_int, addr: *const sockaddr, addr_len: socklen_t) -> ssize_t;
    sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t;
    sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int;
    read(fd: c_int, data: *mut c_void, len: size_t) -> ssize_t;
    readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    recv(fd: c_int, data: *mut c_void, len: size_t, flags: c_int) -> ssize_t;
    ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int;
    recvfrom(fd: c_int, data: *mut c_void, len: size_t, flags: c_int, addr: *mut sockaddr, addr_len: *mut socklen_t) -> ssize_t;
    recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t;
    recvmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, timeout: *mut timespec) -> c_int;
    close(fd: c_int) -> c_int;
    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
    closefrom(first: c_int) -> ();
    fclose(stream: *mut FILE) -> c_int;
    freopen(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE;
    freopen64(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE;
    shutdown(fd: c_int, how: c_int) -> c_int;
    dup(fd: c_int) -> c_int;
    dup2(fd: c_int, to: c_int) -> c_int;
    dup3(fd: c_int, to: c_int, flags: c_int) -> c_int;
    fcntl(fd: c_int, command: c_int, argument: *mut c_void) -> c_int;
}

/// The address of the next function of a name, once it is found.
struct Cell {
    /// It ends with a NUL byte.
    name: &'static str,
    found: AtomicPtr<c_void>,
}

impl Cell {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            found: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// The address. Constructors of other libraries may call before the search.
    fn get(&self) -> *mut c_void {
        let known = self.found.load(Ordering::Relaxed);
        let found = if known.is_null() { self.find() } else { known };
        if found.is_null() {
            // The program could do nothing without the function, and there is no error for it.
            // SAFETY: `abort` may be called at any time.
            unsafe { libc::abort() };
        }
        found
    }

    /// Searches the libraries. An older C library does not have each function.
    fn find(&self) -> *mut c_void {
        let name = CStr::from_bytes_until_nul(self.name.as_bytes()).unwrap_or(c"");
        // SAFETY: the name is a C string that lives as long as the program.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Sets `errno` and returns −1.
pub(crate) fn fail(error: c_int) -> c_int {
    // SAFETY: the C library returns the address of this thread's `errno`, which is always valid.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.write(error) };
    -1
}

/// This thread's `errno`.
pub(crate) fn errno() -> c_int {
    // SAFETY: the C library returns the address of this thread's `errno`, which is always valid.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.read() }
}

/// The result of a function that returns 0 or −1.
pub(crate) fn outcome(result: Result<(), c_int>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => fail(error),
    }
}
