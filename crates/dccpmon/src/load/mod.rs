//! The two ends of a flow.

mod numbers;
pub(crate) mod receive;
pub(crate) mod send;

use core::sync::atomic::{AtomicBool, Ordering};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A thread that can be told to stop.
struct Thread {
    is_over: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    fn spawn(name: &str, run: impl FnOnce(&AtomicBool) + Send + 'static) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let told = is_over.clone();
        let handle = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || run(&told))?;
        Ok(Self {
            is_over,
            handle: Some(handle),
        })
    }

    fn is_done(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn stop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(handle) = self.handle.take() {
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
