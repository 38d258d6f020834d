//! Opens that nobody uses any more, waiting for a request that their CLOSE can ride on. Pure: `now` is an
//! argument.

use std::collections::VecDeque;
use std::time::Instant;

use super::state::ServerOpen;
use crate::node::Handle;

/// The most that wait; beyond, who closes a file waits for the server.
pub(super) const WAITING_MAX: usize = 256;

/// An open to be given up at the server. Everything written under it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Closing {
    pub(super) object: Handle,
    pub(super) open: ServerOpen,
    /// When it goes out by itself.
    pub(super) due: Instant,
}

/// Those that wait, the first of which goes first.
#[derive(Debug, Default)]
pub(super) struct Closes {
    waiting: VecDeque<Closing>,
    /// A task sees to it that none waits for too long.
    watched: bool,
}

impl Closes {
    /// Adds one; true when a task must be started that sends what is due.
    pub(super) fn push(&mut self, closing: Closing) -> bool {
        self.waiting.push_back(closing);
        !std::mem::replace(&mut self.watched, true)
    }

    /// Up to `count` of those that belong to the present incarnation; those of earlier ones are gone anyway.
    pub(super) fn take(&mut self, count: usize, epoch: u64) -> VecDeque<Closing> {
        self.waiting.retain(|closing| closing.open.epoch == epoch);
        self.waiting.drain(..count.min(self.waiting.len())).collect()
    }

    /// As [`Closes::take`], but none before one is due: then no request comes for the others either.
    pub(super) fn take_due(&mut self, now: Instant, count: usize, epoch: u64) -> VecDeque<Closing> {
        let due = self.waiting.iter().any(|closing| closing.due <= now);
        self.take(if due { count } else { 0 }, epoch)
    }

    /// Requests that carried them were not answered: they wait on.
    pub(super) fn put_back(&mut self, closings: impl DoubleEndedIterator<Item = Closing>) {
        for closing in closings.rev() {
            self.waiting.push_front(closing);
        }
    }

    /// Those of `object` go first: the next request might conflict with them. True when there are any.
    pub(super) fn promote(&mut self, object: &Handle) -> bool {
        let waiting = std::mem::take(&mut self.waiting);
        let (first, rest): (VecDeque<_>, VecDeque<_>) =
            waiting.into_iter().partition(|closing| closing.object == *object);
        let any = !first.is_empty();
        self.waiting = first;
        self.waiting.extend(rest);
        any
    }

    /// When the next one is due; `None` when there is none, and the task that asks ends.
    pub(super) fn next_due(&mut self) -> Option<Instant> {
        let due = self.waiting.iter().map(|closing| closing.due).min();
        self.watched = due.is_some();
        due
    }

    /// True when no more may wait.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_MAX
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use proto::nfs4::StateId;

    use super::*;

    const WAIT: Duration = Duration::from_millis(20);

    fn closing(owner: u64, epoch: u64, due: Instant) -> Closing {
        let open = ServerOpen { owner, state_id: StateId::ANONYMOUS, read: true, write: false, epoch };
        Closing { object: Handle(Bytes::copy_from_slice(&owner.to_be_bytes())), open, due }
    }

    fn owners(closings: &VecDeque<Closing>) -> Vec<u64> {
        closings.iter().map(|closing| closing.open.owner).collect()
    }

    #[test]
    fn the_first_to_wait_rides_first_and_one_task_watches() {
        let (mut closes, now) = (Closes::default(), Instant::now());
        assert!(closes.push(closing(1, 1, now + WAIT)));
        assert!(!closes.push(closing(2, 1, now + 2 * WAIT)));
        assert_eq!(closes.next_due(), Some(now + WAIT));
        assert_eq!(owners(&closes.take(1, 1)), [1]);
        assert_eq!(owners(&closes.take(9, 1)), [2]);
        assert_eq!(closes.next_due(), None);
        assert!(closes.push(closing(3, 1, now)), "the task has ended");
    }

    #[test]
    fn none_goes_by_itself_before_one_is_due() {
        let (mut closes, now) = (Closes::default(), Instant::now());
        closes.push(closing(1, 1, now + WAIT));
        closes.push(closing(2, 1, now + 2 * WAIT));
        assert!(closes.take_due(now, 9, 1).is_empty());
        assert_eq!(owners(&closes.take_due(now + WAIT, 9, 1)), [1, 2]);
    }

    #[test]
    fn opens_of_an_earlier_incarnation_need_no_close() {
        let (mut closes, now) = (Closes::default(), Instant::now());
        closes.push(closing(1, 1, now));
        closes.push(closing(2, 2, now));
        assert_eq!(owners(&closes.take(9, 2)), [2]);
    }

    #[test]
    fn conflicting_close_goes_first_and_unanswered_close_waits() {
        let (mut closes, now) = (Closes::default(), Instant::now());
        for owner in 1..4 {
            closes.push(closing(owner, 1, now));
        }
        assert!(closes.promote(&closing(3, 1, now).object));
        assert!(!closes.promote(&closing(9, 1, now).object));
        let taken = closes.take(2, 1);
        assert_eq!(owners(&taken), [3, 1]);
        closes.put_back(taken.into_iter());
        assert_eq!(owners(&closes.take(9, 1)), [3, 1, 2]);
    }

    #[test]
    fn a_bound_holds_for_those_that_wait() {
        let mut closes = Closes::default();
        for owner in 0..WAITING_MAX as u64 {
            assert!(!closes.is_full());
            closes.push(closing(owner, 1, Instant::now()));
        }
        assert!(closes.is_full());
    }
}
