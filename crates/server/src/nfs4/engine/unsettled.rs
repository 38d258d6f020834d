//! Files that a COMPOUND has made and that may not be on stable storage yet. The reply must not leave before
//! they are; what stands behind them in the COMPOUND need not wait, as long as it is as if it had never run
//! when one of them turns out to be lost: results end with the first failure, and nothing behind it has
//! happened (RFC 8881 §16.2.3).

use bytes::Bytes;
use proto::nfs4::Status;
use state::Opened;
use vfs::{FileSystem, Name, RemoveKind, Settling};

use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::status;

/// A file that an OPEN has made.
pub(crate) struct Unsettled<'a, F: FileSystem> {
    pub(crate) settling: Settling,
    pub(crate) directory: Object<'a, F>,
    pub(crate) name: Bytes,
    pub(crate) made: Object<'a, F>,
    pub(crate) opened: Opened,
    /// Where the result of the OPEN stands.
    pub(crate) place: ResultPlace,
}

/// Where a result stands in a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultPlace {
    /// How many are before it.
    pub(crate) index: u32,
    /// Its first byte.
    pub(crate) start: usize,
}

/// An OPEN that was told to have succeeded, and has not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failed {
    pub(crate) place: ResultPlace,
    pub(crate) status: Status,
}

/// Waits until all that was made is on stable storage.
///
/// # Errors
/// What the first that failed is answered with; [`Context::failed`] then says where. What was made after it
/// is gone again.
pub(crate) async fn settle<F: FileSystem>(context: &mut Context<'_, F>) -> Result<(), Status> {
    let mut outcome = Ok(());
    for file in std::mem::take(&mut context.unsettled) {
        if outcome.is_err() {
            // On its way to a disk that fails; where it is now is where it is removed.
            let _ = file.settling.wait().await;
            context.give_up(&file.opened);
            remove(context, &file.directory, &file.name, &file.made).await;
        } else if let Err(error) = file.settling.wait().await {
            context.give_up(&file.opened);
            let status = status::of(error);
            context.failed = Some(Failed { place: file.place, status });
            outcome = Err(status);
        }
    }
    outcome
}

/// Takes a new file away again, unless its name has become somebody else's.
async fn remove<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &Object<'_, F>,
    name: &[u8],
    made: &Object<'_, F>,
) {
    let (Ok(name), Ok(identity)) = (Name::new(name), context.identity(directory)) else { return };
    let fs = directory.fs();
    let found = fs.lookup(directory.request_of_server(), &directory.node, name).await;
    if found.is_ok_and(|(node, _)| fs.object_id(&node) == made.id())
        && let Err(error) =
            fs.remove(directory.request(&identity), &directory.node, name, RemoveKind::NonDirectory).await
    {
        tracing::warn!(%error, "a file that was made behind one that the disk has lost could not be removed");
    }
}
