//! The table of calls: pure, bounded, and the same for the same calls at the same times.
//!
//! A full table forgets the oldest reply of the client that has the most, so that a busy client does not take
//! the place of one whose connection is lost just then. A call under way is never forgotten.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;

use super::key::Key;
use super::{Results, RetryLimits};

/// What a call takes beside its reply, in bytes: its key in two maps, its number in two, and their slack.
const CALL_BYTES: usize = 320;
/// Replies that are forgotten for their age by one call: more than one, so that they become fewer.
const EXPIRED_AT_ONCE: usize = 4;

/// What is known of a call that begins; `W` tells those who wait for it how it ends.
pub(super) enum CallStatus<W> {
    /// Nothing: it runs now, and [`Table::finish`] must follow.
    New,
    /// It runs already.
    Running(W),
    /// It has run, and these are its results.
    Completed(Results),
    /// Nothing, and there is no room: all others are under way.
    Full,
}

enum CallState<W> {
    /// Somebody may wait for it.
    Running(Option<W>),
    Completed {
        number: u64,
        results: Results,
    },
}

/// A reply in the order of their ends.
struct Expiry {
    key: Key,
    until_ms: u64,
}

/// All calls that are known.
pub(super) struct Table<W> {
    limits: RetryLimits,
    calls: HashMap<Key, CallState<W>>,
    /// Replies by number, the oldest first.
    kept: BTreeMap<u64, Expiry>,
    /// The numbers of each client's replies, the oldest first.
    clients: HashMap<IpAddr, VecDeque<u64>>,
    /// How many replies each client has.
    shares: BTreeSet<(usize, IpAddr)>,
    next_number: u64,
    bytes: usize,
}

impl<W: Clone + Default> Table<W> {
    pub(super) fn new(limits: RetryLimits) -> Self {
        assert!(limits.replies_max > 0 && limits.bytes_max >= CALL_BYTES, "there is room for a call");
        Self {
            limits,
            calls: HashMap::new(),
            kept: BTreeMap::new(),
            clients: HashMap::new(),
            shares: BTreeSet::new(),
            next_number: 0,
            bytes: 0,
        }
    }

    /// The memory of the replies, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A call has come.
    pub(super) fn begin(&mut self, key: Key, now_ms: u64) -> CallStatus<W> {
        self.forget_expired(now_ms);
        match self.calls.get_mut(&key) {
            Some(CallState::Running(waiting)) => {
                return CallStatus::Running(waiting.get_or_insert_default().clone());
            }
            Some(CallState::Completed { number, results }) => {
                if self.kept.get(number).is_some_and(|kept| now_ms < kept.until_ms) {
                    return CallStatus::Completed(results.clone());
                }
                self.forget(key);
            }
            None => {}
        }
        while self.calls.len() >= self.limits.replies_max || self.bytes + CALL_BYTES > self.limits.bytes_max {
            if !self.forget_one() {
                return CallStatus::Full;
            }
        }
        self.calls.insert(key, CallState::Running(None));
        self.bytes += CALL_BYTES;
        CallStatus::New
    }

    /// A call that was new has ended, with results that may be repeated or without; yields who is to be told.
    /// What alone is too large is not kept.
    pub(super) fn finish(&mut self, key: Key, results: Option<Results>, now_ms: u64) -> Option<W> {
        let Some(CallState::Running(waiting)) = self.calls.remove(&key) else { return None };
        let fits = |results: &Results| results.len() + CALL_BYTES <= self.limits.bytes_max;
        let Some(results) = results.filter(fits) else {
            self.bytes -= CALL_BYTES;
            return waiting;
        };
        let number = self.next_number;
        self.next_number += 1;
        self.bytes += results.len();
        self.calls.insert(key, CallState::Completed { number, results });
        let until_ms = now_ms.saturating_add(u64::from(self.limits.seconds) * 1000);
        self.kept.insert(number, Expiry { key, until_ms });
        self.change_share(key.client, |numbers| numbers.push_back(number));
        while self.bytes > self.limits.bytes_max && self.forget_one() {}
        waiting
    }

    /// Forgets the oldest reply of the client with the most; false when there is none.
    fn forget_one(&mut self) -> bool {
        let Some(&(_, client)) = self.shares.last() else { return false };
        let oldest = self.clients.get(&client).and_then(|numbers| numbers.front());
        let key = oldest.and_then(|number| self.kept.get(number)).map(|kept| kept.key);
        key.map(|key| self.forget(key)).is_some()
    }

    fn forget_expired(&mut self, now_ms: u64) {
        for _ in 0..EXPIRED_AT_ONCE {
            match self.kept.first_key_value() {
                Some((_, kept)) if kept.until_ms <= now_ms => self.forget(kept.key),
                _ => return,
            }
        }
    }

    /// Forgets a call that has ended.
    fn forget(&mut self, key: Key) {
        let Some(CallState::Completed { number, results }) = self.calls.remove(&key) else { return };
        self.bytes -= results.len() + CALL_BYTES;
        self.kept.remove(&number);
        self.change_share(key.client, |numbers| {
            // Nearly always the first.
            if let Some(place) = numbers.iter().position(|other| *other == number) {
                numbers.remove(place);
            }
        });
    }

