//! FREE_ALL: a client host has restarted; all its locks and shares are void.

use bytes::Bytes;
use xdr::Xdr;

use super::NAME_BYTES_MAX;

/// Arguments (`nlm4_notify`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct Notify {
    /// The client host.
    #[xdr(max = NAME_BYTES_MAX)]
    pub name: Bytes,
    /// Its new state number (NSM).
    pub state: i32,
}
