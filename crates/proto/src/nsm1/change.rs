//! NOTIFY: a host has restarted.

use bytes::Bytes;
use xdr::Xdr;

use super::NAME_BYTES_MAX;

/// Arguments (`stat_chge`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct StatChange {
    /// The host that has restarted.
    #[xdr(max = NAME_BYTES_MAX)]
    pub name: Bytes,
    /// Its new state number; odd while it is up.
    pub state: i32,
}
