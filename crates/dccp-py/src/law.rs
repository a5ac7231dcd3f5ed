//! Laws of CCID 2 and TCP that are written in Python.
//!
//! A law in Python is a class with the methods of the trait [`Law`](law::Law). Each connection makes an object of it.
//! An error in a method ends the whole run: it is stored in [`Faults`], and the thread that waits for the runs raises
//! it. Until then the law does nothing.

use core::fmt;
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::cc::law::{self, Cause, Law, LawSettings, Wants};
use dccp_proto::time::nanos;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The first error of a law.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<Option<PyErr>>>);

impl Faults {
    fn lock(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, error: PyErr) {
        self.lock().get_or_insert(error);
    }

    /// Removes the error.
    pub(crate) fn take(&self) -> PyResult<()> {
        self.lock().take().map_or(Ok(()), Err)
    }
}

/// A law of the caller.
pub(crate) struct Settings {
    name: &'static str,
    /// Called without arguments, it makes a law.
    make: Py<PyAny>,
    /// Names the code of the law: laws with other code are other laws.
    code: String,
    faults: Faults,
}

impl Settings {
    pub(crate) fn new(name: &str, make: Py<PyAny>, code: String, faults: Faults) -> Self {
        Self {
            name: permanent(name),
            make,
            code,
            faults,
        }
    }

    /// Makes a law, and finds out which optional methods it has.
    fn make(&self, py: Python<'_>) -> PyResult<Object> {
        let law = self.make.bind(py).call0()?;
        let base = py.import("usrdccp")?.getattr("Law")?;
        if !law.is_instance(&base)? {
            let kind = law.get_type().name()?;
            let what = format!("law {}: {kind} is not derived from usrdccp.Law", self.name);
            return Err(PyTypeError::new_err(what));
        }
        let has_own = |method: &str| -> PyResult<bool> {
            let own = law.get_type().getattr(method)?;
            Ok(!own.is(&base.getattr(method)?))
        };
        Ok(Object {
            wants: Wants {
                delivered_rate: law.getattr("wants_delivered_rate")?.extract()?,
                one_way: law.getattr("wants_one_way")?.extract()?,
            },
            has_holding: has_own("is_holding")?,
            has_pacing_rate: has_own("pacing_rate")?,
            law: law.unbind(),
        })
    }
}

impl fmt::Debug for Settings {
    /// The keys of cells are made of this text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonLaw")
            .field("name", &self.name)
            .field("code", &self.code)
            .finish_non_exhaustive()
    }
}

impl LawSettings for Settings {
    fn name(&self) -> &'static str {
        self.name
    }

    fn build(&self) -> Box<dyn Law> {
        let object = Python::attach(|py| self.make(py));
        Box::new(PythonLaw {
            name: self.name,
            object: object.map_err(|error| self.faults.note(error)).ok(),
            faults: self.faults.clone(),
        })
    }
}

/// A text that lives as long as the program: each once.
fn permanent(text: &str) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(text) {
        return known;
    }
    let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
    texts.insert(text);
    text
}

/// A law in Python, in one connection.
struct PythonLaw {
    name: &'static str,
    /// `None` after an error.
    object: Option<Object>,
    faults: Faults,
}

/// An object of the caller's class.
struct Object {
    law: Py<PyAny>,
    wants: Wants,
    has_holding: bool,
    has_pacing_rate: bool,
}

impl PythonLaw {
    /// Calls Python, unless there was an error.
    fn call<T>(&mut self, call: impl FnOnce(Python<'_>, &Object) -> PyResult<T>) -> Option<T> {
        let object = self.object.as_ref()?;
        let result = Python::attach(|py| call(py, object));
        result
            .map_err(|error| {
                self.faults.note(error);
                self.object = None;
            })
            .ok()
    }

    /// Calls a method that may change the window.
    fn change(
        &mut self,
        window: &mut law::Window,
        method: impl for<'py> FnOnce(Python<'py>, &Py<PyAny>, Bound<'py, Window>) -> PyResult<()>,
    ) {
        let (name, old) = (self.name, *window);
        let new = self.call(|py, object| {
            let shown = Bound::new(py, Window::from(old))?;
            method(py, &object.law, shown.clone())?;
            shown.borrow().checked(name)
        });
        *window = new.unwrap_or(old);
    }
}

impl Law for PythonLaw {
    fn name(&self) -> &'static str {
        self.name
    }

    fn wants(&self) -> Wants {
        self.object.as_ref().map_or(Wants::default(), |o| o.wants)
    }

    fn on_start(&mut self, window: &mut law::Window) {
        self.change(window, |py, law, window| {
            law.call_method1(py, "on_start", (window,)).map(drop)
        });
    }

    fn on_ack(&mut self, window: &mut law::Window, ack: &law::Ack) {
        self.change(window, |py, law, window| {
            law.call_method1(py, "on_ack", (window, Ack::from(ack)))
                .map(drop)
        });
    }

    fn on_congestion(&mut self, window: &mut law::Window, event: &law::Congestion) {
        self.change(window, |py, law, window| {
            let event = Congestion::from(event);
            law.call_method1(py, "on_congestion", (window, event))
                .map(drop)
        });
    }

    fn on_timeout(&mut self, window: &mut law::Window, now: Instant) {
        self.change(window, |py, law, window| {
            law.call_method1(py, "on_timeout", (window, now.as_nanos()))
                .map(drop)
        });
    }