    fn change_share(&mut self, client: IpAddr, change: impl FnOnce(&mut VecDeque<u64>)) {
        let numbers = self.clients.entry(client).or_default();
        let before = numbers.len();
        change(numbers);
        let now = numbers.len();
        self.shares.remove(&(before, client));
        if now == 0 {
            self.clients.remove(&client);
        } else {
            self.shares.insert((now, client));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RetryLimits = RetryLimits { replies_max: 4, bytes_max: 1 << 20, seconds: 10 };

    fn key(client: u8, xid: u32) -> Key {
        let client = IpAddr::from([10, 0, 0, client]);
        Key { client, xid, program: 100_003, version: 3, procedure: 12, digest: 5 }
    }

    fn table(limits: RetryLimits) -> Table<u32> {
        Table::new(limits)
    }

    /// What is known, in a word.
    fn begin(table: &mut Table<u32>, key: Key, now_ms: u64) -> String {
        match table.begin(key, now_ms) {
            CallStatus::New => "new".into(),
            CallStatus::Running(_) => "running".into(),
            CallStatus::Full => "full".into(),
            CallStatus::Completed(results) => format!("kept {}", String::from_utf8_lossy(&results)),
        }
    }

    fn run(table: &mut Table<u32>, key: Key, now_ms: u64, results: &'static str) {
        assert_eq!(begin(table, key, now_ms), "new", "{key:?}");
        table.finish(key, Some(results.as_bytes().into()), now_ms);
    }

    fn check(table: &Table<u32>) {
        let kept: usize = table.clients.values().map(VecDeque::len).sum();
        assert_eq!(kept, table.kept.len());
        let shares: BTreeSet<_> = table.clients.iter().map(|(client, of)| (of.len(), *client)).collect();
        assert_eq!(shares, table.shares);
        let bytes = |call: &CallState<u32>| match call {
            CallState::Running(_) => CALL_BYTES,
            CallState::Completed { results, .. } => CALL_BYTES + results.len(),
        };
        assert_eq!(table.bytes, table.calls.values().map(bytes).sum::<usize>());
        assert!(table.bytes <= table.limits.bytes_max && table.calls.len() <= table.limits.replies_max);
    }

    #[test]
    fn a_call_runs_then_is_waited_for_and_then_is_repeated() {
        let mut table = table(LIMITS);
        assert_eq!(begin(&mut table, key(1, 7), 0), "new");
        assert_eq!(begin(&mut table, key(1, 7), 0), "running");
        table.finish(key(1, 7), Some(b"done"[..].into()), 0);
        assert_eq!(begin(&mut table, key(1, 7), 0), "kept done");
        check(&table);
    }

    #[test]
    fn whatever_differs_is_another_call() {
        let mut table = table(RetryLimits { replies_max: 16, ..LIMITS });
        let first = key(1, 7);
        run(&mut table, first, 0, "done");
        for other in [
            key(2, 7),
            key(1, 8),
            Key { program: 1, ..first },
            Key { version: 4, ..first },
            Key { procedure: 13, ..first },
            Key { digest: 6, ..first },
        ] {
            assert_eq!(begin(&mut table, other, 0), "new", "{other:?}");
        }
        assert_eq!(begin(&mut table, first, 0), "kept done");
    }

    #[test]
    fn retry_of_a_call_without_effect_runs_again() {
        let mut table = table(LIMITS);
        assert_eq!(begin(&mut table, key(1, 7), 0), "new");
        table.finish(key(1, 7), None, 0);
        check(&table);
        assert_eq!((table.calls.len(), table.bytes), (0, 0));
        assert_eq!(begin(&mut table, key(1, 7), 0), "new");
    }

    #[test]
    fn the_client_with_the_most_pays_with_its_oldest() {
        let mut table = table(LIMITS);
        run(&mut table, key(1, 1), 0, "silent");
        for xid in 1..100 {
            run(&mut table, key(2, xid), 0, "busy");
            check(&table);
        }
        assert_eq!(begin(&mut table, key(1, 1), 0), "kept silent");
        let known: Vec<_> = (1..100).filter(|xid| table.calls.contains_key(&key(2, *xid))).collect();
        assert_eq!(known, [97, 98, 99]);
    }

    #[test]
    fn calls_under_way_are_never_forgotten() {
        let mut table = table(LIMITS);
        for xid in 0..4 {
            assert_eq!(begin(&mut table, key(1, xid), 0), "new");
        }
        assert_eq!(begin(&mut table, key(1, 9), 0), "full");
        assert_eq!(begin(&mut table, key(1, 3), 0), "running");
        table.finish(key(1, 2), Some(b"two"[..].into()), 0);
        assert_eq!(begin(&mut table, key(1, 9), 0), "new");
        check(&table);
        assert!(!table.calls.contains_key(&key(1, 2)), "the only one that had ended made room");
    }

    #[test]
    fn bytes_are_bounded_and_what_is_too_large_is_not_kept() {
        let bytes_max = 3 * CALL_BYTES;
        let mut table = table(RetryLimits { replies_max: 100, bytes_max, seconds: 10 });
        run(&mut table, key(1, 1), 0, "one");
        run(&mut table, key(1, 2), 0, "two");
        run(&mut table, key(1, 3), 0, "three");
        check(&table);
        assert_eq!(begin(&mut table, key(1, 3), 0), "kept three");
        assert_eq!(begin(&mut table, key(1, 4), 0), "new");
        table.finish(key(1, 4), Some(vec![0; bytes_max].into()), 0);
        check(&table);
        assert_eq!(begin(&mut table, key(1, 4), 0), "new");
    }

    #[test]
    fn replies_grow_old() {
        let mut table = table(RetryLimits { replies_max: 100, ..LIMITS });
        for xid in 0..20 {
            run(&mut table, key(1, xid), 1000, "done");
        }
        assert_eq!(begin(&mut table, key(1, 19), 10_999), "kept done");
        assert_eq!(begin(&mut table, key(1, 19), 11_000), "new", "though older ones are still there");
        check(&table);
        for xid in 100..105 {
            assert_eq!(begin(&mut table, key(2, xid), 11_000), "new");
        }
        assert!(table.kept.is_empty() && table.clients.is_empty() && table.shares.is_empty());
        check(&table);
    }
}
