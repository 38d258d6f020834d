//! Operations on data are for regular files only.

use proto::nfs4::Status;
use vfs::{Attributes, FileKind, FileSystem};

use crate::nfs4::engine::context::Object;
use crate::nfs4::engine::status;

/// The status for an operation on data of an object of this kind (RFC 8881 §18.22.3, §18.32.3).
pub(crate) fn wrong_kind(kind: FileKind) -> Option<Status> {
    match kind {
        FileKind::Regular => None,
        FileKind::Directory => Some(Status::IsDirectory),
        FileKind::Symlink => Some(Status::Symlink),
        _ => Some(Status::WrongType),
    }
}

/// As [`check`], where any other kind is the wrong type (RFC 7862 §15.1.3, §15.2.3, §15.4.3, §15.13.3).
pub(crate) async fn check_only<F: FileSystem>(object: &Object<'_, F>) -> Result<Attributes, Status> {
    let attributes = object.attributes().await.map_err(status::of)?;
    if attributes.kind == FileKind::Regular { Ok(attributes) } else { Err(Status::WrongType) }
}

/// The attributes of `object` if it is a regular file.
pub(crate) async fn check<F: FileSystem>(object: &Object<'_, F>) -> Result<Attributes, Status> {
    let attributes = object.attributes().await.map_err(status::of)?;
    match wrong_kind(attributes.kind) {
        None => Ok(attributes),
        Some(status) => Err(status),
    }
}
