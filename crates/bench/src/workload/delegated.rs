//! Whether a server delegates the files of a workload that is about delegations.

use super::{Access, Error, Mount, Place, files};
use crate::experiment::Workload;

/// Opens a small file of the first client twice, and returns whether the second open sent nothing. `None` for
/// a workload that is not about files which are opened again.
pub(crate) async fn is_delegated(
    workload: &Workload,
    mount: &Mount,
    place: &Place,
) -> Result<Option<bool>, Error> {
    let (Workload::SmallFileRead { .. } | Workload::LockedRead { .. }) = workload else { return Ok(None) };
    let path = files::small(place, 0, 0);
    open_and_close(mount, &path).await?;
    let before = opens(mount);
    open_and_close(mount, &path).await?;
    Ok(Some(opens(mount) == before))
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
