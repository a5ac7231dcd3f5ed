//! The two ends of a flow.

pub(crate) mod classes;
pub(crate) mod echo;
pub(crate) mod receive;
pub(crate) mod rtt;
pub(crate) mod schedule;
pub(crate) mod send;
pub(crate) mod shape;
pub(crate) mod source;
pub(crate) mod timetable;
pub(crate) mod trace;

use core::sync::atomic::{AtomicBool, Ordering};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A thread that can be told to stop. When its work is done it waits for that, so that its processor time can be read.
struct Thread {
    is_over: Arc<AtomicBool>,
    is_done: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    fn spawn(name: &str, run: impl FnOnce(&AtomicBool) + Send + 'static) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let is_done = Arc::new(AtomicBool::new(false));
        let (told, done) = (is_over.clone(), is_done.clone());
        let handle = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                run(&told);
                done.store(true, Ordering::Release);
                while !told.load(Ordering::Relaxed) {
                    std::thread::park();
                }
            })?;
        Ok(Self {
            is_over,
            is_done,
            handle: Some(handle),
        })
    }

    fn is_done(&self) -> bool {
        // A thread that panicked did not say so.
        self.is_done.load(Ordering::Acquire)
            || self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn stop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(handle) = self.handle.take() {
            handle.thread().unpark();
            // A panic there has printed its message; the counts are what they are.
            let _ = handle.join();
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
