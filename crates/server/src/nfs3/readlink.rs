//! READLINK (RFC 1813 §3.3.5).

use proto::nfs3::{ReadLinkArgs, ReadLinkFail, ReadLinkOk};
use vfs::FileSystem;

use super::context::{Context, Outcome, bare};
use super::status;
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: ReadLinkArgs,
) -> Outcome<ReadLinkArgs> {
    let link = context.object(&arguments.symlink).await.map_err(bare)?;
    let target = link.fs().read_link(link.request(), &link.node).await;
    let attributes = link.post_op().await;
    match target {
        Ok(target) => Ok(ReadLinkOk { attributes, target }),
        Err(error) => Err((status::of_finding(error), ReadLinkFail { attributes })),
    }
}
