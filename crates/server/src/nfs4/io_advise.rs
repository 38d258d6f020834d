//! IO_ADVISE (RFC 7862 §15.5). Advice is taken and not followed: the host's kernel sees from the requests how
//! a file is read.

use proto::nfs4::attributes::Bitmap;
use proto::nfs4::{IoAdviseArgs, IoAdviseResult, Status, io_hint};
use vfs::FileSystem;

use super::context::Context;
use super::{conflict, regular};

pub(crate) async fn run<F: FileSystem>(
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
