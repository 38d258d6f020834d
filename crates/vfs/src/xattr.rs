//! Extended attributes: values that applications keep with an object under names of their own.

use crate::{Error, Result};

/// The longest value in bytes: what Linux can keep.
pub const XATTR_BYTES_MAX: usize = 1 << 16;

/// The name of an extended attribute, without a namespace: what an application calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct XattrName<'a>(&'a [u8]);

impl<'a> XattrName<'a> {
    /// The longest name in bytes: 255 with Linux's `user.` before it.
    pub const MAX: usize = 250;

    /// Checks a name.
    ///
    /// # Errors
    /// `InvalidName` when it is empty or holds NUL, `NameTooLong`.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        if bytes.is_empty() || bytes.contains(&0) {
            return Err(Error::InvalidName);
        }
        if bytes.len() > Self::MAX { Err(Error::NameTooLong) } else { Ok(Self(bytes)) }
    }

    /// The bytes of it.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// Whether an extended attribute may, must or must not be there when it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XattrMode {
    /// It may.
    Either,
    /// It must not: `Exists`.
    Create,
    /// It must: `NoXattr`.
    Replace,
}
