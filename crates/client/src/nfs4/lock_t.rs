//! LOCKT (RFC 8881 §18.11): who would be in the way of a lock.

use proto::nfs4::{LockDenied, LockTArgs, LockType, Operation, Status};

use super::Mount;
use super::compound::status_of;
use super::open::owner_of;
use super::send::Kind;
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::lock::{Conflict, LockKind, from_wire};

impl Mount {
    /// A lock of others that forbids this one, if there is any.
    pub(crate) async fn test_lock(
        &self,
        file: &OpenFile,
        offset: u64,
        length: u64,
        kind: LockKind,
    ) -> Result<Option<Conflict>> {
        let kind = match kind {
            LockKind::Shared => LockType::Read,
            LockKind::Exclusive => LockType::Write,
        };
        let args = LockTArgs { kind, offset, length, owner: owner_of(file.id) };
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::LockT), |operations| {
                operations.put_fh(&file.node.handle).put(Operation::LockT, &args);
            })
            .await?;
        results.done(Operation::PutFh)?;
        match results.done(Operation::LockT) {
            Ok(()) => Ok(None),
            Err(error) if status_of(&error) == Some(Status::Denied) => {
                let broken = |error: xdr::Error| Error::misbehaved("LOCKT", error);
                let denied: LockDenied = results.reader.body().get().map_err(broken)?;
                let kind = match denied.kind.is_exclusive() {
                    true => LockKind::Exclusive,
                    false => LockKind::Shared,
                };
                Ok(Some(Conflict { range: from_wire(denied.offset, denied.length), kind }))
            }
            Err(error) => Err(error),
        }
    }
}