    fn on_host_drop(&mut self, window: &mut law::Window, packets: u32) {
        self.change(window, |py, law, window| {
            law.call_method1(py, "on_host_drop", (window, packets))
                .map(drop)
        });
    }

    fn on_idle(&mut self, now: Instant, idle: Duration) {
        let times = (now.as_nanos(), nanos(idle));
        self.call(|py, object| object.law.call_method1(py, "on_idle", times).map(drop));
    }

    fn is_holding(&self, window: &law::Window, now: Instant) -> bool {
        let Some(object) = self.object.as_ref().filter(|object| object.has_holding) else {
            return false;
        };
        let answer = Python::attach(|py| {
            let arguments = (Window::from(*window), now.as_nanos());
            object
                .law
                .call_method1(py, "is_holding", arguments)?
                .extract(py)
        });
        answer.unwrap_or_else(|error| {
            self.faults.note(error);
            false
        })
    }

    fn pacing_rate(&self) -> Option<f64> {
        let object = self
            .object
            .as_ref()
            .filter(|object| object.has_pacing_rate)?;
        let answer: PyResult<Option<f64>> =
            Python::attach(|py| object.law.call_method0(py, "pacing_rate")?.extract(py));
        answer.unwrap_or_else(|error| {
            self.faults.note(error);
            None
        })
    }
}

/// The congestion window and its threshold.
#[pyclass(module = "usrdccp", get_all, set_all)]
#[derive(Clone, Copy)]
pub(crate) struct Window {
    cwnd: f64,
    ssthresh: f64,
}

impl From<law::Window> for Window {
    fn from(window: law::Window) -> Self {
        let law::Window { cwnd, ssthresh } = window;
        Self { cwnd, ssthresh }
    }
}

impl From<Window> for law::Window {
    fn from(window: Window) -> Self {
        let Window { cwnd, ssthresh } = window;
        Self { cwnd, ssthresh }
    }
}

impl Window {
    /// The window that a law has set.
    fn checked(self, law: &str) -> PyResult<law::Window> {
        if !self.cwnd.is_finite() || self.cwnd < 0.0 || self.ssthresh.is_nan() {
            let Self { cwnd, ssthresh } = self;
            return Err(PyValueError::new_err(format!(
                "law {law}: a window of {cwnd} packets with the threshold {ssthresh} is not possible"
            )));
        }
        Ok(law::Window {
            cwnd: self.cwnd.max(1.0),
            ssthresh: self.ssthresh,
        })
    }

    fn change(&mut self, change: impl FnOnce(&mut law::Window)) {
        let mut window = law::Window::from(*self);
        change(&mut window);
        *self = window.into();
    }
}

#[pymethods]
impl Window {
    #[new]
    #[pyo3(signature = (cwnd, ssthresh = f64::INFINITY))]
    fn new(cwnd: f64, ssthresh: f64) -> Self {
        Self { cwnd, ssthresh }
    }

    #[getter]
    fn is_slow_start(&self) -> bool {
        law::Window::from(*self).is_slow_start()
    }

    fn leave_slow_start(&mut self) {
        self.change(law::Window::leave_slow_start);
    }

    fn reduce_to(&mut self, packets: f64) {
        self.change(|window| window.reduce_to(packets));
    }

    fn collapse(&mut self, ssthresh: f64) {
        self.change(|window| window.collapse(ssthresh));
    }

    fn __repr__(&self) -> String {
        format!("Window(cwnd={}, ssthresh={})", self.cwnd, self.ssthresh)
    }
}

/// An acknowledgement. Times are in nanoseconds.
#[pyclass(frozen, get_all, module = "usrdccp")]
pub(crate) struct Ack {
    now_ns: u64,
    acked: u32,
    growth: u32,
    marked: u32,
    lost: u32,
    is_clean: bool,
    is_recovering: bool,
    rtt_ns: Option<u64>,
    smoothed_rtt_ns: Option<u64>,
    one_way_ns: Option<u64>,
    delivered_rate: Option<f64>,
    is_app_limited: bool,
    flight: u32,
    pipe: u32,
    round: u64,
}

impl From<&law::Ack> for Ack {
    fn from(ack: &law::Ack) -> Self {
        Self {
            now_ns: ack.now.as_nanos(),
            acked: ack.acked,
            growth: ack.growth,
            marked: ack.marked,
            lost: ack.lost,
            is_clean: ack.is_clean,
            is_recovering: ack.is_recovering,
            rtt_ns: ack.rtt.map(nanos),
            smoothed_rtt_ns: ack.smoothed_rtt.map(nanos),
            one_way_ns: ack.one_way.map(nanos),
            delivered_rate: ack.delivered_rate,
            is_app_limited: ack.is_app_limited,
            flight: ack.flight,
            pipe: ack.pipe,
            round: ack.round,
        }
    }
}

/// A congestion event.
#[pyclass(frozen, get_all, module = "usrdccp")]
pub(crate) struct Congestion {
    now_ns: u64,
    cause: &'static str,
    packets: u32,
    flight: u32,
    pipe: u32,
}

impl From<&law::Congestion> for Congestion {
    fn from(event: &law::Congestion) -> Self {
        Self {
            now_ns: event.now.as_nanos(),
            cause: match event.cause {
                Cause::Loss => "loss",
                Cause::Mark => "mark",
            },
            packets: event.packets,
            flight: event.flight,
            pipe: event.pipe,
        }
    }
}
