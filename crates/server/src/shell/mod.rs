//! A running server: sockets, clock, tasks and files, on tokio.

mod identity;
mod options;
mod records;
mod start;
mod world;

pub use options::ServeOptions;
pub use start::{Running, StartError};

/// Lets the modes that clients give stand as they are.
pub fn clear_umask() {
    rustix::process::umask(rustix::fs::Mode::empty());
}
