//! READ (RFC 8881 §18.22).

use proto::nfs4::{Operation, ReadArgs, Status};
use vfs::{FileKind, FileSystem};
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{Descriptor, SOME_DATA_BYTES};
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, decode};
use crate::nfs4::engine::status;
use crate::nfs4::engine::transfer;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { room_bytes: SOME_DATA_BYTES, ..Descriptor::looks(Operation::Read) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(run(context, decode(arguments)?, reply).await?)
}

/// Appends the result's body: the data goes from the back end straight into the reply.
async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: ReadArgs,
    reply: &mut Encoder,
) -> Result<(), Status> {
    let state_id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    let _using = conflict::before_read(context, object, &state_id).await?;
    let identity = context.identity(object)?;
    let count = transfer::bytes(arguments.count, context.reply_room);
    context.call.connection.expect_reply(count);
    let eof = reply.reserve_u32();
    let data = reply.begin_opaque();
    let read = object
        .fs()
        .read(object.request(&identity), &object.node, arguments.offset, count, reply.buffer_mut())
        .await;
    match read {
        Ok(done) => {
            reply.end_opaque(data);
            reply.fill_u32(eof, u32::from(done.eof));
            Ok(())
        }
        Err(error) => Err(wrong_kind(object, error).await),
    }
}

/// The back end's words for reading what is no regular file differ; the protocol's do not.
async fn wrong_kind<F: FileSystem>(
    object: &crate::nfs4::engine::context::Object<'_, F>,
    error: vfs::Error,
) -> Status {
    match object.attributes().await {
        Ok(attributes) if attributes.kind != FileKind::Regular => {
            regular::wrong_kind(attributes.kind).unwrap_or(Status::Invalid)
        }
        _ => status::of(error),
    }
}
