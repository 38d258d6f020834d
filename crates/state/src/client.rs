//! A confirmed client: its lease and an index of its state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::{ClientId, StateId, StateOther, Status, sequence_flags};

use crate::accounts::Account;
use crate::recallable::Class;
use crate::reply_memory::ReplyShare;
use crate::standing::{RecordState, Standing};
use crate::{FileId, Limits, Lost, Now, Principal, Users};

/// What a stateid's `other` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateKind {
    Open,
    Lock,
    /// Recallable state.
    Grant(Class),
}

/// Ticks without state after which a client's name need not be on stable storage any more.
const IDLE_TICKS_MAX: u32 = 30;

/// A client as its sessions and state know it.
#[derive(Debug)]
pub struct Client {
    id: ClientId,
    owner: Bytes,
    principal: Principal,
    minor_version: u32,
    renewed: AtomicU64,
    standing: Standing,
    idle_ticks: AtomicU32,
    /// Requests under way.
    requests: AtomicUsize,
    flags: AtomicU32,
    states: Mutex<States>,
    /// Locked ranges.
    ranges: AtomicUsize,
    /// The state of the clients of its address.
    account: Arc<Account>,
    /// Places for state that are promised; changes with `states` locked.
    reserved: AtomicUsize,
    /// Revocations by an administrator under way.
    losing: AtomicUsize,
    /// Stateids that were revoked and wait for FREE_STATEID.
    revoked: Mutex<RevokedStates>,
    /// Files of which a delegation is about to be revoked, and how often: it may be revoked twice.
    losing_files: Mutex<BTreeMap<FileId, usize>>,
    /// What it has lost was written to its record, or is being written: there is one that may have to be
    /// changed.
    kept: AtomicBool,
    users: Users,
}

/// An index of what a client holds.
#[derive(Debug, Default)]
struct States {
    by_other: BTreeMap<StateOther, (FileId, StateKind)>,
    grants: usize,
}

impl States {
    fn insert(&mut self, other: StateOther, file: FileId, kind: StateKind) {
        self.by_other.insert(other, (file, kind));
        self.grants += usize::from(matches!(kind, StateKind::Grant(_)));
    }

    fn remove(&mut self, other: &StateOther) -> bool {
        let removed = self.by_other.remove(other);
        self.grants -= usize::from(matches!(removed, Some((_, StateKind::Grant(_)))));
        removed.is_some()
    }
}

/// Revoked stateids.
#[derive(Debug, Default)]
struct RevokedStates {
    by_other: BTreeMap<StateOther, (FileId, Status)>,
    /// Those that an administrator has revoked.
    by_order: usize,
    /// The files of the others, and how many of each: revocations that the client may not know of.
    files: BTreeMap<FileId, usize>,
}

impl RevokedStates {
    fn insert(&mut self, other: StateOther, file: FileId, status: Status) {
        self.remove(&other);
        self.by_other.insert(other, (file, status));
        match status {
            Status::AdminRevoked => self.by_order += 1,
            _ => *self.files.entry(file).or_default() += 1,
        }
    }

    fn remove(&mut self, other: &StateOther) -> Option<Status> {
        let (file, status) = self.by_other.remove(other)?;
        match status {
            Status::AdminRevoked => self.by_order -= 1,
            _ => count_down(&mut self.files, file),
        }
        Some(status)
    }

    fn has(&self, status: Status) -> bool {
        match status {
            Status::AdminRevoked => self.by_order > 0,
            _ => !self.files.is_empty(),
        }
    }
}

fn count_down(files: &mut BTreeMap<FileId, usize>, file: FileId) {
    if let Some(count) = files.get_mut(&file) {
        *count -= 1;
        if *count == 0 {
            files.remove(&file);
        }
    }
}

impl Client {
    pub(crate) fn new(
        id: ClientId,
        owner: Bytes,
        principal: Principal,
        account: Arc<Account>,
        minor_version: u32,
        may_reclaim: bool,
        now: Now,
    ) -> Self {
        Self {
            id,
            owner,
            principal,
            minor_version,
            standing: Standing::new(may_reclaim),
            idle_ticks: AtomicU32::new(0),
            renewed: AtomicU64::new(now.0),
            requests: AtomicUsize::new(0),
            flags: AtomicU32::new(0),
            states: Mutex::default(),
            ranges: AtomicUsize::new(0),
            account,
            reserved: AtomicUsize::new(0),
            losing: AtomicUsize::new(0),
            revoked: Mutex::default(),
            losing_files: Mutex::default(),
            kept: AtomicBool::new(false),
            users: Users::default(),
        }
    }

