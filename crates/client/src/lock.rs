//! Byte-range locks of open files: decided alone where a delegation allows it, by the server otherwise.

use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;

use crate::attributes::Attributes;
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::locks::length;
use crate::options::Version;
use crate::protocol::Locking;

/// What a lock keeps others from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// From exclusive locks.
    Shared,
    /// From any lock. Over NFSv4 the file must be open for writing.
    Exclusive,
}

/// A lock of somebody else that stands in the way of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// What it covers; an end of `u64::MAX` is the end of the file, however long.
    pub range: Range<u64>,
    /// Its kind.
    pub kind: LockKind,
}

/// How a request for a lock ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Granted,
    /// By the server.
    Denied,
    /// By the server, which calls when it has granted the lock.
    Queued,
    /// An open file of this client holds a conflicting lock; the server was not asked.
    HeldHere,
}

/// The first pause before asking again for a lock that another client holds; it doubles up to [`PAUSE_MAX`].
pub(crate) const PAUSE: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(100);
/// The pause where a caller is woken when the lock may be free: only a wake-up that was lost is waited for
/// so long.
pub(crate) const WOKEN_PAUSE: Duration = Duration::from_secs(2);
/// How long to wait before asking again a server that takes locks back from before its restart.
pub(crate) const GRACE_PAUSE: Duration = Duration::from_millis(500);

impl OpenFile {
    /// Takes a lock; with `wait` asks until it is granted.
    pub(crate) async fn lock(
        self: &Arc<Self>,
        range: &impl RangeBounds<u64>,
        kind: LockKind,
        wait: bool,
    ) -> Result<()> {
        self.check(true, "")?;
        let range = absolute(range)?;
        if self.take_lock_ahead(&range, kind).await {
            return Ok(());
        }
        if !wait {
            let answer = self.lock_once(&range, kind, false).await?;
            return if answer == Answer::Granted { Ok(()) } else { Err(Error::Locked) };
        }
        let protocol = self.shared.protocol();
        if protocol.as_v3().is_some_and(|mount| mount.can_wait_at_server()) {
            return self.lock_in_server_queue(range, kind).await;
        }
        // The server calls when the lock may be free. One of NFSv3 is asked again and again.
        let wait = protocol.as_v4().is_some();
        let turn = self.node.lock_queue.join(self.id, range.clone(), kind == LockKind::Exclusive);
        let (mut pause, mut is_overdue) = (PAUSE, false);
        loop {
            let longest = if !turn.has_come() || protocol.tells_of_free_locks() {
                WOKEN_PAUSE
            } else {
                next_pause(&mut pause)
            };
            // POSIX grants what no lock conflicts with, whoever waits: the order of asking only delays an
            // attempt.
            if (is_overdue || turn.has_come()) && self.lock_once(&range, kind, wait).await? == Answer::Granted
            {
                return Ok(());
            }
            is_overdue = !turn.sleep(longest).await;
        }
    }

    /// The lock that came with the open, if it is this one; another one goes back.
    async fn take_lock_ahead(self: &Arc<Self>, range: &Range<u64>, kind: LockKind) -> bool {
        let exclusive = kind == LockKind::Exclusive;
        self.note_use(Some((range.clone(), exclusive)));
        let Some(mount) = self.shared.protocol().as_v4() else { return false };
        if mount.take_lock_ahead(self, range, exclusive) {
            return true;
        }
        mount.drop_lock_ahead(self).await;
        mount.drop_locks_ahead_of_others(self).await;
        false
    }

