//! The queues of waiters by file, and their bounds.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use proto::nfs4::ClientId;
use state::{ByteRangeLock, Denied, FileId, LockOwner, Now, Range, fits_share, share_address};
use vfs::Handle;

use super::nlm_attempts::Attempts;
use super::nlm_grants::NlmWaiter;

/// Waiters of one file. NFSv4 clients beyond the bound poll; hosts beyond it are refused.
const WAITERS_PER_FILE_MAX: usize = 1024;
/// Waiters of all files.
const WAITERS_MAX: usize = 65_536;
/// Waiters of one NFSv4 client, or of all hosts of one address.
const WAITERS_PER_SOURCE_MAX: usize = 1024;

/// A request for a range that was denied and waits.
#[derive(Debug, Clone)]
pub(crate) struct Waiter {
    /// The owner that asked.
    pub(crate) requester: Requester,
    /// The range it asked for.
    pub(crate) range: Range,
    /// True for a write lock.
    pub(crate) exclusive: bool,
    /// The time of its last request.
    pub(crate) asked: Now,
    /// The time when CB_NOTIFY_LOCK was first sent to it since then.
    pub(crate) called: Option<Now>,
}

/// The owner that waits for a lock.
#[derive(Debug, Clone)]
pub(crate) enum Requester {
    /// An NFSv4 lock-owner.
    Nfs4 {
        /// Its client.
        client: ClientId,
        /// The lock-owner.
        owner: Bytes,
        /// How the client knows the file.
        handle: Handle,
    },
    /// A process on a host that locks through NLM.
    Nlm(NlmWaiter),
}

impl Waiter {
    /// The lock that it asked for.
    pub(super) fn lock(&self) -> ByteRangeLock {
        ByteRangeLock { range: self.range, exclusive: self.exclusive }
    }

    pub(super) fn is(&self, wanted_by: ClientId, name: &Bytes) -> bool {
        match &self.requester {
            Requester::Nfs4 { client, owner, .. } => *client == wanted_by && owner == name,
            Requester::Nlm(_) => false,
        }
    }

    fn ask_again(&mut self, again: Self) {
        match &self.requester {
            // The lock that is being granted to it is already its own.
            Requester::Nlm(waiter) if waiter.is_being_granted() => self.asked = again.asked,
            _ => *self = again,
        }
    }

    /// True when both locks can be held at the same time.
    pub(super) fn goes_with(&self, other: &Self) -> bool {
        !(self.exclusive || other.exclusive) || !self.range.overlaps(&other.range)
    }

    /// The lock that it waits for, as the conflicting lock of a denial.
    pub(super) fn as_denied(&self) -> Option<Denied> {
        let Requester::Nfs4 { client, owner, .. } = &self.requester else { return None };
        let owner = LockOwner::Nfs4 { client: *client, owner: owner.clone() };
        Some(Denied { owner, range: self.range, exclusive: self.exclusive })
    }

    fn source(&self) -> Source {
        match &self.requester {
            Requester::Nfs4 { client, .. } => Source::Client(*client),
            Requester::Nlm(waiter) => Source::Address(share_address(waiter.address())),
        }
    }

    /// True for a waiter that is removed when it does not ask again.
    pub(super) fn polls(&self) -> bool {
        match &self.requester {
            Requester::Nfs4 { .. } => true,
            Requester::Nlm(waiter) => waiter.is_silent(),
        }
    }
}

/// The unit that has a share of the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Client(ClientId),
    Address(IpAddr),
}

/// The refusal of a waiter at a bound of the queues.
#[derive(Debug)]
pub(crate) struct TooMany;

/// The waiters of all files.
#[derive(Debug)]
pub(super) struct WaiterQueues {
    /// The number of waiters, to be read without the mutex.
    count: Arc<AtomicUsize>,
    queues: Mutex<Queues>,
}

/// Waiters by file, in the order of their first LOCK; and the LOCK calls of hosts that are being carried out.
#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) by_file: BTreeMap<FileId, Vec<Waiter>>,
    pub(super) attempts: Attempts,
    by_source: BTreeMap<Source, usize>,
    count: Arc<AtomicUsize>,
}

impl Queues {
    pub(super) fn of(&mut self, file: FileId) -> &mut [Waiter] {
        self.by_file.get_mut(&file).map_or(&mut [], Vec::as_mut_slice)
    }

    pub(super) fn files(&self) -> Vec<FileId> {
        self.by_file.keys().copied().collect()
    }

