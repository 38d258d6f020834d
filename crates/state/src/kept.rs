//! Names that are kept.

use bytes::Bytes;

/// A copy with memory of its own: what was decoded shares the memory of its whole record, and would keep all
/// of it for as long as the name is kept.
pub(crate) fn own(name: &Bytes) -> Bytes {
    Bytes::copy_from_slice(name)
}
