//! Paths of a batch: names below one directory. Pure.

use std::ops::Bound;

use bytes::{BufMut, Bytes, BytesMut};

use crate::error::{Error, Result};
use crate::name::FileName;

/// The most bytes of a path.
const BYTES_MAX: usize = 32 << 10;

/// The names that lead from the start of a batch to an object, each but the first behind a zero byte, which
/// no name holds: so everything below an object follows right after it in the order of bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Names(Bytes);

impl Names {
    /// The names of a path; empty ones and `.` are left out.
    pub(crate) fn parse(path: &[u8]) -> Result<Self> {
        if path.len() > BYTES_MAX {
            return Err(Error::Usage("the path is too long"));
        }
        if path.contains(&0) {
            return Err(Error::Usage("a path holds no zero byte"));
        }
        let mut joined = BytesMut::with_capacity(path.len());
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".") {
            if name == b".." {
                return Err(Error::Usage("a path of a batch has no `..`"));
            }
            if !joined.is_empty() {
                joined.put_u8(0);
            }
            joined.put_slice(name);
        }
        Ok(Self(joined.freeze()))
    }

    /// The length of its path.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    /// True for the start itself.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The object `name` in this directory.
    pub(crate) fn child(&self, name: &FileName) -> Self {
        self.join(name)
    }

    /// As [`Names::child`], of a name that another value of this type has brought.
    pub(super) fn join(&self, name: &[u8]) -> Self {
        if self.is_empty() {
            return Self(Bytes::copy_from_slice(name));
        }
        let mut joined = BytesMut::with_capacity(self.0.len() + 1 + name.len());
        joined.put_slice(&self.0);
        joined.put_u8(0);
        joined.put_slice(name);
        Self(joined.freeze())
    }

    /// The directory and the name in it; `None` for the start.
    pub(crate) fn split_last(&self) -> Option<(Self, Bytes)> {
        if self.is_empty() {
            return None;
        }
        Some(match self.0.iter().rposition(|byte| *byte == 0) {
            Some(cut) => (Self(self.0.slice(..cut)), self.0.slice(cut + 1..)),
            None => (Self::default(), self.0.clone()),
        })
    }

    /// The names one after the other.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Bytes> + '_ {
        let parts = self.0.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        parts.map(|name| self.0.slice_ref(name))
    }

    /// This and every directory above it, the start last.
    pub(crate) fn upwards(&self) -> impl Iterator<Item = Self> + use<> {
        let mut next = Some(self.clone());
        std::iter::from_fn(move || {
            let this = next.take()?;
            next = this.split_last().map(|(dir, _)| dir);
            Some(this)
        })
    }

    /// True when `self` is `above` or below it.
    pub(crate) fn is_within(&self, above: &Self) -> bool {
        above.is_empty()
            || self
                .0
                .strip_prefix(&above.0[..])
                .is_some_and(|rest| rest.first().is_none_or(|byte| *byte == 0))
    }

    /// With slashes, as a caller reads it.
    pub(crate) fn to_path(&self) -> Bytes {
        self.0.iter().map(|byte| if *byte == 0 { b'/' } else { *byte }).collect()
    }

    /// The bounds between which everything below lies, in the order of bytes.
    pub(crate) fn below(&self) -> (Bound<Self>, Bound<Self>) {
        if self.is_empty() {
            return (Bound::Excluded(Self::default()), Bound::Unbounded);
        }
        let end = |byte: u8| {
            let mut bound = BytesMut::from(&self.0[..]);
            bound.put_u8(byte);
            Self(bound.freeze())
        };
        (Bound::Excluded(end(0)), Bound::Excluded(end(1)))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::RangeBounds;

    use super::*;

    fn names(path: &str) -> Names {
        Names::parse(path.as_bytes()).unwrap()
    }

    #[test]
    fn a_path_is_its_names() {
        assert_eq!(names("//a/./b/"), names("a/b"));
        assert_eq!(names("a/b").iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(names("a/b").to_path(), "a/b");
        assert!(names("/").is_empty());
        assert!(Names::parse(b"a/../b").is_err() && Names::parse(b"a\0b").is_err());
        let name = |name: &'static str| FileName::new(name).unwrap();
        assert_eq!(names("").child(&name("a")).child(&name("b")), names("a/b"));
    }

    #[test]
    fn descendants_follow_in_order_without_siblings() {
        for (path, is_below) in
            [("a", false), ("a/b", true), ("a/\u{1}", true), ("a\u{1}", false), ("ab", false)]
        {
            let path = names(path);
            assert_eq!(names("a").below().contains(&path), is_below, "{path:?}");
            assert_eq!(path.is_within(&names("a")), is_below || path == names("a"), "{path:?}");
            assert!(names("").below().contains(&path) && path.is_within(&names("")));
        }
        assert!(!names("").below().contains(&names("")));
    }

    #[test]
    fn upwards_ends_at_the_start() {
        let all: Vec<_> = names("a/b").upwards().collect();
        assert_eq!(all, [names("a/b"), names("a"), names("")]);
    }
}
