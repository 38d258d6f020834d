//! NLM's locks in the table that NFSv4's are in: each protocol respects the other's.

use std::net::IpAddr;

use bytes::Bytes;
use proto::nfs4::{Status, share};
use proto::nlm4;
use state::{
    Blocked, ByteRangeLock, Denied, FileId, LockError, LockOwner, Range, ShareOwner, ShareReservation,
};

use super::{ByteRange, FileKey, HeldLock, LockCall, LockDenied, LockTable, Owner, Shares};
use crate::hosts::HostRoute;
use crate::lock_waiters::{NlmWaiter, WaitRefused, lock_outcome as outcome};
use crate::services::StateService;

fn file(key: FileKey) -> FileId {
    FileId(key.object.fileid, key.object.generation)
}

fn range(range: ByteRange) -> Range {
    // A `ByteRange` is never empty or out of bounds.
    Range::of_nlm(range.start, range.length()).unwrap_or(Range::ALL)
}

fn lock(bytes: ByteRange, exclusive: bool) -> ByteRangeLock {
    ByteRangeLock { range: range(bytes), exclusive }
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

/// The owner of a share reservation as attempts know it: SHARE names no process.
fn share_caller(asking: &Owner) -> LockOwner {
    owner(&Owner { process: 0, ..asking.clone() })
}

fn held(denied: Denied, asking: &Owner) -> HeldLock {
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
    HeldLock { owner, range, exclusive: denied.exclusive }
}

/// What NLM is told where NFSv4's own words are more.
fn refused(status: Status) -> LockDenied {
    match status {
        Status::Grace => LockDenied::Grace,
        _ => LockDenied::Full,
    }
}

/// The same of a lock or share reservation that others must make way for first. DENIED has the caller ask
/// again; DENIED_NOLOCKS is for a server without room (RFC 1813 §6.1.4).
fn held_up(status: Status) -> LockDenied {
    if status == Status::Delay { LockDenied::Delayed } else { refused(status) }
}

/// Host names are the same in any case, and when one is the other without its domain.
fn is_same_name(one: &[u8], other: &[u8]) -> bool {
    let first = |name: &[u8]| name.iter().position(|byte| *byte == b'.').unwrap_or(name.len());
    let has_domain = |name: &[u8]| first(name) < name.len();
    if has_domain(one) && has_domain(other) {
        one.eq_ignore_ascii_case(other)
    } else {
        one[..first(one)].eq_ignore_ascii_case(&other[..first(other)])
    }
}

/// Checks that a host may take back what it held, and that it will be notified when this server restarts.
async fn check_host(services: &StateService, host: &Bytes, call: &LockCall) -> Result<(), LockDenied> {
    if call.reclaim && !services.host_monitor().may_host_reclaim(host) {
        return Err(LockDenied::Grace);
    }
    if call.reclaim {
        services.state().note_reclaim(services.now());
    }
    if call.is_monitored {
        services.host_monitor().record_host(host, call.route).await.map_err(refused)?;
    }
    Ok(())
}

impl LockTable for StateService {
    fn in_grace(&self) -> bool {
        self.state().in_grace()
    }

    async fn test(
        &self,
        key: FileKey,
        asking: &Owner,
        bytes: ByteRange,
        exclusive: bool,
    ) -> Result<(), LockDenied> {
        let (owner, asked) = (owner(asking), lock(bytes, exclusive));
        let tested = self
            .delegations()
            .hold(|| outcome(self.state().test_lock(file(key), &owner, asked, self.now())))
            .await;
        tested.map_err(refused)?.map_err(|denied| LockDenied::Conflict(Box::new(held(denied, asking))))
    }

    async fn lock(
        &self,
        key: FileKey,
        asking: &Owner,
        bytes: ByteRange,
        exclusive: bool,
        call: LockCall,
    ) -> Result<(), LockDenied> {
        let (file, owner, asked) = (file(key), owner(asking), lock(bytes, exclusive));
        let host = host(asking.client, &asking.host);
        // Registered before the host is looked up, so that its record stays until the call has ended.
        let attempt = self.lock_waiters().begin_nlm_attempt(file, owner.clone(), Some(asked));
        let waits = call.waits_for.is_some() && self.callbacks().hosts().can_call();
        if !waits && !call.reclaim && !self.host_monitor().is_host_recorded(&host) {
            // A lock that is denied leaves no record.
            let tested = self.state().test_lock(file, &owner, asked, self.now());
            if let Err(LockError::Denied(denied)) = tested {
                return Err(LockDenied::Conflict(Box::new(held(denied, asking))));
            }
        }
        check_host(self, &host, &call).await?;
        let mut locked = match self.delegations().hold(|| attempt.lock(asked, waits)).await.map_err(held_up) {
            Ok(locked) => locked.map_err(|denied| LockDenied::Conflict(Box::new(held(denied, asking)))),
            Err(LockDenied::Delayed) => Err(LockDenied::Delayed),
            Err(other) => return Err(other),
        };
        if locked.is_err()
            && let Some(lock) = &call.waits_for
            && self.callbacks().hosts().can_call()
        {
            let waiter = NlmWaiter::new(owner, call.route, lock.clone());
            attempt.wait(waiter, asked).map_err(|refused| match refused {
                WaitRefused::AttemptEnded => LockDenied::Delayed,
                WaitRefused::TooManyWaiters => LockDenied::Full,
            })?;
            // The conflicting lock may have gone before the waiter was noted.
            locked = match attempt.lock(asked, waits) {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) | Err(Blocked::Status(_)) => return Err(LockDenied::Waits),
                Err(Blocked::By(_)) => {
                    // A delegation: it is recalled, and the lock granted when it is back.
                    self.lock_waiters().locks_released(file);
                    return Err(LockDenied::Waits);
                }
            };
        }
        locked?;
        // It may be less than the owner held before.
        self.lock_waiters().locks_released(file);
        Ok(())
    }

    fn cancel(&self, key: FileKey, asking: &Owner, bytes: ByteRange, exclusive: bool) -> bool {
        self.lock_waiters().nlm_cancel(file(key), &owner(asking), lock(bytes, exclusive))
    }

    fn unlock(&self, key: FileKey, asking: &Owner, bytes: ByteRange) -> Result<(), LockDenied> {
        self.lock_waiters().nlm_unlock(file(key), &owner(asking), range(bytes)).map_err(refused)
    }

    async fn share(
        &self,
        key: FileKey,
        asking: &Owner,
        shares: Shares,
        call: LockCall,
    ) -> Result<(), LockDenied> {
        let attempt = self.lock_waiters().begin_nlm_attempt(file(key), share_caller(asking), None);
        check_host(self, &host(asking.client, &asking.host), &call).await?;
        let bits = |read: bool, write: bool| u32::from(read) * share::READ + u32::from(write) * share::WRITE;
        let asked = ShareReservation {
            access: bits(shares.read, shares.write),
            deny: bits(shares.deny_read, shares.deny_write),
        };
        let share = || self.state().share(file(key), share_owner(asking), asked, self.now());
        self.delegations().hold(|| attempt.share(share)).await.map_err(|status| match status {
            Status::ShareDenied => LockDenied::Conflict(Box::new(HeldLock {
                owner: asking.clone(),
                range: ByteRange { start: 0, end: u64::MAX },
                exclusive: shares.write,
            })),
            status => held_up(status),
        })
    }

    fn unshare(&self, key: FileKey, asking: &Owner) {
        self.lock_waiters().nlm_unshare(file(key), &share_caller(asking), || {
            self.state().unshare(file(key), &share_owner(asking));
        });
    }

    fn free_all(&self, client: IpAddr, name: &[u8]) {
        self.lock_waiters().nlm_free_all(&host(client, name));
    }

    fn host_restarted(&self, client: IpAddr, name: &[u8], state_number: i32) {
        let prefix = host(client, b"");
        let mut hosts = self.state().nlm_hosts(&prefix);
        hosts
            .extend(self.lock_waiters().waiting_hosts().into_iter().filter(|host| host.starts_with(&prefix)));
        hosts.sort();
        hosts.dedup();
        let is_named = |host: &&Bytes| is_same_name(&host[prefix.len()..], name);
        let restarted: Vec<_> = match hosts.iter().filter(is_named).cloned().collect::<Vec<_>>() {
            // A status monitor may know its host by another name than a lock manager: there is only one that
            // it can be.
            none if none.is_empty() && hosts.len() == 1 => hosts,
            named => named,
        };
        for host in restarted.iter().filter(|host| self.host_monitor().is_new_restart(host, state_number)) {
            tracing::info!(host = %String::from_utf8_lossy(host), "a host has restarted: its locks are free");
            self.lock_waiters().nlm_free_all(host);
        }
    }

    fn granted_message(&self, client: IpAddr, cookie: &[u8], status: nlm4::Status) {
        self.lock_waiters().granted_message(client, cookie, status);
    }

    fn send_result(&self, route: HostRoute, procedure: nlm4::Procedure, result: Vec<u8>) {
        self.lock_waiters().send_result(route, procedure, result);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_far_as_both_go() {
        for (one, other, same) in [
            ("ann", "ann", true),
            ("ann", "Ann.example.org", true),
            ("ann.example.org", "ANN", true),
            ("ann.example.org", "ann.example.net", false),
            ("ann.example.org", "ann.example.org", true),
            ("ann", "anna", false),
            ("", "ann", false),
        ] {
            assert_eq!(is_same_name(one.as_bytes(), other.as_bytes()), same, "{one} {other}");
        }
    }
}
