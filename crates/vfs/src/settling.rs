//! What is on its way to stable storage.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::Result;

/// A change that was made and may not be on stable storage yet. It gets there whether or not this is waited
/// for: whoever drops it does without knowing when, and whether it went well.
#[must_use]
pub struct Settling(Option<Pin<Box<dyn Future<Output = Result<()>> + Send + Sync>>>);

impl Settling {
    /// It is there, or nothing was asked to be.
    pub const DONE: Self = Self(None);

    /// It is there when `outcome` says so.
    pub fn when(outcome: impl Future<Output = Result<()>> + Send + Sync + 'static) -> Self {
        Self(Some(Box::pin(outcome)))
    }

    /// True when there is nothing to wait for.
    pub fn is_done(&self) -> bool {
        self.0.is_none()
    }

    /// Waits until it is on stable storage.
    ///
    /// # Errors
    /// What the disk says: then the change may be lost in a crash.
    pub async fn wait(self) -> Result<()> {
        match self.0 {
            Some(outcome) => outcome.await,
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Settling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settling").field("is_done", &self.is_done()).finish()
    }
}
