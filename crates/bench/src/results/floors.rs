//! The fewest requests that a setting could do with.

use serde::{Deserialize, Serialize};

/// The fewest requests for each operation of the application, by itself and in the mean of a workload; how
/// they follow from what the workload does is in `docs/floors.md`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Floors {
    /// Of a client that gets one POSIX call at a time and does not guess the next.
    pub posix: f64,
    /// Of a client that knows the whole operation, and may send it in one COMPOUND where the version has
    /// them. Never above `posix`.
    pub compound: f64,
}
