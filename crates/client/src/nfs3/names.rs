//! LOOKUP, READLINK, MKDIR, SYMLINK, REMOVE, RMDIR, RENAME, LINK.

use bytes::Bytes;
use proto::nfs3;
use proto::nfs3::Status::{Exists, NoEntry};

use super::Mount;
use super::convert::{attributes, effect, from_handle};
use super::transport::failure;
use crate::error::Result;
use crate::node::Handle;
use crate::protocol::{Effect, FoundObject, NewObject};

/// The longest name that servers take, as the kernels of Linux have it.
const NAME_BYTES_MAX: usize = 255;

/// Handle and attributes of what was made, and what became of its directory.
type Made = (nfs3::PostOpHandle, nfs3::PostOpAttributes, nfs3::WccData);

impl Mount {
    pub(crate) async fn look_up(&self, dir: &Handle, names: &[Bytes]) -> (Vec<FoundObject>, Result<()>) {
        let mut found = Vec::new();
        for name in names {
            let dir = found.last().map_or(dir, |found: &FoundObject| &found.handle);
            match self.look_up_one(dir, name).await {
                Ok(object) => found.push(object),
                Err(error) => return (found, Err(error)),
            }
        }
        (found, Ok(()))
    }

    pub(super) async fn look_up_one(&self, dir: &Handle, name: &Bytes) -> Result<FoundObject> {
        let ok = self.transport.ok(&nfs3::LookupArgs { what: self.place(dir, name)? }).await?;
        self.found(ok.object, ok.attributes).await
    }

    pub(crate) async fn read_link(&self, object: &Handle) -> Result<Bytes> {
        let symlink = self.handle(object)?;
        Ok(self.transport.ok(&nfs3::ReadLinkArgs { symlink }).await?.target)
    }

    pub(crate) async fn make(
        &self,
        dir: &Handle,
        name: &Bytes,
        object: &NewObject,
        mode: u32,
    ) -> Result<(Option<FoundObject>, Effect)> {
        let place = self.place(dir, name)?;
        let set = nfs3::SetAttributes { mode: Some(mode), ..nfs3::SetAttributes::default() };
        let (handle, after, wcc) = match object {
            NewObject::Directory => {
                let ok = self.transport.once(&nfs3::MkDirArgs { place, attributes: set }, Exists).await?;
                (ok.object, ok.attributes, ok.dir)
            }
            NewObject::Symlink(target) => {
                let args = nfs3::SymlinkArgs { place, attributes: set, target: target.clone() };
                let ok = self.transport.once(&args, Exists).await?;
                (ok.object, ok.attributes, ok.dir)
            }
            NewObject::Fifo => self.make_node(place, nfs3::MkNodData::Fifo(set)).await?,
            NewObject::Socket => self.make_node(place, nfs3::MkNodData::Socket(set)).await?,
            NewObject::Block(major, minor) => {
                let data = nfs3::DeviceData { attributes: set, device: device(*major, *minor) };
                self.make_node(place, nfs3::MkNodData::Block(data)).await?
            }
            NewObject::Character(major, minor) => {
                let data = nfs3::DeviceData { attributes: set, device: device(*major, *minor) };
                self.make_node(place, nfs3::MkNodData::Character(data)).await?
            }
        };
        let found = match (handle, after) {
            (Some(handle), Some(after)) => {
                Some(FoundObject { handle: from_handle(&handle), attributes: attributes(&after) })
            }
            _ => None,
        };
        Ok((found, effect(&wcc)))
    }

    async fn make_node(&self, place: nfs3::DirOpArgs, what: nfs3::MkNodData) -> Result<Made> {
        let ok = self.transport.ok(&nfs3::MkNodArgs { place, what }).await?;
        Ok((ok.object, ok.attributes, ok.dir))
    }

    pub(crate) async fn remove(&self, dir: &Handle, name: &Bytes, directory: bool) -> Result<Effect> {
        let object = self.place(dir, name)?;
        let dir = match directory {
            true => self.transport.once(&nfs3::RmDirArgs { object }, NoEntry).await?.dir,
            false => self.transport.once(&nfs3::RemoveArgs { object }, NoEntry).await?.dir,
        };
        Ok(effect(&dir))
    }

    pub(crate) async fn rename(
        &self,
        from: (&Handle, &Bytes),
        to: (&Handle, &Bytes),
    ) -> Result<(Effect, Effect)> {
        let args = nfs3::RenameArgs { from: self.place(from.0, from.1)?, to: self.place(to.0, to.1)? };
        let ok = self.transport.once(&args, NoEntry).await?;
        Ok((effect(&ok.from_dir), effect(&ok.to_dir)))
    }

    pub(crate) async fn link(&self, object: &Handle, dir: &Handle, name: &Bytes) -> Result<Effect> {
        let args = nfs3::LinkArgs { file: self.handle(object)?, link: self.place(dir, name)? };
        Ok(effect(&self.transport.once(&args, Exists).await?.dir))
    }

    /// A longer name than any server takes is not asked for: to the server of Linux such a call makes no
    /// sense at all.
    pub(super) fn place(&self, dir: &Handle, name: &Bytes) -> Result<nfs3::DirOpArgs> {
        if name.len() > NAME_BYTES_MAX {
            return Err(failure(nfs3::Procedure::Lookup, nfs3::Status::NameTooLong));
        }
        Ok(nfs3::DirOpArgs { dir: self.handle(dir)?, name: name.clone() })
    }

    /// Attributes are optional in replies; an object is of no use without.
    pub(super) async fn found(
        &self,
        object: nfs3::FileHandle,
        known: nfs3::PostOpAttributes,
    ) -> Result<FoundObject> {
        let known = match known {
            Some(known) => known,
            None => self.transport.ok(&nfs3::GetAttrArgs { object }).await?.attributes,
        };
        Ok(FoundObject { handle: from_handle(&object), attributes: attributes(&known) })
    }
}

fn device(major: u32, minor: u32) -> nfs3::Device {
    nfs3::Device { major, minor }
}
