//! IO_ADVISE (RFC 7862 §15.5). Advice is taken and not followed: the host's kernel sees from the requests how
//! a file is read.

use proto::nfs4::attributes::Bitmap;
use proto::nfs4::{IoAdviseArgs, IoAdviseResult, Operation, Status, io_hint};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, decode, put};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor::changes(Operation::IoAdvise);

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: IoAdviseArgs,
) -> Result<IoAdviseResult, Status> {
    let state_id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    regular::check(object).await?;
    // Whose advice it is; without a stateid it is anybody's, and no reservation is in its way.
    if !state_id.is_special() {
        conflict::begin(context, object.file(), &state_id, state::Io::Read).await?;
    }
    Ok(IoAdviseResult { hints: Bitmap::from_word(io_hint::NORMAL) })
}