    /// The memory for replies that its sessions share with those of its address.
    pub(crate) fn reply_share(&self) -> &Arc<ReplyShare> {
        self.account.replies()
    }

    /// The users that it acts for.
    pub fn users(&self) -> &Users {
        &self.users
    }

    /// Its number.
    pub fn id(&self) -> ClientId {
        self.id
    }

    /// What it calls itself (`co_ownerid`).
    pub fn owner(&self) -> &Bytes {
        &self.owner
    }

    /// The minor version of all its requests, and of the callbacks to it (RFC 8178 §8.1).
    pub fn minor_version(&self) -> u32 {
        self.minor_version
    }

    /// Under what it is kept on stable storage: the same after its restart and the server's.
    pub fn record_name(&self) -> Bytes {
        record_name(&self.owner, &self.principal)
    }

    /// Who made it, and alone may end it or make sessions for it.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    pub(crate) fn may_reclaim(&self) -> bool {
        self.standing.may_reclaim()
    }

    pub(crate) fn has_reclaimed(&self) -> bool {
        self.standing.has_reclaimed()
    }

    /// True when its name is on stable storage.
    pub fn is_recorded(&self) -> bool {
        self.standing.record() == RecordState::Recorded
    }

    /// True while its name is being removed from stable storage, for it holds nothing.
    pub fn is_being_forgotten(&self) -> bool {
        self.standing.record() == RecordState::BeingForgotten
    }

    /// Notes that its name is not on stable storage any more.
    pub fn set_forgotten(&self) {
        self.standing.end_forgetting();
    }

    /// Notes that its name may not be on stable storage.
    pub fn set_unrecorded(&self) {
        self.standing.set_unrecorded();
    }

    /// Notes that its name is on stable storage.
    pub fn set_recorded(&self) {
        self.standing.set_recorded();
    }

    /// Counts a second without state; true, once, when there were many in a row: then its name is to be
    /// removed from stable storage, for it has nothing to reclaim.
    pub(crate) fn is_long_idle(&self) -> bool {
        let states = self.states.lock();
        let holds = !states.by_other.is_empty() || self.reserved.load(Ordering::SeqCst) > 0;
        if holds || !self.is_recorded() {
            self.idle_ticks.store(0, Ordering::Relaxed);
            return false;
        }
        if self.idle_ticks.fetch_add(1, Ordering::Relaxed) < IDLE_TICKS_MAX {
            return false;
        }
        self.standing.begin_forgetting()
    }

    /// Renews its lease (RFC 8881 §8.3).
    pub fn renew(&self, now: Now) {
        if self.renewed.load(Ordering::Relaxed) < now.0 {
            self.renewed.fetch_max(now.0, Ordering::Relaxed);
        }
    }

    /// When it last renewed its lease.
    pub fn renewed(&self) -> Now {
        Now(self.renewed.load(Ordering::Relaxed))
    }

    pub(crate) fn complete_reclaim(&self) -> Result<(), Status> {
        self.standing.complete_reclaim()
    }

    /// Notes that no session of the client has a path for callbacks, or that one has.
    pub fn set_callback_path_down(&self, is_down: bool) {
        if is_down {
            self.flags.fetch_or(sequence_flags::CB_PATH_DOWN, Ordering::Relaxed);
        } else {
            self.flags.fetch_and(!sequence_flags::CB_PATH_DOWN, Ordering::Relaxed);
        }
    }

    /// Bits for SEQUENCE's `status_flags`.
    pub fn status_flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// True once the client was destroyed, replaced or expired.
    pub fn is_gone(&self) -> bool {
        self.standing.is_gone()
    }

    pub(crate) fn leave(&self) {
        self.standing.set_gone();
    }

    /// True while a request of it is under way: it may still take effect.
    pub fn has_requests(&self) -> bool {
        self.requests.load(Ordering::SeqCst) > 0
    }

    pub(crate) fn begin_request(&self) {
        self.requests.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn end_request(&self) {
        self.requests.fetch_sub(1, Ordering::SeqCst);
    }

    /// True while it holds an open, a lock stateid or a delegation.
    pub fn has_state(&self) -> bool {
        !self.states.lock().by_other.is_empty()
    }

    pub(crate) fn grant_count(&self) -> usize {
        self.states.lock().grants
    }

    /// What is kept for it, with what was revoked and not freed yet, and what is promised.
    pub fn state_count(&self) -> usize {
        self.count(&self.states.lock())
    }

    /// Its opens, lock stateids and delegations, with those that were revoked and not freed yet.
    pub fn stateid_count(&self) -> usize {
        let kept = self.states.lock().by_other.len();
        kept + self.revoked.lock().by_other.len()
    }

    fn count(&self, states: &States) -> usize {
        let promised = self.reserved.load(Ordering::SeqCst) + self.ranges.load(Ordering::Relaxed);
        states.by_other.len() + promised + self.revoked.lock().by_other.len()
    }

    /// True when it may have more state: neither it nor its address is at a bound.
    pub(crate) fn has_room(&self, limits: &Limits) -> bool {
        self.state_count() < limits.states_per_client_max && self.account.has_room(limits.states_max)
    }

    /// Promises a place for state, if there is room.
    pub(crate) fn reserve(&self, limits: &Limits) -> bool {
        let states = self.states.lock();
        let has_room =
            self.count(&states) < limits.states_per_client_max && self.account.has_room(limits.states_max);
        if has_room {
            self.reserved.fetch_add(1, Ordering::SeqCst);
        }
        has_room
    }

    /// Notes that so many ranges that it has locked in a file became so many.
    pub(crate) fn change_ranges(&self, before: usize, after: usize) {
        self.ranges.fetch_add(after.saturating_sub(before), Ordering::Relaxed);
        self.ranges.fetch_sub(before.saturating_sub(after), Ordering::Relaxed);
        self.account.change(before, after);
    }

    /// Takes a promise back.
    pub(crate) fn unreserve(&self) {
        let _states = self.states.lock();
        self.reserved.fetch_sub(1, Ordering::SeqCst);
    }

    /// The files that it holds something of, each once.
    pub(crate) fn files(&self) -> BTreeSet<FileId> {
        self.states.lock().by_other.values().map(|(file, _)| *file).collect()
    }

    /// Adds to the index.
    ///
    /// # Errors
    /// DELAY for a client that is gone, for nobody would ever discard the state, and for one that is not
    /// recorded, for it could not reclaim it.
    pub(crate) fn add_state(&self, other: StateOther, file: FileId, kind: StateKind) -> Result<(), Status> {
        let mut states = self.states.lock();
        // Whoever discards states has first marked the client, and whoever removes its record has looked
        // here.
        if self.is_gone() || !self.is_recorded() {
            return Err(Status::Delay);
        }
        states.insert(other, file, kind);
        self.account.change(0, 1);
        Ok(())
    }

    pub(crate) fn remove_state(&self, other: &StateOther) {
        if self.states.lock().remove(other) {
            self.account.change(1, 0);
        }
    }

    pub(crate) fn take_states(&self) -> BTreeMap<StateOther, (FileId, StateKind)> {
        *self.revoked.lock() = RevokedStates::default();
        let taken = std::mem::take(&mut *self.states.lock()).by_other;
        self.account.change(taken.len(), 0);
        taken
    }

    /// True while it has not freed something that was revoked.
    pub fn has_revoked(&self) -> bool {
        !self.revoked.lock().by_other.is_empty()
    }

    /// The files of which a delegation was revoked, or is about to be, and which it may not know of.
    pub fn lost(&self) -> Lost {
        let revoked = self.revoked.lock();
        let mut lost = Lost::default();
        // A few more than can be told apart are as good as all.
        lost.extend(revoked.files.keys().take(Lost::ENOUGH).copied());
        lost.extend(self.losing_files.lock().keys().take(Lost::ENOUGH).copied());
        lost
    }

    pub(crate) fn begin_losing(&self, file: FileId) {
        *self.losing_files.lock().entry(file).or_default() += 1;
    }

    pub(crate) fn end_losing(&self, files: impl Iterator<Item = FileId>) {
        let mut losing = self.losing_files.lock();
        files.for_each(|file| count_down(&mut losing, file));
    }

    /// True once a record of its own was asked for, beside the one by which it may reclaim.
    pub fn is_kept(&self) -> bool {
        self.kept.load(Ordering::SeqCst)
    }

    /// Notes that its record is being written.
    pub fn set_kept(&self) {
        self.kept.store(true, Ordering::SeqCst);
    }

    /// An administrator is about to revoke something of it, until [`Client::end_loss`].
    pub fn begin_loss(&self) {
        self.losing.fetch_add(1, Ordering::SeqCst);
    }

    /// It is revoked, or stays.
    pub fn end_loss(&self) {
        self.losing.fetch_sub(1, Ordering::SeqCst);
    }

    /// True while it has not freed something that an administrator has revoked, or is about to. It may not
    /// know of its loss, so until then nothing is on stable storage by which it could reclaim.
    pub fn has_lost_by_order(&self) -> bool {
        self.losing.load(Ordering::SeqCst) > 0 || self.revoked.lock().has(Status::AdminRevoked)
    }

    /// Makes a stateid worth this status until it is freed: DELEG_REVOKED or ADMIN_REVOKED.
    pub(crate) fn revoke(&self, other: StateOther, file: FileId, status: Status) {
        let mut revoked = self.revoked.lock();
        revoked.insert(other, file, status);
        self.flags.fetch_or(flag_of(status), Ordering::Relaxed);
        drop(revoked);
        self.remove_state(&other);
    }

    /// Forgets a revoked stateid; false when there is none.
    pub(crate) fn free_revoked(&self, other: &StateOther) -> bool {
        let mut revoked = self.revoked.lock();
        let Some(status) = revoked.remove(other) else { return false };
        // RFC 8881 §18.46.3: the bit remains until the loss of all of its kind has been acknowledged.
        if !revoked.has(status) {
            self.flags.fetch_and(!flag_of(status), Ordering::Relaxed);
        }
        true
    }

    /// Where the state that `id` names is kept.
    ///
    /// # Errors
    /// DELEG_REVOKED, or BAD_STATEID: also for one of another client or of an earlier incarnation of the
    /// server, for which NFSv4.1 has no status of its own any more (RFC 8881 §15.1.16).
    pub(crate) fn find(&self, id: &StateId) -> Result<(FileId, StateKind), Status> {
        if let Some(found) = self.states.lock().by_other.get(&id.other) {
            return Ok(*found);
        }
        if let Some((_, status)) = self.revoked.lock().by_other.get(&id.other) {
            return Err(*status);
        }
        Err(Status::BadStateId)
    }
}

