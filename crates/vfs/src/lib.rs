//! The file system behind a server: what a back end must offer, in NFS terms but without NFS types.
//!
//! A back end implements [`FileSystem`]. It owns names, attributes, data and durability, and it enforces the
//! permissions of the caller it is given. It knows nothing of protocols, exports, opens, locks or
//! delegations; those live above it.

pub mod conformance;
#[cfg(target_os = "linux")]
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "files, threads and their clock")]
pub mod local;
pub mod memory;

mod any;
mod attributes;
mod border;
mod capabilities;
mod defaults;
mod either;
mod error;
mod file_system;
mod handle;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // It keeps the key in a file.
mod handle_key;
mod identity;
mod layer;
mod methods;
mod name;
mod permissions;
mod request;
mod seal;
mod sealed;
mod settling;
mod watch;
mod xattr;

pub use any::{AnyFileSystem, AnyNode};
pub use attributes::{Access, Attributes, DeviceNumber, FileKind, SetAttributes, SetTime, StatFs, Timestamp};
pub use capabilities::{Capabilities, Support};
pub use either::{Either, EitherNode};
pub use error::{Error, Result};
pub use file_system::{
    ChangeKind, Committed, Content, CreateMode, Created, DirEntry, DirPage, FileSystem, Limits, NodeKind,
    ReadDone, RemoveKind, Span, Stability, Written,
};
pub use handle::{Handle, ObjectId};
pub use handle_key::KEY_FILE;
use handle_key::handle_key;
pub use identity::Identity;
pub use layer::Layer;
pub use name::Name;
pub use request::{Line, OnlyRequest, Request};
pub use seal::Seal;
pub use sealed::Sealed;
pub use settling::Settling;
pub use watch::{ObservedChange, Tell, Watch};
pub use xattr::{XATTR_BYTES_MAX, XattrMode, XattrName};
