//! Turns: how much of what it has under way a connection may do before others get the thread.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tokio::runtime::Handle;

/// What a connection may do before others have their turn, however much of it is under way: so many small
/// calls, about a tenth of a millisecond, or one large one.
const TURN_COST_MAX: usize = 64;
/// Where every thread has a connection with more than this at once, each gives way after so much of it. Its
/// replies wait for those to the rest of a turn: a system call for so few would cost more than they do.
const SHARE_COST_MAX: usize = 24;

/// How many of a server's connections have much to do. As long as there is a thread without one, who has
/// little to do gets that.
#[derive(Debug)]
pub(crate) struct Crowd {
    busy: AtomicUsize,
    threads: usize,
}

impl Crowd {
    /// Of connections on so many threads, or else on all of this runtime.
    pub(crate) fn new(threads: Option<usize>) -> Self {
        let all = || Handle::try_current().map_or(1, |runtime| runtime.metrics().num_workers());
        let threads = threads.unwrap_or_else(all);
        Self { busy: AtomicUsize::new(0), threads }
    }

    /// Nobody gives way before the end of a turn.
    pub(crate) const fn never() -> Self {
        Self { busy: AtomicUsize::new(0), threads: usize::MAX }
    }

    fn is_crowded(&self) -> bool {
        self.busy.load(Relaxed) >= self.threads
    }
}

/// The turns of a connection.
#[derive(Debug)]
pub(crate) struct Turns<'a> {
    crowd: &'a Crowd,
    /// It is counted among those that have much to do.
    is_busy: bool,
    /// When others last had the thread, each of the threads had a connection with much to do.
    are_shared: bool,
    /// What was done since others had the thread.
    turn_cost: usize,
    /// What was done since replies left.
    held_cost: usize,
}

impl<'a> Turns<'a> {
    pub(crate) const fn new(crowd: &'a Crowd) -> Self {
        Self { crowd, is_busy: false, are_shared: false, turn_cost: 0, held_cost: 0 }
    }

    /// Others have had the thread.
    pub(crate) fn begin(&mut self) {
        self.turn_cost = 0;
        self.are_shared = self.crowd.is_crowded();
    }

    /// Something was done.
    pub(crate) fn charge(&mut self, cost: usize) {
        self.turn_cost += cost;
        self.held_cost += cost;
        if self.share_cost() >= SHARE_COST_MAX && !self.is_busy {
            self.is_busy = true;
            self.crowd.busy.fetch_add(1, Relaxed);
        }
    }

    /// What was done since others had the thread, or replies left.
    fn share_cost(&self) -> usize {
        self.turn_cost.min(self.held_cost)
    }

    /// True where every thread has a connection with much to do.
    pub(crate) fn are_shared(&self) -> bool {
        self.are_shared
    }

    /// True when it is the others' turn.
    pub(crate) fn is_over(&self) -> bool {
        self.turn_cost >= TURN_COST_MAX || (self.are_shared && self.share_cost() >= SHARE_COST_MAX)
    }

    /// True when replies that could leave are to wait for those to what comes behind it.
    pub(crate) fn holds_replies(&self) -> bool {
        self.turn_cost < TURN_COST_MAX && self.is_over() && self.held_cost < TURN_COST_MAX
    }

    /// The replies leave.
    pub(crate) fn replied(&mut self) {
        self.held_cost = 0;
    }

    /// There is nothing more to do for now.
    pub(crate) fn rest(&mut self) {
        if std::mem::take(&mut self.is_busy) {
            self.crowd.busy.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for Turns<'_> {
    fn drop(&mut self) {
        self.rest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd(threads: usize) -> Crowd {
        Crowd { busy: AtomicUsize::new(0), threads }
    }

    /// Does small calls until the turn is over; how many.
    fn turn(turns: &mut Turns<'_>) -> usize {
        turns.begin();
        let mut calls = 0;
        while !turns.is_over() {
            turns.charge(1);
            calls += 1;
        }
        calls
    }

    #[test]
    fn busy_connection_has_whole_turns_while_a_thread_is_free() {
        let crowd = crowd(2);
        let mut first = Turns::new(&crowd);
        for _ in 0..3 {
            assert_eq!(turn(&mut first), TURN_COST_MAX);
            assert!(!first.holds_replies());
            first.replied();
        }
        let mut second = Turns::new(&crowd);
        assert_eq!(turn(&mut second), TURN_COST_MAX, "the one beside it is alone when it begins");
        assert_eq!((turn(&mut first), turn(&mut second)), (SHARE_COST_MAX, SHARE_COST_MAX));
        drop(second);
        assert_eq!(turn(&mut first), TURN_COST_MAX, "the other is gone");
    }

    #[test]
    fn a_share_keeps_its_replies_until_they_are_worth_a_system_call() {
        let crowd = crowd(1);
        let mut turns = Turns::new(&crowd);
        turn(&mut turns);
        turns.replied();
        let mut calls = 0;
        for _ in 0..100 {
            calls += turn(&mut turns);
            if !turns.holds_replies() {
                assert_eq!(calls, TURN_COST_MAX.next_multiple_of(SHARE_COST_MAX));
                turns.replied();
                calls = 0;
            }
        }
    }

    #[test]
    fn idle_connection_is_not_busy() {
        let crowd = crowd(1);
        let mut turns = Turns::new(&crowd);
        turns.begin();
        turns.charge(SHARE_COST_MAX - 1);
        assert!(!crowd.is_crowded());
        turns.charge(1);
        assert!(crowd.is_crowded());
        for _ in 0..2 {
            turns.rest();
            assert_eq!(crowd.busy.load(Relaxed), 0);
        }
        assert_eq!(turn(&mut turns), TURN_COST_MAX);
        drop(turns);
        assert_eq!(crowd.busy.load(Relaxed), 0, "it ended in the middle of a turn");
    }

    #[test]
    fn where_nobody_is_asked_to_turns_are_whole() {
        let never = Crowd::never();
        let mut turns = Turns::new(&never);
        assert_eq!((turn(&mut turns), turn(&mut turns)), (TURN_COST_MAX, TURN_COST_MAX));
    }
}
