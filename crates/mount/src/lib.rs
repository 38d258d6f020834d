//! An NFS tree as a file system of this machine: FUSE over the NFS client, without a module of the kernel and
//! without root.
//!
//! [`Mount::start`] shows the tree of a [`client::Client`] in a directory. It owns the translation between
//! what the kernel asks and what the client offers, and what of the kernel's caches is dropped when; it knows
//! nothing of either version of NFS, and keeps no data of its own.

#![forbid(unsafe_code)]

mod background;
mod callers;
mod convert;
mod directories;
mod ends;
mod errno;
mod files;
mod filesystem;
mod handles;
mod hidden;
mod inodes;
mod locks;
mod mapped;
mod names;
mod notices;
mod objects;
mod options;
mod pages;
mod pruning;
mod ranges;
mod replies;
mod session;
mod set_id;
mod tree;
mod turns;
mod xattrs;

pub use options::{Flag, MountOptions, OptionError};
pub use session::{Error, Mount, Unmounter};
