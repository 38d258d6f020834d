//! COMMIT (RFC 1813 §3.3.21).

use proto::nfs3::{CommitArgs, CommitFail, CommitOk, WriteVerifier};
use vfs::FileSystem;

use super::context::{Context, Outcome, bare};
use super::status;
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: CommitArgs,
) -> Outcome<CommitArgs> {
    let file = context.object(&arguments.file).await.map_err(bare)?;
    let before = file.before().await;
    let committed =
        file.fs().commit(file.request(), &file.node, arguments.offset, u64::from(arguments.count)).await;
    let around = file.around(before).await;
    match committed {
        Ok(committed) => Ok(CommitOk { file: around, verifier: WriteVerifier(committed.verifier) }),
        Err(error) => Err((status::of_data(error), CommitFail { file: around })),
    }
}
