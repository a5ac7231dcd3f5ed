//! Pointers of the program: checked for null, then used.
//!
//! The head of the header states the program's part. A pointer is null, or it points to a live object or to as many bytes
//! as the function says. Nothing else changes them during the call.

#![expect(
    unsafe_code,
    reason = "C passes pointers, whose validity only the program can ensure"
)]

use crate::failure::Failure;
use core::ffi::{CStr, c_char, c_void};

fn null(name: &str) -> Failure {
    Failure::invalid(format!("{name}: must not be a null pointer"))
}

/// A handle or struct that the function reads.
pub(crate) unsafe fn shared<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: the program passes null or a live object.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// A handle or struct that the function changes.
pub(crate) unsafe fn exclusive<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: the program passes null or a live object that no other thread uses during the call.
    unsafe { pointer.as_mut() }.ok_or_else(|| null(name))
}

/// Elements that the function reads. Null is allowed for none.
pub(crate) unsafe fn elements<'a, T>(
    pointer: *const T,
    len: usize,
    name: &str,
) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    check_extent(pointer, len, name)?;
    // SAFETY: the program passes `len` elements, and their size is checked above.
    Ok(unsafe { core::slice::from_raw_parts(pointer, len) })
}

/// Elements that the function changes. Null is allowed for none.
pub(crate) unsafe fn elements_mut<'a, T>(
    pointer: *mut T,
    len: usize,
    name: &str,
) -> Result<&'a mut [T], Failure> {
    if len == 0 {
        return Ok(&mut []);
    }
    check_extent(pointer, len, name)?;
    // SAFETY: the program passes `len` elements that nothing else uses, and their size is checked above.
    Ok(unsafe { core::slice::from_raw_parts_mut(pointer, len) })
}

/// A datagram that the function reads.
pub(crate) unsafe fn bytes<'a>(
    data: *const c_void,
    len: usize,
    name: &str,
) -> Result<&'a [u8], Failure> {
    // SAFETY: the program passes `len` readable bytes.
    unsafe { elements(data.cast::<u8>(), len, name) }
}

/// A buffer that the function writes. The program may not have initialised it, but a byte has no invalid value.
pub(crate) unsafe fn buffer<'a>(
    data: *mut c_void,
    len: usize,
    name: &str,
) -> Result<&'a mut [u8], Failure> {
    // SAFETY: the program passes `len` writable bytes.
    unsafe { elements_mut(data.cast::<u8>(), len, name) }
}

fn check_extent<T>(pointer: *const T, len: usize, name: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(null(name));
    }
    let bytes = len.checked_mul(size_of::<T>());
    match bytes.map(isize::try_from) {
        Some(Ok(_)) => Ok(()),
        _ => Err(Failure::invalid(format!(
            "{name}: {len} elements: must fit in the address space"
        ))),
    }
}

/// A text of the program.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: the program passes a text that ends with a zero byte.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str()
        .map_err(|_| Failure::invalid(format!("{name}: must be UTF-8")))
}

/// Writes a result where the program asked for it.
pub(crate) unsafe fn put<T>(place: *mut T, value: T, name: &str) -> Result<(), Failure> {
    if place.is_null() {
        return Err(null(name));
    }
    // SAFETY: the program passes room for one value.
    unsafe { place.write(value) };
    Ok(())
}

/// Gives the program a new handle through `place`.
pub(crate) unsafe fn put_handle<T>(
    place: *mut *mut T,
    make: impl FnOnce() -> Result<T, Failure>,
    name: &str,
) -> Result<(), Failure> {
    // SAFETY: the program passes room for one pointer.
    unsafe { put(place, core::ptr::null_mut(), name) }?;
    let handle = Box::into_raw(Box::new(make()?));
    // SAFETY: as above.
    unsafe { put(place, handle, name) }
}

/// Frees a handle; null is allowed.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if handle.is_null() {
        return;
    }
    // SAFETY: `put_handle` or `Box::into_raw` made it, and the program frees it once.
    drop(unsafe { Box::from_raw(handle) });
}

/// A struct that begins with `size_t size`, so that it can grow.
///
/// # Safety
/// `#[repr(C)]`, the first field is the size, and all bytes may be zero.
pub(crate) unsafe trait Growing: Copy {
    /// The size of the struct's first version.
    const FIRST_SIZE: usize;
}

/// Reads a growing struct of the program, which may be of an older and shorter version.
pub(crate) unsafe fn read_growing<T: Growing>(pointer: *const T, name: &str) -> Result<T, Failure> {
    // SAFETY: the program passes null or a struct that begins with its size.
    let size = unsafe { check_growing(pointer, name) }?;
    if size > size_of::<T>() {
        return Err(Failure::invalid(format!(
            "{name}.size: {size}: must be at most {}, because this library is older than the program's header",
            size_of::<T>()
        )));
    }
    // SAFETY: zeros are a value of every `Growing`.
    let mut value: T = unsafe { core::mem::zeroed() };
    // SAFETY: the program's struct has `size` bytes, and `value` has at least as many.
    unsafe {
        core::ptr::copy_nonoverlapping(pointer.cast::<u8>(), (&raw mut value).cast::<u8>(), size);
    };
    Ok(value)
}

/// Writes as much of `value` as the program's struct holds, and sets its size to the number of bytes written.
pub(crate) unsafe fn write_growing<T: Growing>(
    place: *mut T,
    value: &T,
    name: &str,
) -> Result<(), Failure> {
    // SAFETY: the program passes null or a struct that begins with its size.
    let size = unsafe { check_growing(place, name) }?.min(size_of::<T>());
    let from = core::ptr::from_ref(value).cast::<u8>();
    // SAFETY: both structs have at least `size` bytes.
    unsafe { core::ptr::copy_nonoverlapping(from, place.cast::<u8>(), size) };
    // SAFETY: the first field of the program's struct is its size.
    unsafe { place.cast::<usize>().write(size) };
    Ok(())
}

/// Returns the size that the program's struct states.
pub(crate) unsafe fn check_growing<T: Growing>(
    pointer: *const T,
    name: &str,
) -> Result<usize, Failure> {
    // SAFETY: the program passes null or a struct that begins with its size.
    let size = *unsafe { shared(pointer.cast::<usize>(), name) }?;
    if size < T::FIRST_SIZE {
        return Err(Failure::invalid(format!(
            "{name}.size: {size}: must be the size of the struct"
        )));
    }
    Ok(size)
}
