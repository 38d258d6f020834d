//! One component of a path, checked once at the border.

use crate::{Error, Result};

/// A file name that may be given to a back end: 1 to 255 bytes, without `/` and NUL, and neither `.` nor
/// `..`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// The longest name in bytes.
    pub const MAX: usize = 255;

    /// Checks `bytes`.
    ///
    /// # Errors
    /// [`Error::NameTooLong`] above 255 bytes; [`Error::InvalidName`] for an empty name, `.`, `..` and for
    /// `/` or NUL anywhere.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        if bytes.len() > Self::MAX {
            return Err(Error::NameTooLong);
        }
        if bytes.is_empty() || bytes == b"." || bytes == b".." || bytes.iter().any(|b| matches!(b, 0 | b'/'))
        {
            return Err(Error::InvalidName);
        }
        Ok(Self(bytes))
    }

    /// The name's bytes.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_what_a_unix_file_system_accepts() {
        for good in [&b"a"[..], b"...", b".x", b"\xff\xfe", &[b'n'; 255]] {
            assert_eq!(Name::new(good).unwrap().as_bytes(), good);
        }
    }

    #[test]
    fn refuses_names_that_leave_a_directory() {
        for bad in [&b""[..], b".", b"..", b"a/b", b"/", b"a\0"] {
            assert!(matches!(Name::new(bad), Err(Error::InvalidName)), "{bad:?}");
        }
        assert!(matches!(Name::new(&[b'n'; 256]), Err(Error::NameTooLong)));
    }
}
