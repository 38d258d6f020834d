//! Work in another network namespace.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Runs `work` in a thread whose network is `namespace`.
///
/// # Errors
/// When the namespace cannot be entered.
///
/// # Panics
/// When `work` does.
pub fn inside<T: Send>(namespace: &File, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let entered = scope.spawn(move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(work())
        });
        entered.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
