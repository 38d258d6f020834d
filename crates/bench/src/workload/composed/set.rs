//! The sets of one client in one run: which entries are there, and who has them.
//!
//! Owns the choice of entries. Where files come and go, an entry is used by one thread at a time, so that
//! what is in it is known; where they do not, threads share them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::tree::Tree;
use crate::experiment::Composed;
use crate::experiment::composed::Pick;
use crate::seeded::Seeded;
use crate::workload::{Error, Station};

/// Streams of random choices beside those of threads.
const STREAM: u32 = u32::MAX;

/// All sets of one client, by name.
pub(super) struct Sets {
    by_name: BTreeMap<String, Set>,
}

impl Sets {
    pub(super) fn new(workload: &Composed, station: &Station) -> Self {
        let set = |(name, number): (&String, u32)| {
            let tree = Tree::new(workload, name, &station.place, station.client, station.run);
            let random = (workload.sets[name].pick == Pick::Random).then(|| station.random(STREAM - number));
            (name.clone(), Set::new(tree, workload.sets[name].entries, workload.changes(name), random))
        };
        Self { by_name: workload.sets.keys().zip(0..).map(set).collect() }
    }

    /// The set called `name`; the workload was checked to name no others.
    pub(super) fn get(&self, name: &str) -> &Set {
        &self.by_name[name]
    }

    /// Walks to the top of each set: applications work in a directory.
    pub(super) async fn visit(&self, station: &Station) -> Result<(), Error> {
        for set in self.by_name.values() {
            station.mount.visit(set.tree.root()).await?;
        }
        Ok(())
    }

    /// Drops what the client keeps of the files that are there.
    pub(super) async fn forget(&self, station: &Station) -> Result<(), Error> {
        for set in self.by_name.values() {
            for entry in set.present() {
                station.mount.forget(&set.tree.path(entry)).await?;
            }
        }
        Ok(())
    }
}

/// An entry and what its file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its number, which names it.
    pub(super) number: u64,
    /// The size of its file, in bytes.
    pub(super) size: u64,
    /// The entry that the contents are those of: another after a rename.
    pub(super) content: u64,
}

/// What one thread has taken and gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Present,
    Absent,
}

/// One set of one client.
pub(super) struct Set {
    pub(super) tree: Tree,
    entries: u64,
    changes: bool,
    turn: AtomicU64,
    state: Mutex<State>,
    /// Something was given back.
    freed: Notify,
    directories: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    random: Option<Seeded>,
    present: VecDeque<Entry>,
    absent: VecDeque<Entry>,
    taken: u64,
}

impl State {
    fn take(&mut self, wanted: Presence) -> Option<Entry> {
        let entries = match wanted {
            Presence::Present => &mut self.present,
            Presence::Absent => &mut self.absent,
        };
        let index = match &mut self.random {
            Some(random) => random.below(entries.len() as u64) as usize,
            None => 0,
        };
        let entry = if index == 0 { entries.pop_front() } else { entries.swap_remove_front(index) }?;
        self.taken += 1;
        Some(entry)
    }
}

impl Set {
    fn new(tree: Tree, entries: u64, changes: bool, random: Option<Seeded>) -> Self {
        let there = tree.preallocated();
        let entry = |number| Entry {
            number,
            size: if number < there { tree.size(number) } else { 0 },
            content: number,
        };
        let mut state = State { random, ..State::default() };
        if changes {
            state.present = (0..there).map(entry).collect();
            state.absent = (there..entries).map(entry).collect();
        }
        Self {
            entries: if changes { entries } else { there },
            changes,
            turn: AtomicU64::new(0),
            state: Mutex::new(state),
            freed: Notify::new(),
            directories: AtomicU64::new(0),
            tree,
        }
    }

    /// The entries that are there and that nobody has.
    fn present(&self) -> Vec<u64> {
        if !self.changes {
            return (0..self.entries).collect();
        }
        self.state.lock().present.iter().map(|entry| entry.number).collect()
    }

