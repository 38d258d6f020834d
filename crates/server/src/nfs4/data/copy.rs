//! COPY (RFC 7862 §15.2): from the saved file to the current one, of this server. It is always synchronous
//! and in order, and copies so much at a time as keeps nobody waiting for long; a client comes again for the
//! rest.

use bytes::Bytes;
use proto::nfs4::{
    CopyArgs, CopyRequirements, CopyResult, Operation, StableHow, Status, Verifier, WriteResponse,
};
use vfs::{FileSystem, Request, Span, Stability};
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::descriptor::{Descriptor, STATUS_BYTES};
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;
use crate::runtime::give_way;

/// What COPY has written, without the name of a copy under way, and how.
const COPIED_BYTES: usize = 4 + 8 + 4 + 8 + 8;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: STATUS_BYTES + COPIED_BYTES,
    replaced: &[(Status::FileOpen, Status::AccessDenied), (Status::NotSupported, Status::Io)],
    ..Descriptor::changes(Operation::Copy)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

/// The most that one COPY copies, in bytes.
const COPY_BYTES_MAX: u64 = 16 << 20;

/// How much is read and written at a time where the back end does not copy itself, in bytes.
const PIECE_BYTES: u64 = 1 << 20;

async fn run<F: FileSystem>(context: &Context<'_, F>, arguments: CopyArgs) -> Result<CopyResult, Status> {
    let source_state = context.resolve_saved_state(arguments.source_state_id)?;
    let target_state = context.resolve_state(arguments.target_state_id)?;
    let (source, target) = (context.saved()?, context.object()?);
    context.writable(target)?;
    if !arguments.sources.is_empty() {
        // There are no copies between servers (§4.6).
        return Err(Status::PartnerNotSupported);
    }
    let size = regular::check_only(source).await?.size;
    regular::check_only(target).await?;
    if source.export.id() == target.export.id() && source.id() == target.id() {
        return Err(Status::Invalid);
    }
    let _using = conflict::before_read(context, source, &source_state).await?;
    let _writing = conflict::before_write(context, target, &target_state).await?;
    let count = count_within(size, arguments.source_offset, arguments.count)?;
    if arguments.target_offset.checked_add(count).is_none() {
        return Err(Status::FileTooBig);
    }
    // Taken before the data is written: were it newer, the loss of what was written would go unseen.
    let verifier = Verifier(target.fs().write_verifier());
    let span =
        Span { from: arguments.source_offset, to: arguments.target_offset, count: count.min(COPY_BYTES_MAX) };
    let count = copy(context, source, target, span).await?;
    let written = WriteResponse { callback_id: vec![], count, committed: StableHow::Unstable, verifier };
    Ok(CopyResult { written, requirements: CopyRequirements { consecutive: true, synchronous: true } })
}

/// How many bytes are meant from `offset` on in a source of `size` bytes.
pub(crate) fn count_within(size: u64, offset: u64, count: u64) -> Result<u64, Status> {
    let left = size.checked_sub(offset).ok_or(Status::Invalid)?;
    match count {
        0 => Ok(left),
        count if count <= left => Ok(count),
        _ => Err(Status::Invalid),
    }
}

async fn copy<F: FileSystem>(
    context: &Context<'_, F>,
    source: &Object<'_, F>,
    target: &Object<'_, F>,
    span: Span,
) -> Result<u64, Status> {
    let identities = (context.identity(source)?, context.identity(target)?);
    let requests = (source.request(&identities.0), target.request(&identities.1));
    if source.export.id() == target.export.id() {
        match target.fs().copy(requests.1, &source.node, &target.node, span).await {
            Ok(copied) => return Ok(copied.count as u64),
            Err(vfs::Error::NotSupported) => {}
            Err(error) => return Err(status::of(error)),
        }
    }
    let mut done = 0;
    while done < span.count {
        let piece =
            Span { from: span.from + done, to: span.to + done, count: (span.count - done).min(PIECE_BYTES) };
        match copy_piece(source, requests.0, target, requests.1, piece).await {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if done == 0 => return Err(status::of(error)),
            // What was copied is told; the next request meets the error.
            Err(_) => break,
        }
        if done < span.count {
            give_way().await;
        }
    }
    Ok(done)
}

async fn copy_piece<F: FileSystem>(
    source: &Object<'_, F>,
    reading: Request<'_>,
    target: &Object<'_, F>,
    writing: Request<'_>,
    span: Span,
) -> vfs::Result<u64> {
    let mut data = Vec::new();
    let count = span.count as usize;
    source.fs().read(reading, &source.node, span.from, count, &mut data).await?;
    if data.is_empty() {
        return Ok(0);
    }
    let data = Bytes::from(data);
    let written = target.fs().write(writing, &target.node, span.to, data, Stability::Unstable).await?;
    Ok(written.count as u64)
}
