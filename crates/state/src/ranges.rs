//! Byte ranges and their lock-owners.

use bytes::Bytes;
use proto::nfs4::{ClientId, Status};

/// A range of bytes, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    start: u64,
    end: u64,
}

/// A byte range and the mode in which it is locked (RFC 8881 §9.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRangeLock {
    /// The bytes.
    pub range: Range,
    /// False for a shared (read) lock.
    pub exclusive: bool,
}

impl Range {
    /// Every byte there can be.
    pub const ALL: Self = Self { start: 0, end: u64::MAX };

    /// `length` bytes from `offset`; a length of all ones reaches to the end of the file, however long.
    ///
    /// # Errors
    /// INVAL for no bytes, or for more than fit 64 bits (RFC 8881 §18.10.3).
    pub fn new(offset: u64, length: u64) -> Result<Self, Status> {
        let end = match length {
            0 => return Err(Status::Invalid),
            u64::MAX => u64::MAX,
            length => offset.checked_add(length).ok_or(Status::Invalid)? - 1,
        };
        Ok(Self { start: offset, end })
    }

    /// As NLM has it: a length of 0 reaches to the end.
    ///
    /// # Errors
    /// INVAL for more bytes than fit 64 bits.
    pub fn of_nlm(offset: u64, length: u64) -> Result<Self, Status> {
        Self::new(offset, if length == 0 { u64::MAX } else { length })
    }

    /// First byte.
    pub fn offset(&self) -> u64 {
        self.start
    }

    /// Bytes; all ones to the end.
    pub fn length(&self) -> u64 {
        if self.end == u64::MAX { u64::MAX } else { self.end - self.start + 1 }
    }

    /// True when a byte is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// From `start` to `end`, both included; `start` is not beyond `end`.
    pub(crate) fn between(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// The last byte.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The bytes that are in both, which overlap.
    pub(crate) fn cut_to(&self, other: &Self) -> Self {
        Self { start: self.start.max(other.start), end: self.end.min(other.end) }
    }
}

/// A lock-owner. All of one NFSv4 client, and all of one NLM host, are neighbours in the order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockOwner {
    /// An NFSv4 lock-owner.
    Nfs4 {
        /// Its client.
        client: ClientId,
        /// Its opaque name.
        owner: Bytes,
    },
    /// A process on a host that locks through NLM.
    Nlm {
        /// The caller's host: its address, a space and its name.
        host: Bytes,
        /// Its process.
        process: i32,
        /// Its opaque owner handle.
        handle: Bytes,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_bounds() {
        assert_eq!(Range::new(0, 0), Err(Status::Invalid));
        assert_eq!(Range::new(2, u64::MAX - 1), Err(Status::Invalid));
        assert_eq!(Range::new(5, u64::MAX).unwrap().length(), u64::MAX);
        assert_eq!(Range::new(1, u64::MAX - 1).unwrap().length(), u64::MAX - 1);
        assert_eq!(Range::of_nlm(5, 0).unwrap(), Range::new(5, u64::MAX).unwrap());
    }
}