/// The bit of SEQUENCE that tells a client that a stateid is worth this status.
fn flag_of(status: Status) -> u32 {
    match status {
        Status::AdminRevoked => sequence_flags::ADMIN_STATE_REVOKED,
        _ => sequence_flags::RECALLABLE_STATE_REVOKED,
    }
}

/// Who may reclaim what was held under this name: what the client calls itself (`co_ownerid`), and its
/// principal. Without that, anybody who knows a name could take back, after the server's restart, what
/// another client held.
pub fn record_name(owner: &[u8], principal: &Principal) -> Bytes {
    [&(owner.len() as u64).to_be_bytes()[..], owner, &principal.0].concat().into()
}

/// The rule for a stateid's sequence (RFC 8881 §8.2.2): 0 means the newest.
pub(crate) fn check_sequence(given: u32, current: u32) -> Result<(), Status> {
    match given {
        0 => Ok(()),
        given if given == current => Ok(()),
        // Wrapped arithmetic: what is less than half the circle behind is old.
        given if current.wrapping_sub(given) < u32::MAX / 2 => Err(Status::OldStateId),
        _ => Err(Status::BadStateId),
    }
}

/// The sequence after `current`; 0 is never used (RFC 8881 §8.2.2).
pub(crate) fn next_sequence(current: u32) -> u32 {
    current.checked_add(1).unwrap_or(1)
}
