//! Why data could not be decoded, and where.

/// The result of decoding.
pub type Result<T> = std::result::Result<T, Error>;

/// A decoding failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct Error {
    /// Byte offset of the item that could not be decoded.
    pub offset: usize,
    /// What was wrong with it.
    pub kind: ErrorKind,
}

/// What was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    /// The data ends before the item does.
    #[error("unexpected end of data")]
    UnexpectedEnd,
    /// A length is above the maximum of its type.
    #[error("length {length} above the maximum {max}")]
    TooLong {
        /// The length found.
        length: u32,
        /// The maximum allowed.
        max: u32,
    },
    /// A boolean is neither 0 nor 1 (RFC 4506 §4.4).
    #[error("{0} is not a boolean")]
    NotBoolean(u32),
    /// A value is not one of the enumeration's, or selects no arm of the union (RFC 4506 §4.3, §4.15).
    #[error("{0} is not a known value")]
    UnknownValue(u32),
    /// Padding that is not zero (RFC 4506 §3).
    #[error("padding is not zero")]
    Padding,
    /// A value breaks a rule of its type.
    #[error("{0}")]
    Invalid(&'static str),
    /// Data is left over after the last item.
    #[error("{0} bytes left over")]
    Trailing(usize),
}
