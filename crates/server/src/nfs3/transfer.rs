//! How much one call transfers at most; what FSINFO tells.

/// The most bytes of one READ or WRITE.
pub(super) const DATA_BYTES_MAX: u32 = 1 << 20;
/// The largest success body of READDIR and READDIRPLUS in bytes.
pub(super) const LISTING_BYTES_MAX: u32 = 1 << 20;
/// The preferred size of a READDIR in bytes. Who asks for less of a large directory waits more often than it
/// takes to list it.
pub(super) const LISTING_BYTES_PREFERRED: u32 = LISTING_BYTES_MAX;
