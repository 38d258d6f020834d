//! FSSTAT (RFC 1813 §3.3.18).

use proto::nfs3::{FsStatArgs, FsStatFail, FsStatOk};
use vfs::FileSystem;

use super::context::{Context, Outcome, bare};
use super::status;
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: FsStatArgs,
) -> Outcome<FsStatArgs> {
    let object = context.object(&arguments.root).await.map_err(bare)?;
    let space = object.fs().stat_fs(object.request(), &object.node).await;
    let attributes = object.post_op().await;
    match space {
        Ok(space) => Ok(FsStatOk {
            attributes,
            total_bytes: space.total_bytes,
            free_bytes: space.free_bytes,
            available_bytes: space.available_bytes,
            total_files: space.total_files,
            free_files: space.free_files,
            available_files: space.available_files,
            invariant_seconds: 0,
        }),
        Err(error) => Err((status::of(error), FsStatFail { attributes })),
    }
}
