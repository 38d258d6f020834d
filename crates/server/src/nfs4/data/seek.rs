//! SEEK (RFC 7862 §15.11): the next data or hole.

use std::ops::Range;

use proto::nfs4::{DataContent, Operation, SeekArgs, SeekResult, Status};
use vfs::{Content, FileSystem, Identity};
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor::looks(Operation::Seek);

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(context: &Context<'_, F>, arguments: SeekArgs) -> Result<SeekResult, Status> {
    let state_id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    let _using = conflict::before_read(context, object, &state_id).await?;
    let identity = context.identity(object)?;
    let size = regular::check(object).await?.size;
    // As with lseek(2), where the file ends nothing can be found any more.
    if arguments.offset >= size {
        return Err(Status::NoDevice);
    }
    let what = match arguments.what {
        DataContent::Data => Content::Data,
        DataContent::Hole => Content::Hole,
    };
    let found = find(object, &identity, arguments.offset..size, what).await?;
    let offset = found.unwrap_or(size);
    Ok(SeekResult { eof: offset >= size, offset })
}

/// Returns the offset of the first data or hole in the file from the start of `within` on. Where the back end
/// does not support holes, all of `within` is data, and a hole is at its end.
pub(crate) async fn find<F: FileSystem>(
    object: &Object<'_, F>,
    identity: &Identity,
    within: Range<u64>,
    what: Content,
) -> Result<Option<u64>, Status> {
    match (object.fs().seek(object.request(identity), &object.node, within.start, what).await, what) {
        (Ok(found), _) => Ok(found),
        (Err(vfs::Error::NotSupported), Content::Data) => Ok(Some(within.start)),
        (Err(vfs::Error::NotSupported), Content::Hole) => Ok(Some(within.end)),
        (Err(error), _) => Err(status::of(error)),
    }
}
