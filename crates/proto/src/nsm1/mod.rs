//! The network status monitor, version 1 (X/Open C702 chapter 13): tells the hosts that share locks of each
//! other's restarts.

mod change;
mod monitor;
mod procedure;

pub use change::StatChange;
pub use monitor::*;
pub use procedure::Procedure;

#[cfg(test)]
mod tests;

/// The program number of the status monitor.
pub const PROGRAM: u32 = 100_024;
/// Its only version.
pub const VERSION: u32 = 1;
/// The longest name of a host in bytes (`SM_MAXSTRLEN`).
pub const NAME_BYTES_MAX: u32 = 1024;
