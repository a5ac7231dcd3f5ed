//! The last failed call of each thread.

use crate::cstring::c_text;
use core::cell::RefCell;
use core::ffi::c_char;
use dccp::Fault;
use std::borrow::Cow;
use std::ffi::CString;

/// The failed call, and the texts that were handed out.
#[derive(Debug, Default)]
struct Last {
    fault: Option<Fault>,
    detail: Cow<'static, str>,
    next_step: &'static str,
    detail_text: Option<CString>,
    next_step_text: Option<CString>,
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::default();
}

/// Replaces the thread's last failed call. Its texts are converted for C only if the program asks for them.
pub(crate) fn store(fault: Option<Fault>, detail: Cow<'static, str>, next_step: &'static str) {
    let new = Last {
        fault,
        detail,
        next_step,
        ..Last::default()
    };
    // A thread that ends may have dropped its storage already.
    let _ = LAST.try_with(|last| *last.borrow_mut() = new);
}

/// The fault of the thread's last failed call.
pub(crate) fn fault() -> Option<Fault> {
    LAST.try_with(|last| last.borrow().fault).ok().flatten()
}

/// The detail of the thread's last failed call. Valid until its next failed call.
pub(crate) fn detail() -> *const c_char {
    text(|last| {
        let detail = &last.detail;
        last.detail_text.get_or_insert_with(|| c_text(detail))
    })
}

/// The next step after the thread's last failed call. Valid until its next failed call.
pub(crate) fn next_step() -> *const c_char {
    text(|last| {
        let next_step = last.next_step;
        last.next_step_text.get_or_insert_with(|| c_text(next_step))
    })
}

fn text(of: impl FnOnce(&mut Last) -> &mut CString) -> *const c_char {
    LAST.try_with(|last| of(&mut last.borrow_mut()).as_ptr())
        .unwrap_or(c"".as_ptr())
}
