//! Copies between the program's memory and this library's. The program promises that its pointers are valid, as it does to
//! the C library; a null pointer is an error.

#![expect(unsafe_code, reason = "the C interface hands over raw pointers")]

use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use dccprun_message::Family;
use libc::{AF_INET, AF_INET6, AF_UNSPEC, EFAULT, EINVAL, c_int, c_void, sockaddr, socklen_t};

/// Lengths of `sockaddr_in` and `sockaddr_in6`.
const V4_LEN: usize = 16;
const V6_LEN: usize = 28;
/// The least length of `sockaddr_in6` that the kernel takes (RFC 2133).
const V6_LEN_MIN: usize = 24;

/// Copies the first bytes of the program's memory; returns how many.
pub(crate) unsafe fn read(
    from: *const c_void,
    len: usize,
    into: &mut [u8],
) -> Result<usize, c_int> {
    if from.is_null() {
        return Err(EFAULT);
    }
    let len = len.min(into.len());
    // SAFETY: the program promises `len` bytes at `from`; `into` is this library's, and has room.
    unsafe { core::ptr::copy_nonoverlapping(from.cast::<u8>(), into.as_mut_ptr(), len) };
    Ok(len)
}

/// Writes bytes to the program's memory.
pub(crate) unsafe fn write(from: &[u8], to: *mut c_void) -> Result<(), c_int> {
    if to.is_null() {
        return Err(EFAULT);
    }
    // SAFETY: the program promises room for the bytes; `from` is this library's.
    unsafe { core::ptr::copy_nonoverlapping(from.as_ptr(), to.cast::<u8>(), from.len()) };
    Ok(())
}

/// Reads a length that the program stored.
pub(crate) unsafe fn read_len(len: *const socklen_t) -> Result<usize, c_int> {
    if len.is_null() {
        return Err(EFAULT);
    }
    // SAFETY: the program promises a length there.
    let value = unsafe { len.read_unaligned() };
    let signed = c_int::try_from(value).map_err(|_| EINVAL)?;
    usize::try_from(signed).map_err(|_| EINVAL)
}

/// Stores a length for the program.
pub(crate) unsafe fn write_len(len: *mut socklen_t, value: usize) {
    // SAFETY: `read_len` has found room there, as the program promises.
    unsafe { len.write_unaligned(socklen_t::try_from(value).unwrap_or(socklen_t::MAX)) };
}

/// Stores the value of an option: as much of it as the program has room for, and its length.
pub(crate) unsafe fn write_value(
    value: &[u8],
    to: *mut c_void,
    len: *mut socklen_t,
) -> Result<(), c_int> {
    // SAFETY: the program's pointers.
    let room = unsafe { read_len(len)? };
    let value = value.get(..room).unwrap_or(value);
    // SAFETY: as above.
    unsafe { write(value, to)? };
    // SAFETY: `read_len` has read it.
    unsafe { write_len(len, value.len()) };
    Ok(())
}

/// Reads the address that the program gives to a socket of `family`; `None`: it has none (`AF_UNSPEC`).
pub(crate) unsafe fn read_address(
    family: Family,
    addr: *const sockaddr,
    len: socklen_t,
) -> Result<Option<SocketAddr>, c_int> {
    let mut bytes = [0; V6_LEN];
    // SAFETY: the program promises `len` bytes at `addr`.
    let len = unsafe { read(addr.cast(), len as usize, &mut bytes)? };
    let [a, b, ..] = bytes;
    let given = c_int::from(u16::from_ne_bytes([a, b]));
    let least = if given == AF_INET6 {
        V6_LEN_MIN
    } else {
        V4_LEN
    };
    if len < 2 || (given != AF_UNSPEC && len < least) {
        return Err(EINVAL);
    }
    let port = u16::from_be_bytes([bytes[2], bytes[3]]);
    match (given, family) {
        (AF_UNSPEC, _) => Ok(None),
        (AF_INET, Family::V4) => {
            let ip = Ipv4Addr::new(bytes[4], bytes[5], bytes[6], bytes[7]);
            Ok(Some(SocketAddrV4::new(ip, port).into()))
        }
        (AF_INET6, Family::V6) => {
            let mut ip = [0; 16];
            ip.copy_from_slice(&bytes[8..24]);
            let scope = u32::from_ne_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]);
            Ok(Some(
                SocketAddrV6::new(Ipv6Addr::from(ip), port, 0, scope).into(),
            ))
        }
        _ => Err(libc::EAFNOSUPPORT),
    }
}

/// Reads the address to which the program binds a socket of `family`.
pub(crate) unsafe fn read_local(
    family: Family,
    addr: *const sockaddr,
    len: socklen_t,
) -> Result<SocketAddr, c_int> {
    // SAFETY: the program promises `len` bytes at `addr`.
    if let Some(local) = unsafe { read_address(family, addr, len)? } {
        return Ok(local);
    }
    // The kernel takes the unspecified address without a family as one of IPv4.
    let mut bytes = [0; V6_LEN];
    // SAFETY: as above.
    let given = unsafe { read(addr.cast(), len as usize, &mut bytes)? };
    let [_, _, high, low, ip @ ..] = bytes;
    match family {
        Family::V4 if given < V4_LEN => Err(EINVAL),
        Family::V6 if given < V6_LEN_MIN => Err(EINVAL),
        Family::V4 if ip.starts_with(&[0; 4]) => {
            let port = u16::from_be_bytes([high, low]);
            Ok(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port).into())
        }
        Family::V4 | Family::V6 => Err(libc::EAFNOSUPPORT),
    }
}

/// Stores an address for the program, as much of it as there is room for, and its length. Without room for an address,
/// nothing is stored.
pub(crate) unsafe fn write_address(
    address: SocketAddr,
    to: *mut sockaddr,
    len: *mut socklen_t,
) -> Result<(), c_int> {
    let mut bytes = [0; V6_LEN];
    bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
    let (family, whole) = match address {
        SocketAddr::V4(v4) => {
            bytes[4..8].copy_from_slice(&v4.ip().octets());
            (AF_INET, V4_LEN)
        }
        SocketAddr::V6(v6) => {
            bytes[8..24].copy_from_slice(&v6.ip().octets());
            bytes[24..].copy_from_slice(&v6.scope_id().to_ne_bytes());
            (AF_INET6, V6_LEN)
        }
    };
    let family = u16::try_from(family).unwrap_or_default();
    bytes[..2].copy_from_slice(&family.to_ne_bytes());
    // SAFETY: the program's pointers.
    let room = unsafe { read_len(len)? };
    // SAFETY: as above.
    unsafe { write(&bytes[..whole.min(room)], to.cast())? };
    // SAFETY: `read_len` has read it.
    unsafe { write_len(len, whole) };
    Ok(())
}
