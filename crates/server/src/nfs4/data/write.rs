//! WRITE (RFC 8881 §18.32).

use proto::nfs4::{Operation, StableHow, Status, Verifier, WriteArgs, WriteResult};
use vfs::{FileSystem, Stability};
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{Descriptor, STATUS_BYTES};
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: STATUS_BYTES + 16,
    replaced: &[(Status::FileOpen, Status::AccessDenied), (Status::NotSupported, Status::Io)],
    ..Descriptor::changes(Operation::Write)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: WriteArgs,
) -> Result<WriteResult, Status> {
    let state_id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    context.writable(object)?;
    let _writing = conflict::before_write(context, object, &state_id).await?;
    let identity = context.identity(object)?;
    let stability = match arguments.stable {
        StableHow::Unstable => Stability::Unstable,
        StableHow::DataSync => Stability::DataSync,
        StableHow::FileSync => Stability::FileSync,
    };
    let fs = object.fs();
    // Taken before the data is written: were it newer, the loss of what was written would go unseen.
    let verifier = Verifier(fs.write_verifier());
    let written = match fs
        .write(object.request(&identity), &object.node, arguments.offset, arguments.data, stability)
        .await
    {
        Ok(written) => written,
        Err(error) => {
            regular::check(object).await?;
            return Err(status::of(error));
        }
    };
    Ok(WriteResult {
        count: u32::try_from(written.count).unwrap_or(u32::MAX),
        committed: match written.stability {
            Stability::Unstable => StableHow::Unstable,
            Stability::DataSync => StableHow::DataSync,
            Stability::FileSync => StableHow::FileSync,
        },
        verifier,
    })
}