    /// Adds a waiter. One that is there already, by `is_same`, has asked again and keeps its position.
    pub(super) fn add(
        &mut self,
        file: FileId,
        waiter: Waiter,
        is_same: impl Fn(&Waiter) -> bool,
    ) -> Result<(), TooMany> {
        let waiters = self.by_file.entry(file).or_default();
        if let Some(known) = waiters.iter_mut().find(|known| is_same(known)) {
            known.ask_again(waiter);
            return Ok(());
        }
        let source = waiter.source();
        let of_file = waiters.iter().filter(|known| known.source() == source).count();
        let of_source = self.by_source.get(&source).copied().unwrap_or(0);
        let fits = fits_share(of_file, WAITERS_PER_FILE_MAX, waiters.len(), WAITERS_PER_FILE_MAX)
            && fits_share(of_source, WAITERS_PER_SOURCE_MAX, self.count.load(Ordering::Relaxed), WAITERS_MAX);
        if !fits {
            if waiters.is_empty() {
                self.by_file.remove(&file);
            }
            return Err(TooMany);
        }
        waiters.push(waiter);
        self.by_source.insert(source, of_source + 1);
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Removes waiters, and yields them.
    pub(super) fn remove(&mut self, file: FileId, gone: impl FnMut(&mut Waiter) -> bool) -> Vec<Waiter> {
        let Some(waiters) = self.by_file.get_mut(&file) else { return Vec::new() };
        let removed: Vec<_> = waiters.extract_if(.., gone).collect();
        if waiters.is_empty() {
            self.by_file.remove(&file);
        }
        for source in removed.iter().map(Waiter::source) {
            let left = self.by_source.get(&source).map_or(0, |count| count - 1);
            if left == 0 {
                self.by_source.remove(&source);
            } else {
                self.by_source.insert(source, left);
            }
        }
        self.count.fetch_sub(removed.len(), Ordering::Relaxed);
        removed
    }
}

impl WaiterQueues {
    pub(super) fn new() -> Self {
        let count = Arc::default();
        Self { count: Arc::clone(&count), queues: Mutex::new(Queues { count, ..Queues::default() }) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    pub(super) fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock()
    }

    /// Removes waiters, and yields them.
    pub(super) fn remove(&self, file: FileId, gone: impl FnMut(&mut Waiter) -> bool) -> Vec<Waiter> {
        self.queues.lock().remove(file, gone)
    }

    pub(super) fn of(&self, file: FileId) -> Vec<Waiter> {
        self.queues.lock().by_file.get(&file).cloned().unwrap_or_default()
    }

    pub(super) fn files(&self) -> Vec<FileId> {
        self.queues.lock().files()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::HostRoute;
    use rpc::Transport;

    fn host(address: [u8; 4], process: i32) -> Waiter {
        let route = HostRoute { address: address.into(), local: None, transport: Transport::Tcp };
        let owner = LockOwner::Nlm { host: "h".into(), process, handle: Bytes::new() };
        let lock = proto::nlm4::Lock {
            caller_name: Bytes::new(),
            file: proto::nlm4::NetObject::default(),
            owner: proto::nlm4::NetObject::default(),
            process,
            offset: 0,
            length: 0,
        };
        let requester = Requester::Nlm(NlmWaiter::new(owner, route, lock));
        Waiter { requester, range: Range::ALL, exclusive: true, asked: Now(0), called: None }
    }

    #[test]
    fn a_source_leaves_half_of_a_queue_to_others() {
        let waiters = WaiterQueues::new();
        let add = |waiter| waiters.queues().add(FileId(1, 0), waiter, |_| false).is_ok();
        let count = |waiter: Waiter| (0..2 * WAITERS_PER_FILE_MAX).filter(|_| add(waiter.clone())).count();
        let client =
            Requester::Nfs4 { client: ClientId(1), owner: Bytes::new(), handle: Handle::new(b"f").unwrap() };
        let client = Waiter { requester: client, ..host([10, 0, 0, 1], 1) };
        assert_eq!(count(client), WAITERS_PER_FILE_MAX / 2);
        assert_eq!(count(host([10, 0, 0, 1], 1)), WAITERS_PER_FILE_MAX / 4);
        assert_eq!(count(host([10, 0, 0, 2], 1)), WAITERS_PER_FILE_MAX / 8);
    }

    #[test]
    fn waiters_are_bounded_by_file_and_address_and_leave_nothing_behind() {
        let waiters = WaiterQueues::new();
        let add = |file: u64, waiter| waiters.queues().add(FileId(file, 0), waiter, |_| false);
        for number in 0..WAITERS_PER_SOURCE_MAX as u64 {
            add(number, host([10, 0, 0, 1], 1)).unwrap();
        }
        add(5000, host([10, 0, 0, 1], 1)).unwrap_err();
        assert!(!waiters.files().contains(&FileId(5000, 0)));
        for number in 0..WAITERS_PER_FILE_MAX {
            add(6000, host([10, 1, (number >> 8) as u8, number as u8], 1)).unwrap();
        }
        add(6000, host([10, 2, 0, 1], 1)).unwrap_err();
        waiters.remove(FileId(0, 0), |_| true);
        add(5000, host([10, 0, 0, 1], 1)).unwrap();
        for file in waiters.files() {
            waiters.remove(file, |_| true);
        }
        let queues = waiters.queues();
        assert_eq!(
            (waiters.count.load(Ordering::Relaxed), queues.by_file.len(), queues.by_source.len()),
            (0, 0, 0)
        );
    }
}
