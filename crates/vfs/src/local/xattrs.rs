//! Extended attributes of the `user.` namespace, which belongs to applications. The kernel enforces their
//! permissions: those of the object's data.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::fs::{XattrFlags, getxattr, listxattr, removexattr, setxattr};

use super::object::Object;
use super::open::proc_path;
use super::{Durability, Export};
use crate::{Error, FileKind, Identity, Line, Request, Result, XATTR_BYTES_MAX, XattrMode, XattrName};

const NAMESPACE: &[u8] = b"user.";

/// The longest list of names that the kernel gives, in bytes.
const LIST_BYTES_MAX: usize = 1 << 16;

impl Export {
    pub(super) fn get_xattr(
        &self,
        identity: &Identity,
        object: &Arc<Object>,
        name: XattrName<'_>,
    ) -> Result<Bytes> {
        let fd = self.as_caller(identity, object)?;
        let mut value = Vec::with_capacity(XATTR_BYTES_MAX);
        getxattr(proc_path(fd.as_fd()), full_name(name), spare_capacity(&mut value))?;
        Ok(Bytes::copy_from_slice(&value))
    }

    pub(super) async fn set_xattr(
        self: &Arc<Self>,
        request: Request<'_>,
        object: &Arc<Object>,
        name: XattrName<'_>,
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        self.check_writable()?;
        if value.len() > XATTR_BYTES_MAX {
            return Err(Error::XattrTooBig);
        }
        let fd = self.as_caller(request.identity, object)?;
        let flags = match mode {
            XattrMode::Either => XattrFlags::empty(),
            XattrMode::Create => XattrFlags::CREATE,
            XattrMode::Replace => XattrFlags::REPLACE,
        };
        self.with_room(|| Ok(setxattr(proc_path(fd.as_fd()), full_name(name), value, flags)?))?;
        self.xattrs_changed(request.line, object).await
    }

    pub(super) fn list_xattrs(&self, identity: &Identity, object: &Arc<Object>) -> Result<Vec<Bytes>> {
        let fd = self.as_caller(identity, object)?;
        // To list names the kernel asks for no permission; what reading one needs is asked for here.
        super::sys::check_access(fd.as_fd(), crate::permissions::READ)?;
        let mut list = Vec::with_capacity(LIST_BYTES_MAX);
        listxattr(proc_path(fd.as_fd()), spare_capacity(&mut list))?;
        let names = list.split(|byte| *byte == 0).filter_map(|name| name.strip_prefix(NAMESPACE));
        Ok(names.filter(|name| !name.is_empty()).map(Bytes::copy_from_slice).collect())
    }

    pub(super) async fn remove_xattr(
        self: &Arc<Self>,
        request: Request<'_>,
        object: &Arc<Object>,
        name: XattrName<'_>,
    ) -> Result<()> {
        self.check_writable()?;
        let fd = self.as_caller(request.identity, object)?;
        removexattr(proc_path(fd.as_fd()), full_name(name))?;
        self.xattrs_changed(request.line, object).await
    }

    /// The descriptor of a file or directory, for a thread that acts for the caller.
    fn as_caller(&self, identity: &Identity, object: &Arc<Object>) -> Result<Arc<OwnedFd>> {
        if !matches!(object.kind, FileKind::Regular | FileKind::Directory) {
            return Err(Error::WrongType);
        }
        let fd = self.path(object)?;
        self.acting.become_caller(identity)?;
        Ok(fd)
    }

    async fn xattrs_changed(self: &Arc<Self>, line: Line<'_>, object: &Arc<Object>) -> Result<()> {
        self.moved(object);
        match self.durability {
            Durability::Sync => self.sync_change(line, object).await,
            Durability::Async => Ok(()),
        }
    }
}

fn full_name(name: XattrName<'_>) -> Vec<u8> {
    [NAMESPACE, name.as_bytes()].concat()
}
