//! The option of a socket that no safe wrapper offers. The only unsafe code of the crate.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Has a socket say that it can be read, and wake who waits in a read of it, however short, only when so many bytes have come, or its end
/// has (`SO_RCVLOWAT`, socket(7)); 1 is what a socket begins with. The system makes room for them, as far as its own limits allow, and
/// waits for no more than it has room for.
///
/// # Errors
/// Those of setsockopt(2).
pub fn set_receive_low_water(socket: impl AsFd, bytes: usize) -> io::Result<()> {
    let value = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    let (fd, length) = (socket.as_fd().as_raw_fd(), size_of::<c_int>() as libc::socklen_t);
    // SAFETY: the descriptor is borrowed for the call, and the option's value is an int that lives as long.
    let result = unsafe {
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, (&raw const value).cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
