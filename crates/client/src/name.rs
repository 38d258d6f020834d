//! Names of directory entries, checked where a server's reply becomes a list.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::error::{Error, Result};

/// The longest name of an entry, in bytes (`NAME_MAX` of Linux and of every server that exports one of its
/// file systems).
const NAME_BYTES_MAX: usize = 255;

/// The name of a directory entry: one component of a path, which leads to nowhere but into that directory.
///
/// It has 1 to 255 bytes, no `/` and no zero byte, and is neither `.` nor `..`. A name that a server sends
/// is a string of any bytes (RFC 1813 §2.5, RFC 8881 §3.2): without this check `../x` in a reply would be a
/// path of the client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(Bytes);

impl FileName {
    /// `None` when the bytes are no name of an entry.
    pub fn new(bytes: impl Into<Bytes>) -> Option<Self> {
        let bytes = bytes.into();
        let is_name = (1..=NAME_BYTES_MAX).contains(&bytes.len())
            && !is_dots(&bytes)
            && !bytes.iter().any(|byte| matches!(byte, b'/' | 0));
        is_name.then_some(Self(bytes))
    }

    /// The bytes of the name.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl Deref for FileName {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.0
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq<&str> for FileName {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

/// True for the directory itself and the one above, which servers of NFSv3 list.
pub(crate) fn is_dots(name: &[u8]) -> bool {
    name == b"." || name == b".."
}

/// The longest target of a symbolic link, in bytes: twice what a path of Linux has at most.
const TARGET_BYTES_MAX: usize = 8192;

/// The target of a symbolic link that a server sent: where it leads is for its reader to judge, but it is
/// one path.
///
/// # Errors
/// With a zero byte, which ends a path on every system, and with more than 8,192 bytes.
pub(crate) fn checked_target(target: Bytes) -> Result<Bytes> {
    match target.len() <= TARGET_BYTES_MAX && !target.contains(&0) {
        true => Ok(target),
        false => Err(Error::misbehaved("READLINK", "the target is no path")),
    }
}

/// Entries that a client left out of lists, because their names are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedNames {
    /// How many there were.
    pub count: u64,
    /// The first of the names, as the server sent it.
    pub first: Bytes,
}

/// Counts the names that one client refused.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    count: AtomicU64,
    first: Mutex<Option<Bytes>>,
}

impl Refusals {
    /// Counts a name; the log has the first one of a client.
    pub(crate) fn add(&self, name: &Bytes) {
        if self.count.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!(
                name = %name.escape_ascii(),
                "the server lists a name that no file can have; such entries are left out"
            );
            // A copy, as the bytes are a part of a whole reply.
            *self.first.lock() = Some(Bytes::copy_from_slice(name));
        }
    }

    pub(crate) fn report(&self) -> Option<RefusedNames> {
        let first = self.first.lock().clone()?;
        Some(RefusedNames { count: self.count.load(Ordering::Relaxed), first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_single_components_are_names() {
        for name in [&b"a"[..], b"...", b".a", b"..a", b" ", b"\n\xff\\", &[b'x'; 255]] {
            assert_eq!(FileName::new(name.to_vec()).unwrap().into_bytes(), name);
        }
        for bytes in
            [&b""[..], b".", b"..", b"/", b"a/b", b"/a", b"a/", b"../a", b"a\0", b"\0", b"a\0b", &[b'x'; 256]]
        {
            assert_eq!(FileName::new(bytes.to_vec()), None, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn target_of_a_link_is_one_path() {
        for target in [&b"../../etc"[..], b"/", b"", &[b'x'; 8192]] {
            assert_eq!(checked_target(target.to_vec().into()).unwrap(), target);
        }
        for target in [&b"a\0b"[..], &[b'x'; 8193]] {
            assert!(checked_target(target.to_vec().into()).is_err());
        }
    }

    #[test]
    fn refusals_keep_the_first_name() {
        let refusals = Refusals::default();
        assert_eq!(refusals.report(), None);
        refusals.add(&Bytes::from_static(b"a/b"));
        refusals.add(&Bytes::from_static(b""));
        assert_eq!(refusals.report(), Some(RefusedNames { count: 2, first: Bytes::from_static(b"a/b") }));
    }
}
