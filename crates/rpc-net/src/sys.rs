//! What no safe wrapper offers of a socket. The only unsafe code of the crate.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use bytes::{BufMut, BytesMut};

/// Has a socket say that it can be read, and wake who waits in a read of it, however short, only when so many
/// bytes have come, or its end has (`SO_RCVLOWAT`, socket(7)); 1 is what a socket begins with. The system
/// makes room for them, as far as its own limits allow, and waits for no more than it has room for.
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

/// Appends what a socket has got to `buffer`, no more than there is room for, whatever a runtime knows of it;
/// 0 is the end of the stream.
///
/// # Errors
/// Those of recv(2): `WouldBlock` when there is nothing.
pub(crate) fn receive_now(socket: impl AsFd, buffer: &mut BytesMut) -> io::Result<usize> {
    let room = buffer.chunk_mut();
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the descriptor is borrowed for the call, and the room is this caller's alone, of the length
    // that is given.
    let received = unsafe { libc::recv(fd, room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT) };
    // Negative is an error.
    let Ok(received) = usize::try_from(received) else { return Err(io::Error::last_os_error()) };
    // SAFETY: the system has written so many bytes, which is at most the room.
    unsafe { buffer.advance_mut(received) };
    Ok(received)
}
