//! Who waits for byte-range locks, of both protocols in one order. An NFSv4 client polls, and is told when
//! its lock may be free: CB_NOTIFY_LOCK (RFC 8881 §9.6, §20.11). A host that locks through NLM is given the
//! lock and told so: see [`super::nlm_grants`].

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use proto::nfs4::{CallbackOperation, CbNotifyLockArgs, ClientId, FileHandle, StateOwner};
use state::{Denied, FileId, LockError, LockOwner, Now, Range, fits_share, share_address};
use vfs::Handle;

use super::Recaller;
use super::nlm_attempts::Attempts;
use super::nlm_grants::NlmWaiter;

/// Waiters of one file. More NFSv4 clients find out by polling; more hosts are refused.
const WAITERS_PER_FILE_MAX: usize = 1024;
/// Waiters of all files.
const WAITERS_MAX: usize = 65_536;
/// Waiters of one NFSv4 client, or of all hosts of one address.
const WAITERS_PER_SOURCE_MAX: usize = 1024;
/// How long others that would wait come after a waiter that was called.
const PROMISED_MS: u64 = 500;
/// How long who polls may not have asked again before it is taken to have given up: Linux polls every 30 s.
const PATIENCE_MS: u64 = 60_000;

/// Who asked for a range and was denied it.
#[derive(Debug, Clone)]
pub(crate) struct Waiter {
    /// Who.
    pub(crate) who: Who,
    /// Where.
    pub(crate) range: Range,
    /// How.
    pub(crate) exclusive: bool,
    /// When it asked last.
    pub(crate) asked: Now,
    /// When CB_NOTIFY_LOCK was first sent to it since.
    pub(crate) called: Option<Now>,
}

/// Who waits.
#[derive(Debug, Clone)]
pub(crate) enum Who {
    /// An NFSv4 lock-owner.
    Nfs4 {
        /// Whose.
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
    fn is(&self, wanted_by: ClientId, name: &Bytes) -> bool {
        matches!(&self.who, Who::Nfs4 { client, owner, .. } if *client == wanted_by && owner == name)
    }

    fn ask_again(&mut self, again: Self) {
        match &self.who {
            // What is being given to it is already its own.
            Who::Nlm(waiter) if waiter.is_being_granted() => self.asked = again.asked,
            _ => *self = again,
        }
    }

    /// True when both can be told of a free range.
    fn goes_with(&self, other: &Self) -> bool {
        !(self.exclusive || other.exclusive) || !self.range.overlaps(&other.range)
    }

    /// The lock that it waits for, as the lock in the way of another.
    fn as_denied(&self) -> Option<Denied> {
        let Who::Nfs4 { client, owner, .. } = &self.who else { return None };
        let owner = LockOwner::Nfs4 { client: *client, owner: owner.clone() };
        Some(Denied { owner, range: self.range, exclusive: self.exclusive })
    }

    fn source(&self) -> Source {
        match &self.who {
            Who::Nfs4 { client, .. } => Source::Client(*client),
            Who::Nlm(waiter) => Source::Address(share_address(waiter.address())),
        }
    }

    /// True for who is forgotten when it does not ask again.
    fn polls(&self) -> bool {
        match &self.who {
            Who::Nfs4 { .. } => true,
            Who::Nlm(waiter) => waiter.is_silent(),
        }
    }
}

/// The unit that has a share of the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Client(ClientId),
    Address(IpAddr),
}

/// Why a waiter was not noted: there are too many.
#[derive(Debug)]
pub(crate) struct TooMany;

/// The waiters of all files.
#[derive(Debug)]
pub(super) struct LockWaiters {
    /// As in the queues, to be read without their mutex.
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

    /// Notes a waiter, or that a known one, of which `is_same` says so, has asked again: it keeps its place.
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

impl LockWaiters {
    pub(super) fn new() -> Self {
        let count = Arc::default();
        Self { count: Arc::clone(&count), queues: Mutex::new(Queues { count, ..Queues::default() }) }
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    pub(super) fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock()
    }

    /// Removes waiters, and yields them.
    pub(super) fn remove(&self, file: FileId, gone: impl FnMut(&mut Waiter) -> bool) -> Vec<Waiter> {
        self.queues.lock().remove(file, gone)
    }

    fn of(&self, file: FileId) -> Vec<Waiter> {
        self.queues.lock().by_file.get(&file).cloned().unwrap_or_default()
    }

    pub(super) fn files(&self) -> Vec<FileId> {
        self.queues.lock().files()
    }
}

impl Recaller {
    /// Notes an NFSv4 lock-owner that waits for a lock.
    pub(crate) fn wait_for_lock(&self, file: FileId, waiter: Waiter) {
        if let Who::Nfs4 { client, owner, .. } = &waiter.who {
            let (client, owner) = (*client, owner.clone());
            // One more than is noted polls as well.
            let _ = self.inner.lock_waiters.queues().add(file, waiter, |known| known.is(client, &owner));
        }
        // What was in the way may have gone before the waiter was noted.
        self.locks_released(file);
    }

