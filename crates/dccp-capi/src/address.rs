//! Addresses: texts and sockaddr.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::failure::{Failure, status, value};
use crate::{memory, text};
use core::ffi::{c_char, c_int, c_void};
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use dccp::DccpAddr;
use libc::{sa_family_t, sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage, socklen_t};

/// Room that every address needs as text, with its zero byte.
pub const DCCP_ADDRESS_SIZE: usize = 80;

/// Writes an address as text into `buffer` of `size` bytes, as in "192.0.2.10:14233/5001" or "[2001:db8::1]:40000/5001": IP
/// address, UDP port and DCCP port. DCCP_ADDRESS_SIZE bytes suffice. `udp` is an IPv4 or IPv6 socket address of `udp_len`
/// bytes. Returns the length of the text, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_address_from_sockaddr(
    udp: *const sockaddr,
    udp_len: socklen_t,
    dccp_port: u16,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes `udp_len` bytes.
        let udp = unsafe { read(udp, udp_len) }?;
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer.cast::<c_void>(), size, "buffer") }?;
        text::copy(&DccpAddr::from((udp, dccp_port)).to_string(), buffer)
    })
}

/// Reads the text of an address with numbers only; no name is looked up. Writes the IP address and the UDP port to `udp`,
/// the length of that to `udp_len`, and the DCCP port to `dccp_port`. Returns 0, or DCCP_ERR_ADDRESS.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_address_to_sockaddr(
    address: *const c_char,
    udp: *mut sockaddr_storage,
    udp_len: *mut socklen_t,
    dccp_port: *mut u16,
) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a text.
        let address = unsafe { memory::text(address, "address") }?;
        let address: DccpAddr = address.parse()?;
        // SAFETY: the program passes room for each of the three.
        unsafe { memory::put(dccp_port, address.dccp_port, "dccp_port") }?;
        // SAFETY: as above.
        let len = unsafe { write(address.udp_addr(), udp) }?;
        // SAFETY: as above.
        unsafe { memory::put(udp_len, len, "udp_len") }
    })
}

/// The length of a socket address of this type.
fn len_of<T>() -> socklen_t {
    socklen_t::try_from(size_of::<T>()).unwrap_or(socklen_t::MAX)
}

fn family(number: c_int) -> sa_family_t {
    sa_family_t::try_from(number).unwrap_or_default()
}

/// Reads the program's socket address.
unsafe fn read(udp: *const sockaddr, len: socklen_t) -> Result<SocketAddr, Failure> {
    let unfit = || Failure::invalid("udp: must be a whole IPv4 or IPv6 socket address");
    if len < len_of::<sockaddr>() {
        return Err(unfit());
    }
    // SAFETY: the program passes null or `len` bytes, which hold a family.
    let head = *unsafe { memory::shared(udp, "udp") }?;
    match c_int::from(head.sa_family) {
        libc::AF_INET => {
            // SAFETY: the length of both types is the same.
            let v4 = unsafe { udp.cast::<sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Ok(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 if len >= len_of::<sockaddr_in6>() => {
            // SAFETY: the length is checked by the guard.
            let v6 = unsafe { udp.cast::<sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Ok(SocketAddrV6::new(ip, port, 0, v6.sin6_scope_id).into())
        }
        _ => Err(unfit()),
    }
}

/// Writes a socket address to the program's storage and returns its length.
unsafe fn write(address: SocketAddr, to: *mut sockaddr_storage) -> Result<socklen_t, Failure> {
    // SAFETY: zeros are a value of each of the three types.
    let zeros = unsafe { core::mem::zeroed::<sockaddr_storage>() };
    // SAFETY: the program passes null or room for the storage.
    unsafe { memory::put(to, zeros, "udp") }?;
    match address {
        SocketAddr::V4(address) => {
            // SAFETY: the storage is made for each family.
            let v4 = unsafe { memory::exclusive(to.cast::<sockaddr_in>(), "udp") }?;
            v4.sin_family = family(libc::AF_INET);
            v4.sin_port = address.port().to_be();
            v4.sin_addr.s_addr = u32::from(*address.ip()).to_be();
            Ok(len_of::<sockaddr_in>())
        }
        SocketAddr::V6(address) => {
            // SAFETY: the storage is made for each family.
            let v6 = unsafe { memory::exclusive(to.cast::<sockaddr_in6>(), "udp") }?;
            v6.sin6_family = family(libc::AF_INET6);
            v6.sin6_port = address.port().to_be();
            v6.sin6_addr.s6_addr = address.ip().octets();
            v6.sin6_scope_id = address.scope_id();
            Ok(len_of::<sockaddr_in6>())
        }
    }
}
