//! GETATTR, SETATTR, ACCESS, FSSTAT: one object, asked about or changed.

use proto::nfs3;

use super::Mount;
use super::convert::{attributes, effect, set_attributes};
use crate::attributes::{Access, Attributes, FsStat, SetAttributes};
use crate::error::Result;
use crate::file::OpenFile;
use crate::node::Handle;
use crate::protocol::Effect;

impl Mount {
    pub(crate) async fn attributes(&self, object: &Handle) -> Result<Attributes> {
        let object = self.handle(object)?;
        let ok = self.transport.ok(&nfs3::GetAttrArgs { object }).await?;
        Ok(attributes(&ok.attributes))
    }

    pub(crate) async fn set_attributes(
        &self,
        object: &Handle,
        set: &SetAttributes,
        _file: Option<&OpenFile>,
    ) -> Result<Effect> {
        let object = self.handle(object)?;
        let args = nfs3::SetAttrArgs { object, attributes: set_attributes(set), guard: None };
        Ok(effect(&self.transport.ok(&args).await?.object))
    }

    pub(crate) async fn access(
        &self,
        object: &Handle,
        wanted: Access,
    ) -> Result<(Access, Option<Attributes>)> {
        let object = self.handle(object)?;
        let ok = self.transport.ok(&nfs3::AccessArgs { object, access: wanted.0 }).await?;
        Ok((Access(ok.access), ok.attributes.as_ref().map(attributes)))
    }

    pub(crate) async fn fs_stat(&self, object: &Handle) -> Result<FsStat> {
        let root = self.handle(object)?;
        let ok = self.transport.ok(&nfs3::FsStatArgs { root }).await?;
        Ok(FsStat {
            total_bytes: ok.total_bytes,
            free_bytes: ok.free_bytes,
            available_bytes: ok.available_bytes,
            total_files: ok.total_files,
            free_files: ok.free_files,
        })
    }
}
