//! XDR, the external data representation of RFC 4506, for peers that nobody trusts.
//!
//! Decoding borrows: opaque data comes back as a [`Bytes`] slice of the record it arrived in. Every variable
//! length has a maximum, memory is only reserved for data that is present, and no input can cause a panic.
//! Encoding appends to one contiguous buffer. This crate knows no I/O and no protocol.
//!
//! `#[derive(Xdr)]` writes both directions for structs, enums and discriminated unions:
//!
//! ```
//! use bytes::Bytes;
//! use xdr::{Decode, Encode, Xdr};
//!
//! #[derive(Debug, PartialEq, Xdr)]
//! struct Entry {
//!     id: u64,
//!     #[xdr(max = 255)]
//!     name: Bytes,
//!     kind: Kind,
//!     target: Target,
//! }
//!
//! #[derive(Debug, PartialEq, Clone, Copy, Xdr)]
//! enum Kind {
//!     File = 1,
//!     Link = 5,
//! }
//!
//! #[derive(Debug, PartialEq, Xdr)]
//! enum Target {
//!     #[xdr(case = 0)]
//!     None,
//!     #[xdr(case = 1)]
//!     Path(#[xdr(max = 1024)] Bytes),
//! }
//!
//! let entry = Entry { id: 7, name: Bytes::from_static(b"a"), kind: Kind::Link, target: Target::None };
//! let encoded = xdr::to_bytes(&entry);
//! assert_eq!(encoded.len(), 8 + 8 + 4 + 4);
//! assert_eq!(xdr::from_bytes::<Entry>(encoded).unwrap(), entry);
//! ```

#![forbid(unsafe_code)]

mod decoder;
mod encoder;
mod error;
mod fixed;
mod impls;
mod list;
mod traits;

pub use bytes::Bytes;
pub use decoder::Decoder;
pub use encoder::{Encoder, Mark};
pub use error::{Error, ErrorKind, Result};
pub use fixed::Fixed;
pub use list::List;
pub use traits::{Decode, DecodeBounded, Encode, from_bytes, to_bytes};
pub use xdr_derive::Xdr;
