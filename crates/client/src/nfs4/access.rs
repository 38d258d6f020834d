//! GETATTR, SETATTR, ACCESS, and the attributes of file systems.

use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::{AccessArgs, AccessResult, GetAttrArgs, Operation, SetAttrArgs, StateId};
use xdr::{Encode, Encoder};

use super::Mount;
use super::convert::values;
use super::send::Kind;
use crate::attributes::{Access, Attributes, FsStat, SetAttributes};
use crate::error::Result;
use crate::file::OpenFile;
use crate::node::Handle;
use crate::protocol::Effect;

const SPACE_ATTRIBUTES: Bitmap = Bitmap::of(&[
    AttributeId::SpaceTotal,
    AttributeId::SpaceFree,
    AttributeId::SpaceAvail,
    AttributeId::FilesTotal,
    AttributeId::FilesFree,
]);

/// SETATTR's arguments with the attributes behind them (RFC 8881 §18.30.1).
pub(super) struct SetAttrWith<'a>(pub(super) SetAttrArgs, pub(super) &'a AttributeValues);

impl Encode for SetAttrWith<'_> {
    fn encode(&self, to: &mut Encoder) {
        to.put(&self.0);
        to.put(self.1);
    }
}

impl Mount {
    pub(crate) async fn attributes(&self, object: &Handle) -> Result<Attributes> {
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::GetAttr), |operations| {
                operations.put_fh(object).get_attr();
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.attributes()
    }

    pub(crate) async fn set_attributes(
        &self,
        object: &Handle,
        set: &SetAttributes,
        file: Option<&OpenFile>,
    ) -> Result<Effect> {
        let values = values(set);
        let Some(file) = file.filter(|file| set.size.is_some() && file.writable) else {
            return self.set_attributes_with(object, &values, Kind::repeatable, StateId::ANONYMOUS).await;
        };
        let mut attempts = 0;
        loop {
            let used = self.io_state(file).await?;
            let kind = |principal| Kind::repeatable(principal).in_epoch(used.1);
            match self.set_attributes_with(object, &values, kind, used.0).await {
                Err(error) => self.after_state_error(file, used, error, &mut attempts)?,
                done => return done,
            }
        }
    }

    async fn set_attributes_with(
        &self,
        object: &Handle,
        values: &AttributeValues,
        kind: impl Fn(Operation) -> Kind,
        state_id: StateId,
    ) -> Result<Effect> {
        let mut results = self
            .core
            .compound(kind(Operation::SetAttr), |operations| {
                let args = SetAttrWith(SetAttrArgs { state_id }, values);
                operations.put_fh(object).put(Operation::SetAttr, &args).get_attr();
            })
            .await?;
        results.done(Operation::PutFh)?;
        let _set: Bitmap = results.get(Operation::SetAttr)?;
        Ok(Effect::Around { before: None, after: results.attributes().ok() })
    }

    pub(crate) async fn access(
        &self,
        object: &Handle,
        wanted: Access,
    ) -> Result<(Access, Option<Attributes>)> {
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::Access), |operations| {
                operations.put_fh(object).put(Operation::Access, &AccessArgs { access: wanted.0 }).get_attr();
            })
            .await?;
        results.done(Operation::PutFh)?;
        let granted: AccessResult = results.get(Operation::Access)?;
        Ok((Access(granted.access & granted.supported), results.attributes().ok()))
    }

    pub(crate) async fn fs_stat(&self, object: &Handle) -> Result<FsStat> {
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::GetAttr), |operations| {
                operations.put_fh(object).put(Operation::GetAttr, &GetAttrArgs { wanted: SPACE_ATTRIBUTES });
            })
            .await?;
        results.done(Operation::PutFh)?;
        let space: AttributeValues = results.get(Operation::GetAttr)?;
        Ok(FsStat {
            total_bytes: space.space_total.unwrap_or(0),
            free_bytes: space.space_free.unwrap_or(0),
            available_bytes: space.space_avail.unwrap_or(0),
            total_files: space.files_total.unwrap_or(0),
            free_files: space.files_free.unwrap_or(0),
        })
    }
}
