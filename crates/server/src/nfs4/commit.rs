//! COMMIT (RFC 8881 §18.3).

use proto::nfs4::{CommitArgs, CommitResult, Status, Verifier};
use vfs::FileSystem;

use super::context::Context;
use super::{regular, status};

pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: CommitArgs,
) -> Result<CommitResult, Status> {
    let object = context.object()?;
    let identity = context.identity(object)?;
    regular::check(object).await?;
    if arguments.offset.checked_add(u64::from(arguments.count)).is_none() {
        return Err(Status::Invalid);
    }
    let done = object
        .fs()
        .commit(&identity, &object.node, arguments.offset, u64::from(arguments.count))
        .await
        .map_err(status::of)?;
    Ok(CommitResult { verifier: Verifier(done.verifier) })
}