    /// Takes an entry, waiting while others have them all; none when there is none left. `at_once` does not
    /// wait.
    pub(super) async fn take(&self, wanted: Presence, at_once: bool) -> Option<Entry> {
        if !self.changes {
            return (wanted == Presence::Present).then(|| self.shared_entry()).flatten();
        }
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            {
                let mut state = self.state.lock();
                if let Some(entry) = state.take(wanted) {
                    return Some(entry);
                }
                if state.taken == 0 || at_once {
                    return None;
                }
            }
            freed.await;
        }
    }

    fn shared_entry(&self) -> Option<Entry> {
        if self.entries == 0 {
            return None;
        }
        let number = match &mut self.state.lock().random {
            Some(random) => random.below(self.entries),
            None => self.turn.fetch_add(1, Ordering::Relaxed) % self.entries,
        };
        Some(Entry { number, size: self.tree.size(number), content: number })
    }

    /// Gives an entry back, which now is there or not.
    pub(super) fn give_back(&self, entry: Entry, now: Presence) {
        if !self.changes {
            return;
        }
        let mut state = self.state.lock();
        state.taken -= 1;
        match now {
            Presence::Present => state.present.push_back(entry),
            Presence::Absent => state.absent.push_back(Entry { size: 0, content: entry.number, ..entry }),
        }
        drop(state);
        self.freed.notify_waiters();
    }

    /// A name for a directory that no other has.
    pub(super) fn new_directory(&self, beside: u64) -> String {
        let number = self.directories.fetch_add(1, Ordering::Relaxed);
        format!("{}/made-{number}", self.tree.directory(beside))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::tree::tests::tree;
    use super::*;

    fn set(entries: u64, changes: bool, random: bool) -> Set {
        Set::new(tree(entries, 20), entries, changes, random.then(|| Seeded::new(1, 1)))
    }

    async fn take(set: &Set, wanted: Presence) -> Option<u64> {
        set.take(wanted, true).await.map(|entry| entry.number)
    }

    #[tokio::test]
    async fn entries_are_picked_in_rotation() {
        let set = set(5, true, false);
        assert_eq!(take(&set, Presence::Absent).await, Some(4), "four of five are there");
        for turn in 0..8 {
            let entry = set.take(Presence::Present, true).await.unwrap();
            assert_eq!(entry.number, turn % 4);
            set.give_back(entry, Presence::Present);
        }
    }

    #[tokio::test]
    async fn at_random_every_entry_has_its_turn() {
        for changes in [true, false] {
            let set = set(10, changes, true);
            let mut seen = Vec::new();
            for _ in 0..200 {
                let entry = set.take(Presence::Present, true).await.unwrap();
                seen.push(entry.number);
                set.give_back(entry, Presence::Present);
            }
            assert!((0..8).all(|number| seen.contains(&number)) && seen.iter().all(|number| *number < 8));
            assert!(seen.windows(2).any(|pair| pair[1] != (pair[0] + 1) % 8), "that is a rotation");
        }
    }

    #[tokio::test]
    async fn set_waits_for_a_taken_file_but_not_for_an_absent_one() {
        let set = Arc::new(set(1, true, false));
        let entry = set.take(Presence::Present, true).await.unwrap();
        assert_eq!(take(&set, Presence::Present).await, None, "at once");
        let waiting = tokio::spawn({
            let set = set.clone();
            async move { set.take(Presence::Present, false).await }
        });
        tokio::task::yield_now().await;
        set.give_back(entry, Presence::Present);
        assert_eq!(waiting.await.unwrap(), Some(entry));
        set.give_back(entry, Presence::Absent);
        assert_eq!(set.take(Presence::Present, false).await, None, "nobody can give one back");
        let gone = set.take(Presence::Absent, false).await.unwrap();
        assert_eq!((gone.number, gone.size, gone.content), (0, 0, 0));
    }

    #[tokio::test]
    async fn threads_share_what_does_not_change() {
        let set = set(5, false, false);
        let mut taken = Vec::new();
        for _ in 0..5 {
            taken.extend(take(&set, Presence::Present).await);
        }
        assert_eq!(taken, [0, 1, 2, 3, 0]);
        assert_eq!(take(&set, Presence::Absent).await, None);
        assert_eq!(set.present(), [0, 1, 2, 3]);
    }
}
