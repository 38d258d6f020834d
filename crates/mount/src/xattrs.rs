//! Extended attributes: those of users, which are all that NFS has (RFC 8276), and it has them from NFSv4.2
//! on.

use bytes::Bytes;
use client::XattrMode;
use fuser::Errno;

use crate::errno::{self, Result};
use crate::tree::Tree;

/// What the names of users' attributes begin with here, and not on the wire (RFC 8276 §8.1).
const PREFIX: &[u8] = b"user.";
/// Flags of setxattr(2).
const CREATE: i32 = 1;
const REPLACE: i32 = 2;

impl Tree {
    pub(crate) async fn get_xattr(&self, number: u64, name: &[u8]) -> Result<Bytes> {
        let inode = self.inodes.get(number)?;
        let value = inode.object.xattr(wire_name(name)?).await.map_err(errno::of)?;
        value.ok_or(Errno::ENODATA)
    }

    pub(crate) async fn set_xattr(&self, number: u64, name: &[u8], value: Bytes, flags: i32) -> Result<()> {
        let inode = self.inodes.get(number)?;
        let mode = match flags {
            0 => XattrMode::Either,
            CREATE => XattrMode::Create,
            REPLACE => XattrMode::Replace,
            _ => return Err(Errno::EINVAL),
        };
        inode.object.set_xattr(wire_name(name)?, value, mode).await.map_err(errno::of)
    }

    /// The names, each with a zero byte behind it.
    pub(crate) async fn list_xattrs(&self, number: u64) -> Result<Bytes> {
        let inode = self.inodes.get(number)?;
        let names = match inode.object.list_xattrs().await {
            Ok(names) => names,
            // An object without any and a server without any look alike to programs that copy.
            Err(error) if error.kind() == std::io::ErrorKind::Unsupported => Vec::new(),
            Err(error) => return Err(errno::of(error)),
        };
        Ok(names.iter().flat_map(|name| [PREFIX, name, b"\0"].concat()).collect())
    }

    pub(crate) async fn remove_xattr(&self, number: u64, name: &[u8]) -> Result<()> {
        let inode = self.inodes.get(number)?;
        inode.object.remove_xattr(wire_name(name)?).await.map_err(errno::of)
    }
}

fn wire_name(name: &[u8]) -> Result<&[u8]> {
    match name.strip_prefix(PREFIX) {
        Some(b"") => Err(Errno::EINVAL),
        Some(name) => Ok(name),
        None => Err(Errno::EOPNOTSUPP),
    }
}
