//! What names an object on the wire and in the server's tables.

use std::fmt;

/// An opaque, persistent name for an object, at most 64 bytes so that NFSv3 can carry it (RFC 1813 §2.4).
///
/// It survives renames and restarts and cannot be forged: the back end authenticates it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle {
    length: u8,
    bytes: [u8; Self::MAX],
}

impl Handle {
    /// The longest handle in bytes.
    pub const MAX: usize = 64;

    /// Copies `bytes`, or `None` when they are more than [`Handle::MAX`].
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut copy = [0; Self::MAX];
        copy.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { length: bytes.len() as u8, bytes: copy })
    }

    /// The handle's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handle(")?;
        for byte in self.as_bytes() {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

/// The key of an object in a server's tables of opens, locks and delegations.
///
/// Unlike a file id alone it is never used again for another object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    /// The file id (inode number).
    pub fileid: u64,
    /// Tells apart successive objects with the same file id, and those of different file systems.
    pub generation: u64,
}
