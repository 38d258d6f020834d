//! NFS version 3 (RFC 1813): one file per procedure, with its arguments and the bodies of its success and
//! failure.

mod access;
mod basic;
mod commit;
mod create;
mod entry_list;
mod fsinfo;
mod fsstat;
mod getattr;
mod link;
mod lookup;
mod mkdir;
mod mknod;
mod pathconf;
mod procedure;
mod read;
mod readdir;
mod readdirplus;
mod readlink;
mod remove;
mod rename;
mod reply;
mod rmdir;
mod setattr;
mod status;
mod symlink;
mod write;

#[cfg(test)]
mod tests;

pub use access::*;
pub use basic::*;
pub use commit::*;
pub use create::*;
pub use entry_list::EntryListWriter;
pub use fsinfo::*;
pub use fsstat::*;
pub use getattr::*;
pub use link::*;
pub use lookup::*;
pub use mkdir::*;
pub use mknod::*;
pub use pathconf::*;
pub use procedure::{Procedure, Request};
pub use read::*;
pub use readdir::*;
pub use readdirplus::*;
pub use readlink::*;
pub use remove::*;
pub use rename::*;
pub use reply::Reply;
pub use rmdir::*;
pub use setattr::*;
pub use status::Status;
pub use symlink::*;
pub use write::*;
