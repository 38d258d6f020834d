//! What the kernel is told when something fails.

use client::Error;
use fuser::Errno;

/// The result of an operation.
pub(crate) type Result<T> = std::result::Result<T, Errno>;

/// The number for an error of the client.
#[allow(clippy::needless_pass_by_value, reason = "errors come by value from `map_err`")]
pub(crate) fn of(error: Error) -> Errno {
    let errno = Errno::from_i32(error.raw_os_error());
    match &error {
        // An application can make little of it, so it is written down.
        Error::Server { .. } | Error::Locked | Error::Usage(_) | Error::Unsupported { .. } => {
            tracing::debug!(%error, "refused");
        }
        _ => tracing::warn!(%error, "failed"),
    }
    errno
}
