//! GETXATTR (RFC 8276 §8.4.1).

use bytes::Bytes;
use proto::nfs4::{GetXattrArgs, GetXattrResult, Operation, Status};

use super::Mount;
use super::compound::status_of;
use super::send::Kind;
use crate::error::Result;
use crate::node::Handle;

impl Mount {
    /// `None` when there is none of that name.
    pub(crate) async fn get_xattr(&self, object: &Handle, name: &Bytes) -> Result<Option<Bytes>> {
        let args = GetXattrArgs { name: name.clone() };
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::GetXattr), |operations| {
                operations.put_fh(object).put(Operation::GetXattr, &args);
            })
            .await?;
        results.done(Operation::PutFh)?;
        match results.get::<GetXattrResult>(Operation::GetXattr) {
            Ok(found) => Ok(Some(found.value)),
            Err(error) if status_of(&error) == Some(Status::NoXattr) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
