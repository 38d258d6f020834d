//! The reasons to refuse a key, a token or a ciphertext.

use thiserror::Error;

use crate::Enctype;

/// The refusal of a key, a token, a ciphertext or a buffer.
///
/// The kinds are for logs and counters. A peer learns no more than that its token was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Error {
    /// The key has another length than the keys of the encryption type.
    #[error("a key of {enctype} has {} bytes, not {bytes}", .enctype.key_bytes())]
    KeyLength {
        /// The encryption type.
        enctype: Enctype,
        /// Length of the key given.
        bytes: usize,
    },
    /// The token or ciphertext ends before its fixed parts, or the buffer before the room for a header.
    #[error("{bytes} bytes are too few: at least {bytes_min} are needed")]
    TooShort {
        /// Length of the input.
        bytes: usize,
        /// The least length of a token or ciphertext of this kind.
        bytes_min: usize,
    },
    /// The first two bytes do not name the expected kind of token (RFC 4121 §4.2.6).
    #[error("the token identifier is {0:#06x}")]
    WrongTokenId(u16),
    /// A filler byte of the header is not FF (RFC 4121 §4.2.6).
    #[error("a filler byte of the token header is not 0xff")]
    BadFiller,
    /// The token says that the side of this context sent it, as a reflected one does.
    #[error("the token was sent by this side of the context")]
    WrongDirection,
    /// The token says that it uses the acceptor's subkey and the context does not, or the reverse.
    #[error("the token and the context disagree on the acceptor's subkey")]
    WrongSubkey,
    /// A MIC token has the flag of a sealed message (RFC 4121 §4.2.2).
    #[error("a MIC token has the flag of a sealed message")]
    SealedMic,
    /// The MAC is not that of the message.
    #[error("the message authentication code is wrong")]
    BadMac,
    /// The header inside a sealed message differs from the one before it.
    #[error("the sealed token header differs from the one in front")]
    HeaderMismatch,
    /// The extra count is not the length of the checksum, or exceeds the sealed message (RFC 4121 §4.2.3).
    #[error("the extra count {0} does not fit the token")]
    BadExtraCount(u16),
}
