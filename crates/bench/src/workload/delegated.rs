//! Whether a server delegates the files of a workload that is about delegations.

use super::{Access, Error, Mount, WorkDirectory, files};
use crate::experiment::Workload;

/// Whether a workload opens files again, so that delegations decide what it sends.
pub(crate) fn depends_on_delegations(workload: &Workload) -> bool {
    matches!(workload, Workload::SmallFileRead { .. } | Workload::LockedRead { .. })
}

/// Opens a small file of the first client twice, and returns whether the second open sent nothing.
pub(crate) async fn is_delegated(mount: &Mount, place: &WorkDirectory) -> Result<bool, Error> {
    let path = files::small(place, 0, 0);
    open_and_close(mount, &path).await?;
    let before = opens(mount);
    open_and_close(mount, &path).await?;
    Ok(opens(mount) == before)
}

async fn open_and_close(mount: &Mount, path: &str) -> Result<(), Error> {
    let file = mount.open(path, Access::Read).await?;
    file.read(0, 1).await?;
    file.close().await
}

/// How many OPENs were sent.
fn opens(mount: &Mount) -> u64 {
    mount.counters().requests.get("OPEN").copied().unwrap_or_default()
}
