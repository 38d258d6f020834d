//! NLM's locks in the table that NFSv4's are in: each protocol respects the other's.

use std::net::IpAddr;

use bytes::Bytes;
use proto::nfs4::{Status, share};
use state::{Denied, FileId, LockOwner, Range, ShareOwner};

use super::{ByteRange, FileKey, Held, LockDenied, LockTable, Owner, Shares};
use crate::nfs4::lock_outcome as outcome;
use crate::recall::Recaller;

fn file(key: FileKey) -> FileId {
    FileId(key.object.fileid, key.object.generation)
}

fn range(range: ByteRange) -> Range {
    // A `ByteRange` is never empty or out of bounds.
    Range::of_nlm(range.start, range.length()).unwrap_or(Range::ALL)
}

/// A host as the table knows it: its address goes first, so that none can speak for another.
fn host(client: IpAddr, name: &[u8]) -> Bytes {
    let mut host = client.to_string().into_bytes();
    host.push(b' ');
    host.extend_from_slice(name);
    host.into()
}

fn owner(owner: &Owner) -> LockOwner {
    LockOwner::Nlm {
        host: host(owner.client, &owner.host),
        process: owner.process,
        handle: Bytes::copy_from_slice(&owner.owner),
    }
}

fn share_owner(owner: &Owner) -> ShareOwner {
    ShareOwner { host: host(owner.client, &owner.host), handle: Bytes::copy_from_slice(&owner.owner) }
}

fn held(denied: Denied, asking: &Owner) -> Held {
    let (name, process) = match denied.owner {
        LockOwner::Nlm { handle, process, .. } => (handle, process),
        LockOwner::Nfs4 { owner, .. } => (owner, 0),
    };
    let length = match denied.range.length() {
        u64::MAX => 0,
        length => length,
    };
    let range = ByteRange::new(denied.range.offset(), length)
        .unwrap_or(ByteRange { start: denied.range.offset(), end: u64::MAX });
    let owner = Owner { owner: name, process, ..asking.clone() };
    Held { owner, range, exclusive: denied.exclusive }
}

/// What NLM is told where NFSv4's own words are more.
fn refused(status: Status) -> LockDenied {
    match status {
        Status::Grace => LockDenied::Grace,
        _ => LockDenied::Full,
    }
}

impl LockTable for Recaller {
    fn in_grace(&self) -> bool {
        self.state().in_grace()
    }

    async fn before_lock(&self, key: FileKey, exclusive: bool) -> Result<(), LockDenied> {
        let ended = if exclusive {
            self.begin_change(file(key), None).await.map(|_| ())
        } else {
            self.before_read(file(key), None).await
        };
        ended.map_err(refused)
    }

    async fn test(
        &self,
        key: FileKey,
        asking: &Owner,
        bytes: ByteRange,
        exclusive: bool,
    ) -> Result<(), LockDenied> {
        let (owner, asked) = (owner(asking), (range(bytes), exclusive));
        let tested =
            self.hold(|| outcome(self.state().test_lock(file(key), &owner, asked, self.now()))).await;
        tested.map_err(refused)?.map_err(|denied| LockDenied::Conflict(Box::new(held(denied, asking))))
    }

    async fn lock(
        &self,
        key: FileKey,
        asking: &Owner,
        bytes: ByteRange,
        exclusive: bool,
    ) -> Result<(), LockDenied> {
        let (owner, asked) = (owner(asking), (range(bytes), exclusive));
        let locked = self.hold(|| outcome(self.state().nlm_lock(file(key), &owner, asked, self.now()))).await;
        locked.map_err(refused)?.map_err(|denied| LockDenied::Conflict(Box::new(held(denied, asking))))?;
        Ok(())
    }

    fn unlock(&self, key: FileKey, asking: &Owner, bytes: ByteRange) -> Result<(), LockDenied> {
        self.state().nlm_unlock(file(key), &owner(asking), range(bytes), &[]).map_err(refused)?;
        self.locks_released(file(key));
        Ok(())
    }

    async fn share(&self, key: FileKey, asking: &Owner, shares: Shares) -> Result<(), LockDenied> {
        let bits = |read: bool, write: bool| u32::from(read) * share::READ + u32::from(write) * share::WRITE;
        let asked = (bits(shares.read, shares.write), bits(shares.deny_read, shares.deny_write));
        let attempt = || self.state().share(file(key), share_owner(asking), asked, self.now());
        self.hold(attempt).await.map_err(|status| match status {
            Status::ShareDenied => LockDenied::Conflict(Box::new(Held {
                owner: asking.clone(),
                range: ByteRange { start: 0, end: u64::MAX },
                exclusive: shares.write,
            })),
            status => refused(status),
        })
    }

    fn unshare(&self, key: FileKey, asking: &Owner) {
        self.state().unshare(file(key), &share_owner(asking));
    }

    fn free_all(&self, client: IpAddr, name: &[u8]) {
        self.state().nlm_free_all(&host(client, name));
    }
}
