//! The clock and the randomness of an authenticator.

use super::handle::BootInstance;

/// The surroundings of an authenticator, which has no clock and no randomness of its own.
pub trait Surroundings: Send + Sync + 'static {
    /// Returns the time in milliseconds on a clock that never goes back, whose start does not matter.
    fn now_ms(&self) -> u64;

    /// Fills `bytes` with randomness that cannot be guessed.
    fn random(&self, bytes: &mut [u8]);

    /// Returns the instance of this run of the server, which handles carry.
    fn boot_instance(&self) -> BootInstance;
}
