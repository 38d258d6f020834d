//! Who may send next: the slots of a session, handed out in the order in which they were asked for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use proto::nfs4::{SessionId, SlotId};
use tokio::sync::oneshot;

use crate::slots::{Slot, SlotTable};

/// A session, until it is given up.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: SessionId,
    /// The incarnation of the client that may use it.
    epoch: AtomicU64,
    /// The most slots that we use.
    slots_max: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    table: SlotTable,
    waiting: VecDeque<oneshot::Sender<HeldSlot>>,
    closed: bool,
}

/// A slot in the hands of a request. Dropped without a word from the server, it is found out whether that has
/// taken the request: see [`HeldSlot::finish`].
#[derive(Debug)]
pub(super) struct HeldSlot {
    session: Arc<Session>,
    pub(super) slot: Slot,
    /// How long it was waited for.
    pub(super) queued: Duration,
    /// The request may be at the server, and no answer has come.
    pub(super) in_doubt: bool,
    finished: bool,
}

impl Session {
    pub(super) fn new(id: SessionId, epoch: u64, slots: u32, slots_max: u32) -> Arc<Self> {
        let slots_max = slots_max.max(1);
        let table = SlotTable::new(slots.min(slots_max));
        let state = State { table, waiting: VecDeque::new(), closed: false };
        Arc::new(Self { id, epoch: AtomicU64::new(epoch), slots_max, state: Mutex::new(state) })
    }

    /// The incarnation of the client that may use it.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// The session goes on as another incarnation's: the server has restarted and kept it.
    pub(super) fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::SeqCst);
    }

    /// True when it was given up.
    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Waits for a slot; `None` when the session is given up.
    pub(super) async fn acquire(self: &Arc<Self>) -> Option<HeldSlot> {
        let receiver = {
            let mut state = self.state.lock();
            if state.closed {
                return None;
            }
            if state.waiting.is_empty()
                && let Some(slot) = state.table.acquire()
            {
                return Some(self.held(slot));
            }
            let (sender, receiver) = oneshot::channel();
            state.waiting.push_back(sender);
            receiver
        };
        let waiting = Instant::now();
        let mut slot = receiver.await.ok()?;
        slot.queued = waiting.elapsed();
        Some(slot)
    }

    /// The session is given up: who waits for a slot goes on to the next session.
    pub(super) fn close(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.closed = true;
            std::mem::take(&mut state.waiting)
        };
        drop(waiting);
    }

    /// The highest slot in use, and what the server wants it to be at most.
    pub(super) fn highest_in_use(&self) -> SlotId {
        self.state.lock().table.highest_in_use()
    }

    /// What the server says of the number of slots.
    pub(super) fn set_target(self: &Arc<Self>, target: SlotId) {
        let mut state = self.state.lock();
        if state.table.target() != target.0.saturating_add(1).min(self.slots_max) {
            state.table.set_target(target, self.slots_max);
            self.hand_out(state);
        }
    }

    /// Slots that may be used.
    pub(super) fn slots(&self) -> u32 {
        self.state.lock().table.target()
    }

    fn held(self: &Arc<Self>, slot: Slot) -> HeldSlot {
        HeldSlot { session: Arc::clone(self), slot, queued: Duration::ZERO, in_doubt: false, finished: false }
    }

    fn release(self: &Arc<Self>, slot: Slot, taken: bool) {
        let mut state = self.state.lock();
        state.table.release(slot, taken);
        self.hand_out(state);
    }

    fn hand_out(self: &Arc<Self>, mut state: parking_lot::MutexGuard<'_, State>) {
        // Those who gave up waiting give their slot back when it is dropped, which must happen without the
        // lock.
        let mut unwanted = Vec::new();
        while !state.waiting.is_empty() {
            let Some(slot) = state.table.acquire() else { break };
            let Some(next) = state.waiting.pop_front() else { break };
            if let Err(slot) = next.send(self.held(slot)) {
                unwanted.push(slot);
            }
        }
        drop(state);
        drop(unwanted);
    }
}

impl HeldSlot {
    /// The session that it is of.
    pub(super) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The request is over; `taken` when the server has counted it.
    pub(super) fn finish(mut self, taken: bool) {
        self.finished = true;
        self.session.release(self.slot, taken);
    }

    /// A copy that takes over from one whose request was abandoned.
    pub(super) fn take_over(&mut self) -> Self {
        self.finished = true;
        Self {
            session: Arc::clone(&self.session),
            slot: self.slot,
            queued: self.queued,
            in_doubt: true,
            finished: false,
        }
    }

    /// True when nobody has said what became of it.
    pub(super) fn is_abandoned(&self) -> bool {
        !self.finished && self.in_doubt
    }
}

impl Drop for HeldSlot {
    /// A slot in doubt stays out of use: whoever drops it has [`HeldSlot::take_over`] called first, or the
    /// session is lost.
    fn drop(&mut self) {
        if !self.finished && !self.in_doubt {
            self.session.release(self.slot, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slot_goes_to_who_has_waited_longest() {
        let session = Session::new(SessionId([0; 16]), 1, 1, 1);
        let first = session.acquire().await.unwrap();
        let waiting = |session: &Arc<Session>| {
            let session = Arc::clone(session);
            tokio::spawn(async move { session.acquire().await })
        };
        let second = waiting(&session);
        tokio::time::sleep(Duration::from_millis(1)).await;
        let third = waiting(&session);
        tokio::time::sleep(Duration::from_millis(1)).await;
        first.finish(true);
        let second = second.await.unwrap().unwrap();
        assert_eq!(second.slot.sequence.0, 2);
        assert!(!third.is_finished());
        drop(second);
        assert_eq!(third.await.unwrap().unwrap().slot.sequence.0, 2, "the second was never sent");
    }

    #[tokio::test]
    async fn closing_a_session_sends_away_who_waits() {
        let session = Session::new(SessionId([0; 16]), 1, 1, 1);
        let _held = session.acquire().await.unwrap();
        let waiting = tokio::spawn({
            let session = Arc::clone(&session);
            async move { session.acquire().await.is_none() }
        });
        tokio::time::sleep(Duration::from_millis(1)).await;
        session.close();
        assert!(waiting.await.unwrap());
        assert!(session.acquire().await.is_none());
    }

    #[tokio::test]
    async fn a_raised_target_serves_who_waits() {
        let session = Session::new(SessionId([0; 16]), 1, 1, 4);
        let _held = session.acquire().await.unwrap();
        let waiting = tokio::spawn({
            let session = Arc::clone(&session);
            async move { session.acquire().await.unwrap().slot.id }
        });
        tokio::time::sleep(Duration::from_millis(1)).await;
        session.set_target(SlotId(1));
        assert_eq!(waiting.await.unwrap(), SlotId(1));
    }
}