    /// Asks once. With `wait` the server calls when the lock may be free, or is granted.
    pub(crate) async fn lock_once(
        self: &Arc<Self>,
        range: &Range<u64>,
        kind: LockKind,
        wait: bool,
    ) -> Result<Answer> {
        if let Some(answer) = self.lock_alone(range, kind == LockKind::Exclusive) {
            return Ok(answer);
        }
        // A caller who gives up does not stop it: a lock that is granted must be known, to be given up with
        // the file.
        let (file, range) = (Arc::clone(self), range.clone());
        match tokio::spawn(async move { file.lock_at_server(&range, kind, wait).await }).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::Usage("the runtime is being shut down")),
        }
    }

    async fn lock_at_server(
        self: &Arc<Self>,
        range: &Range<u64>,
        kind: LockKind,
        wait: bool,
    ) -> Result<Answer> {
        let exclusive = kind == LockKind::Exclusive;
        let started = Instant::now();
        loop {
            let Some(gate) = self.until_server_locks(exclusive).await? else {
                match self.lock_alone(range, exclusive) {
                    Some(answer) => return Ok(answer),
                    // The delegation has gone again.
                    None => continue,
                }
            };
            match self.lock_with_gate(range, kind, wait).await {
                Err(error) if self.waits_for_grace(&error, started) => {}
                outcome => return outcome,
            }
            drop(gate);
            tokio::time::sleep(GRACE_PAUSE).await;
        }
    }

    async fn lock_with_gate(&self, range: &Range<u64>, kind: LockKind, wait: bool) -> Result<Answer> {
        let exclusive = kind == LockKind::Exclusive;
        let _under_way = self.node.state.lock().unknown_locks.ask();
        let shared = &self.shared;
        let mut is_in_table = false;
        loop {
            let (asked, incarnation) = (Instant::now(), shared.protocol().incarnation());
            let denied = match shared.protocol().lock(self, (range.start, length(range)), kind, wait).await? {
                Locking::Denied => Some(Answer::Denied),
                Locking::Queued => Some(Answer::Queued),
                Locking::Granted(attributes) => {
                    self.learn_granted(range, exclusive, attributes, asked);
                    is_in_table = true;
                    None
                }
            };
            if let Some(answer) = denied {
                // Granted before the restart. What the owner held before it asked stays where nothing was
                // granted. Nothing has become free: to wake the first caller would be to wake this one.
                if is_in_table {
                    self.node.state.lock().locks.remove(self.id, range);
                }
                return Ok(answer);
            }
            // Known now, and so taken back from a server that restarts from here on. One that has restarted
            // before knows nothing of it, and is asked.
            if incarnation == shared.protocol().incarnation() {
                return Ok(Answer::Granted);
            }
        }
    }

    /// Whether to ask again when the server has had its grace period: without the gate until then, for
    /// whoever takes back what is held needs it.
    pub(crate) fn waits_for_grace(&self, error: &Error, started: Instant) -> bool {
        let is_over = self.shared.options.time_limit().is_some_and(|limit| started.elapsed() > limit);
        error.is_grace() && !is_over
    }

    fn learn_granted(
        &self,
        range: &Range<u64>,
        exclusive: bool,
        attributes: Option<Attributes>,
        asked: Instant,
    ) {
        let mut state = self.node.state.lock();
        state.locks.insert(self.id, range.clone(), exclusive);
        if !exclusive {
            // It may have been exclusive before.
            self.node.lock_queue.wake_next();
        }
        // What others wrote before they gave the lock up must be seen (RFC 8881 §10.3.2). The change
        // attribute tells whether there is any; the times of NFSv3 may be too coarse to.
        match attributes {
            Some(attributes) => {
                let at = (asked, Instant::now());
                state.known.learn(attributes, at, &self.shared.options.attribute_timeouts);
                if state.known.certain().is_none() || self.shared.is_uncertain(&state) {
                    // They crossed others that differ, or differ too little: what is cached may be from
                    // before the lock.
                    state.known.forget_content();
                }
            }
            None => {
                state.known.forget_content();
                state.known.doubt(Instant::now());
            }
        }
    }

    /// A lock of somebody else, of this client or another, that forbids this one; `None` when it would be
    /// granted now.
    pub(crate) async fn test_lock(
        self: &Arc<Self>,
        range: &impl RangeBounds<u64>,
        kind: LockKind,
    ) -> Result<Option<Conflict>> {
        self.check(true, "")?;
        let range = absolute(range)?;
        {
            let state = self.node.state.lock();
            let exclusive = kind == LockKind::Exclusive;
            let ours = state.locks.conflict(self.id, &range, exclusive);
            if ours.is_some() || state.grants_locks(exclusive) || self.locks_locally() {
                return Ok(ours.map(|held| Conflict {
                    range: held.range.clone(),
                    kind: if held.exclusive { LockKind::Exclusive } else { LockKind::Shared },
                }));
            }
        }
        self.shared.protocol().test_lock(self, range.start, length(&range), kind).await
    }

    /// What this open file has locked.
    pub(crate) fn held_locks(&self) -> Vec<(Range<u64>, LockKind)> {
        let state = self.node.state.lock();
        let kind = |exclusive| if exclusive { LockKind::Exclusive } else { LockKind::Shared };
        state.locks.of(self.id).map(|held| (held.range.clone(), kind(held.exclusive))).collect()
    }

    /// The object's gate, when no delegation is held that grants such locks; one that is on its way back is
    /// helped along. `None` when one is held after all.
    async fn until_server_locks(&self, exclusive: bool) -> Result<Option<OwnedMutexGuard<()>>> {
        loop {
            self.shared.protocol().before_lock(&self.node).await?;
            let gate = Arc::clone(&self.node.gate).lock_owned().await;
            let state = self.node.state.lock();
            if state.grants_locks(exclusive) {
                return Ok(None);
            }
            if state.delegation.is_none() || state.is_delegated() {
                drop(state);
                return Ok(Some(gate));
            }
        }
    }

    /// True when the server is never told of locks.
    fn locks_locally(&self) -> bool {
        self.shared.options.local_locks && self.shared.version == Version::V3
    }

    /// Decides without the server, where that is possible: `None` where it is not.
    fn lock_alone(&self, range: &Range<u64>, exclusive: bool) -> Option<Answer> {
        let mut state = self.node.state.lock();
        if state.locks.conflicts(self.id, range, exclusive) {
            return Some(Answer::HeldHere);
        }
        if !state.grants_locks(exclusive) && !self.locks_locally() {
            return None;
        }
        state.locks.insert(self.id, range.clone(), exclusive);
        if !exclusive {
            self.node.lock_queue.wake_next();
        }
        Some(Answer::Granted)
    }

    /// Gives a range back.
    pub(crate) async fn unlock(self: &Arc<Self>, range: &impl RangeBounds<u64>) -> Result<()> {
        let range = absolute(range)?;
        if self.unlock_unseen(&range) {
            return Ok(());
        }
        // Whoever takes the lock next must find the data at the server.
        let flushed = if self.has_pending() { self.flush().await } else { Ok(()) };
        let unlocked = match self.gave_up_lost_locks().await {
            true => Err(Error::Revoked),
            false => self.unlock_range(&range).await,
        };
        unlocked.and(flushed)
    }

    /// True when nobody but this client knows of the lock, nor of the data: a delegation for writing is held,
    /// and with it they go to the server before anybody gets the lock. What went wrong with them, sync and
    /// close tell.
    fn unlock_unseen(&self, range: &Range<u64>) -> bool {
        let mut state = self.node.state.lock();
        let v4 = self.v4.lock();
        if v4.lost_locks || v4.lock.is_some() || !state.is_write_delegated() {
            return false;
        }
        state.locks.remove(self.id, range);
        self.node.lock_queue.wake_next();
        if let Some(writer) = &self.writer {
            writer.note_unlocked();
        }
        true
    }

    /// The server has taken the locks away, which the caller is to be told when it gives them up.
    async fn gave_up_lost_locks(&self) -> bool {
        self.shared.protocol().give_up_lost_locks(self).await
    }

    /// Gives everything back.
    pub(crate) async fn unlock_all(self: &Arc<Self>) -> Result<()> {
        if self.gave_up_lost_locks().await {
            return Err(Error::Revoked);
        }
        if self.node.state.lock().locks.holds_nothing(self.id) {
            return Ok(());
        }
        self.unlock_range(&(0..u64::MAX)).await
    }

    pub(crate) async fn unlock_range(self: &Arc<Self>, range: &Range<u64>) -> Result<()> {
        if self.unlock_alone(range) {
            return Ok(());
        }
        let (file, range) = (Arc::clone(self), range.clone());
        match tokio::spawn(async move { file.unlock_at_server(&range).await }).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::Usage("the runtime is being shut down")),
        }
    }

    async fn unlock_at_server(self: &Arc<Self>, range: &Range<u64>) -> Result<()> {
        let started = Instant::now();
        loop {
            // With the gate in any case: no delegation goes back meanwhile, with which the server would be
            // told of the lock once more.
            let gate = match self.until_server_locks(false).await? {
                Some(gate) => gate,
                None => Arc::clone(&self.node.gate).lock_owned().await,
            };
            if self.unlock_alone(range) {
                drop(gate);
                // They may have been lost meanwhile.
                return if self.gave_up_lost_locks().await { Err(Error::Revoked) } else { Ok(()) };
            }
            let last = self.node.state.lock().locks.holds_nothing_but(self.id, range);
            match self.shared.protocol().unlock(self, range.start, length(range), last).await {
                Err(error) if self.waits_for_grace(&error, started) => {}
                outcome => {
                    // Not before the server has given it up: a delegation would grant it to another of our
                    // files, and the server refuse to take that over.
                    self.forget_lock(range);
                    return outcome;
                }
            }
            drop(gate);
            tokio::time::sleep(GRACE_PAUSE).await;
        }
    }

    /// True when that was all: nothing is held there, or the server does not know of it.
    fn unlock_alone(&self, range: &Range<u64>) -> bool {
        let mut state = self.node.state.lock();
        let nothing =
            !state.locks.of(self.id).any(|held| held.range.start < range.end && range.start < held.range.end);
        let known_there = self.v4.lock().lock.is_some();
        if !nothing && (known_there || !(state.is_delegated() || self.locks_locally())) {
            return false;
        }
        state.locks.remove(self.id, range);
        self.node.lock_queue.wake_next();
        true
    }

    /// Notes that a range is not locked any more, and wakes the callers whose turn it is.
    fn forget_lock(&self, range: &Range<u64>) {
        self.node.state.lock().locks.remove(self.id, range);
        self.node.lock_queue.wake_next();
    }
}

/// Doubles the pause before asking again.
pub(crate) fn next_pause(pause: &mut Duration) -> Duration {
    *pause = (*pause * 2).min(PAUSE_MAX);
    *pause
}

/// From the first byte to behind the last one; an open end is `u64::MAX`.
pub(crate) fn absolute(range: &impl RangeBounds<u64>) -> Result<Range<u64>> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => u64::MAX,
    };
    if start < end { Ok(start..end) } else { Err(Error::Usage("the range is empty")) }
}

/// The range of a lock on the wire, whose length `u64::MAX` reaches to the end of the file.
pub(crate) fn from_wire(offset: u64, length: u64) -> Range<u64> {
    offset..offset.saturating_add(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_range_becomes_first_byte_and_end() {
        assert_eq!(absolute(&(..)).unwrap(), 0..u64::MAX);
        assert_eq!(absolute(&(5..)).unwrap(), 5..u64::MAX);
        assert_eq!(absolute(&(5..=9)).unwrap(), 5..10);
        assert_eq!(absolute(&(..7)).unwrap(), 0..7);
        assert!(absolute(&(7..7)).is_err());
        assert_eq!((length(&(5..u64::MAX)), length(&(5..10))), (u64::MAX, 5));
    }
}
