//! Why the library or a context of it cannot be used.

/// The two status values of a failed call (RFC 2744 §3.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The part that the GSS-API defines.
    pub major: u32,
    /// The mechanism's part.
    pub minor: u32,
}

/// Why the library or a context of it cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no library.
    #[error(
        "there is no Kerberos library ({tried}); install libgssapi-krb5-2 (Debian) or krb5-libs (Fedora)"
    )]
    NoLibrary {
        /// The names that were tried, with the loader's message for the last one.
        tried: String,
    },
    /// The library lacks a function.
    #[error("the Kerberos library has no {name}; use MIT Kerberos 1.11 or later")]
    NoFunction {
        /// Its name.
        name: &'static str,
    },
    /// A name or a path has a zero byte.
    #[error("{0:?} has a zero byte")]
    ZeroByte(String),
    /// A call of the library failed.
    #[error("{call}: {message}")]
    Failed {
        /// The attempt in words, such as "the key of the service".
        call: &'static str,
        /// Both of its status values.
        status: Status,
        /// The library's message.
        message: String,
    },
    /// The context is of a kind that this program does not know.
    #[error("the context has the protocol {protocol} and the encryption type {enctype}, which are not known")]
    Unknown {
        /// 0 for the tokens of RFC 1964, 1 for those of RFC 4121.
        protocol: u32,
        /// The number of the encryption type (RFC 3961 §8).
        enctype: u32,
    },
}
