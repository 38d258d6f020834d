//! READ (RFC 1813 §3.3.6): the back end appends the data to the reply itself.

use proto::nfs3::{PostOpAttributes, ReadArgs, ReadFail, Status};
use vfs::FileSystem;
use xdr::Encoder;

use super::context::Context;
use super::object::Object;
use super::{status, transfer};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: ReadArgs,
    reply: &mut Encoder,
) {
    let start = reply.len();
    let mut known = None;
    if let Err(status) = answer(context, &arguments, &mut known, reply).await {
        reply.truncate(start);
        reply.put(&(status, ReadFail { attributes: known }));
    }
}

/// Writes the success. What is learnt of the file is left in `known` for a failure.
async fn answer<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: &ReadArgs,
    known: &mut PostOpAttributes,
    reply: &mut Encoder,
) -> Result<(), Status> {
    let file = context.object(&arguments.file).await?;
    let conflict = context.before_read(&file).await;
    // Taken before the data: were they newer, a client would keep old data as valid for them.
    *known = file.settled().await?;
    conflict?;
    let wanted = arguments.count.min(transfer::DATA_BYTES_MAX) as usize;
    context.expect_reply(wanted);
    read_into(&file, arguments.offset, wanted, *known, reply).await
}

async fn read_into<F: FileSystem>(
    file: &Object<'_, F>,
    offset: u64,
    wanted: usize,
    known: PostOpAttributes,
    reply: &mut Encoder,
) -> Result<(), Status> {
    reply.put(&Status::Ok);
    reply.put(&known);
    let count = reply.reserve_u32();
    let eof = reply.reserve_u32();
    let data = reply.begin_opaque();
    let done = file
        .fs()
        .read(file.request(), &file.node, offset, wanted, reply.buffer_mut())
        .await
        .map_err(status::of_data)?;
    reply.end_opaque(data);
    reply.fill_u32(count, u32::try_from(done.count).expect("a back end reads at most what was asked"));
    reply.fill_u32(eof, u32::from(done.eof));
    Ok(())
}