    /// The lock that another waiter, in front of this owner, was called for a moment ago. A LOCK that can
    /// wait is denied it: its client would take the lock again and again while the reply of the called
    /// client is on its way.
    pub(super) fn promised(
        queues: &mut Queues,
        file: FileId,
        is_own: impl Fn(&Waiter) -> bool,
        (range, exclusive): (Range, bool),
        now: Now,
    ) -> Option<Denied> {
        let in_front = queues.of(file).iter().take_while(|waiter| !is_own(waiter));
        let promised = in_front.filter(|waiter| {
            waiter.called.is_some_and(|called| now.since_ms(called) < PROMISED_MS)
                && (waiter.exclusive || exclusive)
                && waiter.range.overlaps(&range)
        });
        promised.filter_map(Waiter::as_denied).next()
    }

    /// As [`Recaller::promised`], for an NFSv4 lock-owner.
    pub(crate) fn promised_to_other(
        &self,
        file: FileId,
        (client, owner): (ClientId, &Bytes),
        asked: (Range, bool),
    ) -> Option<Denied> {
        if !self.has_lock_waiters() {
            return None;
        }
        let mut queues = self.inner.lock_waiters.queues();
        Self::promised(&mut queues, file, |waiter| waiter.is(client, owner), asked, self.now())
    }

    /// True when anybody waits for a lock.
    pub(crate) fn has_lock_waiters(&self) -> bool {
        !self.inner.lock_waiters.is_empty()
    }

    /// A lock-owner has got a lock: it waits no more.
    pub(crate) fn waits_no_more(&self, file: FileId, client: ClientId, owner: &Bytes) {
        self.inner.lock_waiters.remove(file, |waiter| waiter.is(client, owner));
    }

    /// Locks of a file may have gone: tells who waited longest, and whoever can have a lock beside it.
    pub(crate) fn locks_released(&self, file: FileId) {
        if !self.has_lock_waiters() {
            return;
        }
        let mut told: Vec<Waiter> = Vec::new();
        for waiter in self.inner.lock_waiters.of(file) {
            if told.iter().all(|other| other.goes_with(&waiter)) && self.tell(file, &waiter) {
                told.push(waiter);
            }
        }
    }

    /// Forgets who has given up, and tells all others whose lock is free by now: those told before may not
    /// want it.
    pub(super) fn notify_lock_waiters(&self, now: Now) {
        if !self.has_lock_waiters() {
            return;
        }
        for file in self.inner.lock_waiters.files() {
            let has_given_up =
                |waiter: &mut Waiter| waiter.polls() && now.since_ms(waiter.asked) >= PATIENCE_MS;
            self.inner.lock_waiters.remove(file, has_given_up);
            for waiter in self.inner.lock_waiters.of(file) {
                self.tell(file, &waiter);
            }
        }
    }

    /// Tells a waiter that its lock is free, or gives it; false when it is not free.
    fn tell(&self, file: FileId, waiter: &Waiter) -> bool {
        match &waiter.who {
            Who::Nlm(_) => self.grant(file, waiter),
            Who::Nfs4 { client, owner, handle } => {
                let lock_owner = LockOwner::Nfs4 { client: *client, owner: owner.clone() };
                let wanted = (waiter.range, waiter.exclusive);
                let tested = self.state().test_lock(file, &lock_owner, wanted, self.now());
                // A silent client's lock is as good as free.
                let is_free = !matches!(tested, Err(LockError::Denied(_)));
                if is_free {
                    self.note_call(file, *client, owner);
                    self.notify(*client, owner.clone(), handle);
                }
                is_free
            }
        }
    }

    fn note_call(&self, file: FileId, client: ClientId, owner: &Bytes) {
        let mut queues = self.inner.lock_waiters.queues();
        if let Some(waiter) = queues.of(file).iter_mut().find(|waiter| waiter.is(client, owner)) {
            waiter.called.get_or_insert(self.now());
        }
    }

    fn notify(&self, client: ClientId, owner: Bytes, handle: &Handle) {
        let recaller = self.clone();
        let object = FileHandle(Bytes::copy_from_slice(handle.as_bytes()));
        self.world().spawn(Box::pin(async move {
            let arguments = CbNotifyLockArgs { object, owner: StateOwner { client, owner } };
            // A hint: a client that does not get it polls (RFC 8881 §20.11.4).
            recaller.callback(client, CallbackOperation::NotifyLock, &arguments, Vec::new()).await;
        }));
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
        let who = Who::Nlm(NlmWaiter::new(owner, route, lock));
        Waiter { who, range: Range::ALL, exclusive: true, asked: Now(0), called: None }
    }

    #[test]
    fn a_source_leaves_half_of_a_queue_to_others() {
        let waiters = LockWaiters::new();
        let add = |waiter| waiters.queues().add(FileId(1, 0), waiter, |_| false).is_ok();
        let count = |waiter: Waiter| (0..2 * WAITERS_PER_FILE_MAX).filter(|_| add(waiter.clone())).count();
        let client =
            Who::Nfs4 { client: ClientId(1), owner: Bytes::new(), handle: Handle::new(b"f").unwrap() };
        let client = Waiter { who: client, ..host([10, 0, 0, 1], 1) };
        assert_eq!(count(client), WAITERS_PER_FILE_MAX / 2);
        assert_eq!(count(host([10, 0, 0, 1], 1)), WAITERS_PER_FILE_MAX / 4);
        assert_eq!(count(host([10, 0, 0, 2], 1)), WAITERS_PER_FILE_MAX / 8);
    }

    #[test]
    fn waiters_are_bounded_by_file_and_address_and_leave_nothing_behind() {
        let waiters = LockWaiters::new();
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
