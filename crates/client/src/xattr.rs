//! Extended attributes of objects (RFC 8276).

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use proto::nfs4::{self, SetXattrArgs, SetXattrOption};

use crate::error::{Error, Result};
use crate::node::Node;
use crate::options::Version;
use crate::shared::Shared;

/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Whether an extended attribute may, must or must not be there before it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum XattrMode {
    /// It may.
    #[default]
    Either,
    /// It must not: [`std::io::ErrorKind::AlreadyExists`] when it is.
    Create,
    /// It must: [`std::io::ErrorKind::NotFound`] when it is not.
    Replace,
}

impl Shared {
    /// NFSv4.2's part.
    pub(crate) fn minor_version_2(&self, operation: &'static str) -> Result<&crate::nfs4::Mount> {
        match self.protocol().as_v4() {
            Some(mount) if self.version >= Version::V4_2 => Ok(mount),
            _ => Err(Error::Unsupported { operation, version: self.version }),
        }
    }

    /// The value, or `None` when there is none of that name.
    pub(crate) async fn get_xattr(&self, node: &Node, name: &[u8]) -> Result<Option<Bytes>> {
        self.minor_version_2("GETXATTR")?.get_xattr(&node.handle, &checked_name(name)?).await
    }

    pub(crate) async fn set_xattr(
        &self,
        node: &Arc<Node>,
        name: &[u8],
        value: Bytes,
        mode: XattrMode,
    ) -> Result<()> {
        self.check_writable()?;
        let mount = self.minor_version_2("SETXATTR")?;
        if value.len() > nfs4::XATTR_BYTES_MAX as usize {
            return Err(Error::server("SETXATTR", nfs4::Status::XattrTooBig));
        }
        let option = match mode {
            XattrMode::Either => SetXattrOption::Either,
            XattrMode::Create => SetXattrOption::Create,
            XattrMode::Replace => SetXattrOption::Replace,
        };
        let args = SetXattrArgs { option, name: checked_name(name)?, value };
        self.protocol().before_change(node).await?;
        let asked = Instant::now();
        let effect = mount.set_xattr(&node.handle, &args).await?;
        self.learn_effect(node, effect, asked);
        Ok(())
    }

    /// The names, in the server's order.
    pub(crate) async fn list_xattrs(&self, node: &Node) -> Result<Vec<Bytes>> {
        let mut names = self.minor_version_2("LISTXATTRS")?.list_xattrs(&node.handle).await?;
        names.retain(|name| {
            let is_name = is_name(name);
            if !is_name {
                self.refusals.add(name);
            }
            is_name
        });
        Ok(names)
    }

    pub(crate) async fn remove_xattr(&self, node: &Arc<Node>, name: &[u8]) -> Result<()> {
        self.check_writable()?;
        let mount = self.minor_version_2("REMOVEXATTR")?;
        let name = checked_name(name)?;
        self.protocol().before_change(node).await?;
        let asked = Instant::now();
        let effect = mount.remove_xattr(&node.handle, &name).await?;
        self.learn_effect(node, effect, asked);
        Ok(())
    }
}

fn is_name(bytes: &[u8]) -> bool {
    (1..=NAME_BYTES_MAX).contains(&bytes.len()) && !bytes.contains(&0)
}

fn checked_name(name: &[u8]) -> Result<Bytes> {
    match is_name(name) {
        true => Ok(Bytes::copy_from_slice(name)),
        false => Err(Error::Usage("the name of an extended attribute has 1 to 255 bytes, none of them zero")),
    }
}
