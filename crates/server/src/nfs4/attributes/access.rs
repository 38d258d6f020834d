//! ACCESS (RFC 8881 §18.1; RFC 8276 §8.5).

use proto::nfs4::{AccessArgs, AccessResult, Operation, Status};
use vfs::{Access, FileSystem};
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;
use crate::nfs4::engine::users;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { is_rerun: true, ..Descriptor::looks(Operation::Access) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: AccessArgs,
) -> Result<AccessResult, Status> {
    let object = context.object()?;
    let identity = context.identity(object)?;
    users::before_access(context, object, &identity).await?;
    let has_xattrs = context.minor_version >= 2 && object.fs().capabilities().xattrs;
    let known =
        if has_xattrs { Access::ALL.0 | xattr::READ | xattr::WRITE | xattr::LIST } else { Access::ALL.0 };
    let supported = arguments.access & known;
    let asked = Access(supported & Access::ALL.0 | of_data(supported));
    let mut granted =
        object.fs().access(object.request(&identity), &object.node, asked).await.map_err(status::of)?;
    if context.writable(object).is_err() {
        granted.0 &= !(Access::MODIFY.0 | Access::EXTEND.0 | Access::DELETE.0);
    }
    let xattrs = [xattr::READ, xattr::WRITE, xattr::LIST].into_iter();
    let access = xattrs
        .filter(|right| granted.contains(Access(of_data(*right))))
        .fold(granted.0, |all, right| all | right);
    Ok(AccessResult { supported, access: access & supported })
}

/// Rights to extended attributes (RFC 8276 §8.5).
mod xattr {
    pub(crate) const READ: u32 = 0x40;
    pub(crate) const WRITE: u32 = 0x80;
    pub(crate) const LIST: u32 = 0x100;
}

/// The rights to data that are those to extended attributes as well.
fn of_data(rights: u32) -> u32 {
    let reads = if rights & (xattr::READ | xattr::LIST) != 0 { Access::READ.0 } else { 0 };
    let writes = if rights & xattr::WRITE != 0 { Access::MODIFY.0 } else { 0 };
    reads | writes
}
