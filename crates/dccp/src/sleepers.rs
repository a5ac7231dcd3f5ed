//! Threads and tasks that wait for a change of something that a mutex guards.

use std::sync::Condvar;
use std::task::Waker;

/// Waiting threads and tasks, guarded by the same mutex.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    pub(crate) threads: u32,
    /// Each task that waits, by a number that is never used twice.
    tasks: Vec<(u64, Waker)>,
    #[cfg(feature = "tokio")]
    next: u64,
}

/// Those that are to be woken, once the mutex is free.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Called {
    has_threads: bool,
    tasks: Vec<(u64, Waker)>,
}

impl Sleepers {
    /// Takes all of them. A waiter that finds nothing to do waits again.
    pub(crate) fn call(&mut self) -> Called {
        Called {
            has_threads: self.threads > 0,
            tasks: core::mem::take(&mut self.tasks),
        }
    }

    /// Takes the tasks.
    pub(crate) fn call_tasks(&mut self) -> Called {
        Called {
            has_threads: false,
            tasks: core::mem::take(&mut self.tasks),
        }
    }
}

impl Called {
    /// Wakes them.
    pub(crate) fn wake(self, condvar: &Condvar) {
        if self.has_threads {
            condvar.notify_all();
        }
        for (_, task) in self.tasks {
            task.wake();
        }
    }
}

#[cfg(feature = "tokio")]
pub(crate) use tasks::until;

#[cfg(feature = "tokio")]
mod tasks {
    use super::Sleepers;
    use core::future::poll_fn;
    use core::task::{Poll, Waker};
    use std::sync::MutexGuard;

    impl Sleepers {
        /// Adds a task, or renews its waker. The result may be dropped only where nothing is locked.
        fn add(&mut self, place: &mut Option<u64>, waker: &Waker) -> Option<Waker> {
            let known = place.and_then(|place| self.tasks.iter_mut().find(|t| t.0 == place));
            match known {
                Some((_, old)) if old.will_wake(waker) => None,
                Some((_, old)) => Some(core::mem::replace(old, waker.clone())),
                None => {
                    self.tasks.push((self.next, waker.clone()));
                    *place = Some(self.next);
                    self.next += 1;
                    None
                }
            }
        }

        /// Takes a task out, if it has not been called.
        fn remove(&mut self, place: u64) -> Option<(u64, Waker)> {
            let index = self.tasks.iter().position(|task| task.0 == place)?;
            Some(self.tasks.swap_remove(index))
        }
    }

    /// Tries `attempt` until it gives something; between, the task waits with the `sleepers`. A future that is
    /// dropped has done nothing: what is done is done when it ends.
    pub(crate) async fn until<'a, S: 'a, T>(
        lock: impl Fn() -> MutexGuard<'a, S>,
        sleepers: impl Fn(&mut S) -> &mut Sleepers,
        mut attempt: impl FnMut(&mut S) -> Option<T>,
    ) -> T {
        let mut guest = Guest {
            lock: &lock,
            sleepers: &sleepers,
            place: None,
        };
        poll_fn(|context| {
            let mut state = (guest.lock)();
            if let Some(found) = attempt(&mut state) {
                return Poll::Ready(found);
            }
            let old = (guest.sleepers)(&mut state).add(&mut guest.place, context.waker());
            drop(state);
            drop(old);
            Poll::Pending
        })
        .await
    }

    /// A task's place among those that wait, left when it is dropped.
    struct Guest<'f, 'a, S: 'a, L, Q>
    where
        L: Fn() -> MutexGuard<'a, S>,
        Q: Fn(&mut S) -> &mut Sleepers,
    {
        lock: &'f L,
        sleepers: &'f Q,
        place: Option<u64>,
    }

    impl<'a, S: 'a, L, Q> Drop for Guest<'_, 'a, S, L, Q>
    where
        L: Fn() -> MutexGuard<'a, S>,
        Q: Fn(&mut S) -> &mut Sleepers,
    {
        fn drop(&mut self) {
            if let Some(place) = self.place {
                let mut state = (self.lock)();
                let left = (self.sleepers)(&mut state).remove(place);
                drop(state);
                drop(left);
            }
        }
    }
}

#[cfg(all(test, feature = "tokio"))]
mod tests {
    use super::*;
    use core::future::Future;
    use core::pin::pin;
    use core::sync::atomic::{AtomicU32, Ordering};
    use core::task::{Context, Poll};
    use std::sync::{Arc, Mutex};
    use std::task::Wake;

    /// How often it was woken.
    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn task_is_woken_once_and_leaves_no_entry() {
        let state = Mutex::new((Sleepers::default(), None));
        let lock = || state.lock().unwrap();
        let wait = || until(lock, |state| &mut state.0, |state| state.1);
        let (count, other) = <(Arc<Count>, Arc<Count>)>::default();
        let waker = Waker::from(count.clone());
        let mut context = Context::from_waker(&waker);
        {
            let mut first = pin!(wait());
            let mut second = pin!(wait());
            assert_eq!(first.as_mut().poll(&mut context), Poll::Pending);
            assert_eq!(first.as_mut().poll(&mut context), Poll::Pending);
            assert_eq!(second.as_mut().poll(&mut context), Poll::Pending);
            assert_eq!(lock().0.tasks.len(), 2);
            // The first moves to another task.
            let waker = Waker::from(other.clone());
            let moved = first.as_mut().poll(&mut Context::from_waker(&waker));
            assert_eq!(moved, Poll::Pending);
            assert_eq!(lock().0.tasks.len(), 2);

            let called = lock().0.call();
            called.wake(&Condvar::new());
            let woken = [&count, &other].map(|count| count.0.load(Ordering::Relaxed));
            assert_eq!(woken, [1, 1]);
            assert_eq!(second.as_mut().poll(&mut context), Poll::Pending);
            lock().1 = Some(7);
            assert_eq!(first.as_mut().poll(&mut context), Poll::Ready(7));
            assert_eq!(lock().0.tasks.len(), 1);
        }
        assert!(lock().0.tasks.is_empty());
    }
}
