//! Attributes: from a back end's to NFSv4's and back (RFC 8881 §5), and the operations on them.
//! `docs/attributes.md` says which there are, and why.

pub(crate) mod access;
pub(crate) mod get_attr;
pub(crate) mod get_xattr;
pub(crate) mod given;
pub(crate) mod list_xattrs;
pub(crate) mod n_verify;
mod plain;
pub(crate) mod remove_xattr;
mod set;
pub(crate) mod set_attr;
pub(crate) mod set_xattr;
mod sets;
mod values;
pub(crate) mod verify;
mod xattrs;

pub(crate) use set::to_set;
pub(crate) use sets::{
    DELEGATED_TIMES, SETTABLE, SETTABLE_BY_SETATTR, SETTABLE_EXCLUSIVELY, check_supported, not_supported,
    set_on, write_only,
};
pub(crate) use values::{of, of_error};

use proto::nfs4::Status;
use proto::nfs4::attributes::Bitmap;
use vfs::{Attributes, FileSystem};
use xdr::Encoder;

use crate::nfs4::engine::context::{Context, Object};
use plain::Plain;

/// Appends the values of the `wanted` attributes of `object`, of which the file system has found these.
pub(crate) async fn encode<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    found: &Attributes,
    wanted: Bitmap,
    reply: &mut Encoder,
) -> Result<(), Status> {
    if !plain::are_plain(wanted, sets::supported(object.fs(), context.minor_version)) {
        // In a box, as it is large and seldom needed; so are names, below.
        Box::pin(of(context, object, found, wanted)).await?.encode_wanted(wanted, reply);
    } else if context.server.owners().are_numbers() {
        Plain::numbered(object, found, wanted).encode(reply);
    } else {
        let plain = Plain::numbered(object, found, wanted);
        Box::pin(plain.named(context.server.owners())).await.encode(reply);
    }
    Ok(())
}
