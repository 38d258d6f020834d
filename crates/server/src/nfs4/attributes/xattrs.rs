//! What the operations on extended attributes (RFC 8276) have in common.

use bytes::Bytes;
use proto::nfs4::{SetXattrOption, Status};
use vfs::{Error, FileSystem, XattrName};

use crate::nfs4::engine::context::Object;

/// Checks that objects of this file system have extended attributes, and the name of one.
///
/// # Errors
/// NOTSUPP (§8.4); INVAL, BADCHAR and NAMETOOLONG for what cannot be a name.
pub(crate) fn checked<'n, F: FileSystem>(
    object: &Object<'_, F>,
    name: &'n Bytes,
) -> Result<XattrName<'n>, Status> {
    check_supported(object)?;
    match XattrName::new(name) {
        Ok(name) => Ok(name),
        Err(Error::NameTooLong) => Err(Status::NameTooLong),
        Err(_) if name.is_empty() => Err(Status::Invalid),
        Err(_) => Err(Status::BadCharacter),
    }
}

pub(crate) fn check_supported<F: FileSystem>(object: &Object<'_, F>) -> Result<(), Status> {
    if object.fs().capabilities().xattrs { Ok(()) } else { Err(Status::NotSupported) }
}

/// False when setting an attribute so must fail, as far as the superuser can see.
pub(crate) async fn may_set<F: FileSystem>(
    object: &Object<'_, F>,
    name: XattrName<'_>,
    option: SetXattrOption,
) -> bool {
    let found = object.fs().get_xattr(object.request_of_server(), &object.node, name).await;
    match option {
        SetXattrOption::Either => true,
        SetXattrOption::Create => matches!(found, Err(Error::NoXattr)),
        SetXattrOption::Replace => found.is_ok(),
    }
}
