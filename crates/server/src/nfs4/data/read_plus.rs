//! READ_PLUS (RFC 7862 §15.10): data as READ brings it, and holes as their length.

use std::ops::Range;

use proto::nfs4::{DataContent, Operation, ReadPlusArgs, Status};
use vfs::{Content, FileSystem, Identity};
use xdr::{Decoder, Encoder};

use crate::nfs4::data::seek;
use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::descriptor::{Descriptor, SOME_DATA_BYTES};
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, decode};
use crate::nfs4::engine::status;
use crate::nfs4::engine::transfer;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { room_bytes: 2 * SOME_DATA_BYTES, ..Descriptor::looks(Operation::ReadPlus) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(run(context, decode(arguments)?, reply).await?)
}

/// The most parts of one result: a client comes again for the rest of a file with very many holes.
const PARTS_MAX: u32 = 32;

/// What a part takes in the reply beside its data, in bytes.
const PART_BYTES: usize = 4 + 8 + 8 + 3;

/// Appends the result's body.
async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: ReadPlusArgs,
    reply: &mut Encoder,
) -> Result<(), Status> {
    let state_id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    let _using = conflict::before_read(context, object, &state_id).await?;
    let identity = context.identity(object)?;
    let found = regular::check(object).await?;
    // Holes take no room, and so may be longer than the data that there is room for.
    let count = arguments.count.min(transfer::DATA_BYTES_MAX);
    let room = context.reply_room.saturating_sub(PARTS_MAX as usize * PART_BYTES);
    let mut room = transfer::bytes(count, room) as u64;
    context.call.connection.expect_reply(room as usize);
    let end = arguments.offset.saturating_add(u64::from(count)).min(found.size);
    // What has all its blocks has no holes to look for.
    let may_have_holes = found.used < found.size;
    if arguments.offset >= end {
        // Where nothing is read, whether the caller might is checked all the same.
        let nothing = object.fs().read(
            object.request(&identity),
            &object.node,
            arguments.offset,
            0,
            reply.buffer_mut(),
        );
        nothing.await.map_err(status::of)?;
    }
    let (eof, parts) = (reply.reserve_u32(), reply.reserve_u32());
    let (mut at, mut written) = (arguments.offset, 0);
    while at < end && room > 0 && written < PARTS_MAX {
        let next = if may_have_holes { next(object, &identity, at..end).await? } else { Next::Data(end) };
        written += 1;
        match next {
            Next::Hole(until) => {
                reply.put(&(DataContent::Hole, at));
                reply.u64(until - at);
                at = until;
            }
            Next::Data(until) => {
                let until = until.min(at.saturating_add(room));
                let read = put_data(object, &identity, at..until, reply).await?;
                (at, room) = (at + read, room - read.min(room));
                if at < until {
                    // Cut off meanwhile.
                    break;
                }
            }
        }
    }
    reply.fill_u32(parts, written);
    reply.fill_u32(eof, u32::from(at >= found.size || arguments.offset >= found.size));
    Ok(())
}

/// What there is at an offset, and where it ends.
enum Next {
    Data(u64),
    Hole(u64),
}

async fn next<F: FileSystem>(
    object: &Object<'_, F>,
    identity: &Identity,
    within: Range<u64>,
) -> Result<Next, Status> {
    let Range { start: at, end } = within;
    match seek::find(object, identity, at..end, Content::Data).await {
        Ok(Some(data)) if data <= at => {}
        Ok(found) => return Ok(Next::Hole(found.map_or(end, |data| data.min(end)))),
        // Cut off meanwhile: reading tells.
        Err(Status::NoDevice) => return Ok(Next::Data(end)),
        Err(status) => return Err(status),
    }
    let hole = match seek::find(object, identity, at..end, Content::Hole).await {
        Err(Status::NoDevice) => None,
        found => found?,
    };
    // A hole may have been punched between the two questions; data is what was seen first.
    Ok(Next::Data(hole.filter(|hole| *hole > at).map_or(end, |hole| hole.min(end))))
}

/// Appends data; how much.
async fn put_data<F: FileSystem>(
    object: &Object<'_, F>,
    identity: &Identity,
    bytes: Range<u64>,
    reply: &mut Encoder,
) -> Result<u64, Status> {
    reply.put(&(DataContent::Data, bytes.start));
    let data = reply.begin_opaque();
    let count = (bytes.end - bytes.start) as usize;
    let read = object
        .fs()
        .read(object.request(identity), &object.node, bytes.start, count, reply.buffer_mut())
        .await;
    let done = read.map_err(status::of)?;
    reply.end_opaque(data);
    Ok(done.count as u64)
}
