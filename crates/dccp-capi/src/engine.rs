//! Engines: the threads that run connections.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::failure::{Failure, status};
use crate::memory::{self, Growing};
use crate::options::{OptionsHandle, set, time};
use core::ffi::{c_char, c_int};
use core::num::NonZeroUsize;
use core::time::Duration;
use dccp::{Engine, EngineOptions};

/// Threads that run connections. Programs need none: all sockets share one engine with one thread. dccp_engine_start() makes
/// one; dccp_engine_free() frees it. Threads may share it.
#[derive(Debug)]
pub struct EngineHandle {
    engine: Engine,
}

/// The most threads of an engine.
const THREADS_MAX: u32 = 1024;

/// Settings of an engine. Set `size` to the size of the struct, and all other fields to 0 for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CEngineOptions {
    /// The size of this struct in bytes.
    pub size: usize,
    /// The name of its threads, for debuggers and top(1). NULL: "dccp".
    pub name: *const c_char,
    /// The time in nanoseconds before each deadline for which a thread polls instead of sleeping: exact to the microsecond, at
    /// the price of processor time. 0: never.
    pub busy_wait_ns: u64,
    /// The number of threads, at most 1024; 0: 1. Each connection stays with one of them. More than one: Linux only, and
    /// connections over UDP only.
    pub threads: u32,
    /// Must be 0.
    pub reserved: u32,
}

// SAFETY: the struct begins with its size, and zeros are a value of each field.
unsafe impl Growing for CEngineOptions {
    const FIRST_SIZE: usize = 32;
}

impl CEngineOptions {
    unsafe fn checked(&self) -> Result<EngineOptions, Failure> {
        if self.reserved != 0 {
            return Err(Failure::invalid("options.reserved: must be 0"));
        }
        if self.threads > THREADS_MAX {
            return Err(Failure::invalid(format!(
                "options.threads: {}: must be at most {THREADS_MAX}",
                self.threads
            )));
        }
        let mut options = EngineOptions::new().busy_wait(Duration::from_nanos(self.busy_wait_ns));
        if !self.name.is_null() {
            // SAFETY: the program passes a text.
            options = options.name(unsafe { memory::text(self.name, "options.name") }?);
        }
        let threads = usize::try_from(self.threads)
            .ok()
            .and_then(NonZeroUsize::new);
        threads_of(options, threads.unwrap_or(NonZeroUsize::MIN))
    }
}

#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "other systems refuse")]
fn threads_of(options: EngineOptions, threads: NonZeroUsize) -> Result<EngineOptions, Failure> {
    Ok(options.threads(threads))
}

#[cfg(not(target_os = "linux"))]
fn threads_of(options: EngineOptions, threads: NonZeroUsize) -> Result<EngineOptions, Failure> {
    if threads.get() > 1 {
        return Err(Failure::invalid(
            "options.threads: must be 1 on this system",
        ));
    }
    Ok(options)
}

/// Starts an engine and stores a new handle in `*engine`, or NULL if that fails. `options` may be NULL for the defaults.
/// Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_engine_start(
    options: *const CEngineOptions,
    engine: *mut *mut EngineHandle,
) -> c_int {
    status(|| {
        let start = || {
            let mut checked = EngineOptions::new();
            if !options.is_null() {
                // SAFETY: the program passes a struct that begins with its size.
                let options = unsafe { memory::read_growing(options, "options") }?;
                // SAFETY: the program passes null or a text in it.
                checked = unsafe { options.checked() }?;
            }
            Ok(EngineHandle {
                engine: Engine::start(&checked)?,
            })
        };
        // SAFETY: the program passes room for a pointer.
        unsafe { memory::put_handle(engine, start, "engine") }
    })
}

/// Frees an engine; NULL is allowed. Its threads end when its last socket and listener have been freed, and its connections
/// have ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_engine_free(engine: *mut EngineHandle) {
    // SAFETY: the program passes null or an engine that it frees once.
    unsafe { memory::free(engine) }
}

/// Lets an engine run the sockets and listeners that are opened with these options. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_engine(
    options: *mut OptionsHandle,
    engine: *const EngineHandle,
) -> c_int {
    let change = |o: dccp::Options| {
        // SAFETY: the program passes null or a live engine.
        let handle = unsafe { memory::shared(engine, "engine") }?;
        Ok(o.engine(&handle.engine))
    };
    // SAFETY: the program passes null or live options.
    unsafe { set(options, change) }
}

/// Waits until no connection of the engine is open, at most for `timeout_us` microseconds. dccp_wait_idle() does so for the
/// engine that sockets share. Returns 0, or DCCP_ERR_TIMED_OUT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_engine_wait_idle(
    engine: *const EngineHandle,
    timeout_us: u64,
) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live engine.
        let handle = unsafe { memory::shared(engine, "engine") }?;
        Ok(handle.engine.wait_idle(time(timeout_us))?)
    })
}
