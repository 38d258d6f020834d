//! `change_info4`: the change attribute of a directory around an operation (RFC 8881 §3.3.6).

use proto::nfs4::{ChangeInfo, Status};
use vfs::FileSystem;

use crate::nfs4::engine::context::Object;
use crate::nfs4::engine::status;

/// The change attribute before an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangeBefore(u64);

impl ChangeBefore {
    pub(crate) async fn of<F: FileSystem>(directory: &Object<'_, F>) -> Result<Self, Status> {
        Ok(Self(current(directory).await?))
    }

    /// Nothing was changed.
    pub(crate) fn unchanged(self) -> ChangeInfo {
        ChangeInfo { atomic: true, before: self.0, after: self.0 }
    }

    /// Other changes may have come between, so the pair never claims to be atomic.
    pub(crate) async fn after<F: FileSystem>(self, directory: &Object<'_, F>) -> Result<ChangeInfo, Status> {
        Ok(ChangeInfo { atomic: false, before: self.0, after: current(directory).await? })
    }
}

async fn current<F: FileSystem>(directory: &Object<'_, F>) -> Result<u64, Status> {
    Ok(directory.attributes().await.map_err(status::of)?.change)
}
