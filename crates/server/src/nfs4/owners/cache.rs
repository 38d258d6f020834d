//! What the name service has answered lately.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use bytes::Bytes;

use super::{PrincipalKind, Unavailable};

/// Answers that are kept of each kind of question. Beyond, the oldest makes room.
const ANSWERS_MAX: usize = 4096;
/// How long a name is good.
const FOUND_MS: u64 = 600_000;
/// How long it is believed that there is none: a new user should not have to wait.
const MISSING_MS: u64 = 60_000;
/// How long a name service that did not answer is left alone.
const RETRY_MS: u64 = 5_000;

/// What was found, if anything.
type LookupResult<T> = Result<Option<T>, Unavailable>;

/// Answers of the name service, also that there is no such name or no answer.
#[derive(Debug, Default)]
pub(super) struct Cache {
    names: Answers<(PrincipalKind, u32), Bytes>,
    ids: Answers<(PrincipalKind, Bytes), u32>,
}

impl Cache {
    /// `None` when it must be asked.
    pub(super) fn name(&self, kind: PrincipalKind, id: u32, now_ms: u64) -> Option<LookupResult<Bytes>> {
        self.names.get(&(kind, id), now_ms)
    }

    /// Keeps an answer, and returns the one that counts: an old one is better than none.
    pub(super) fn keep_name(
        &mut self,
        kind: PrincipalKind,
        id: u32,
        name: LookupResult<Bytes>,
        now_ms: u64,
    ) -> LookupResult<Bytes> {
        self.names.insert((kind, id), name, now_ms)
    }

    /// `None` when it must be asked.
    pub(super) fn id(&self, kind: PrincipalKind, name: &Bytes, now_ms: u64) -> Option<LookupResult<u32>> {
        self.ids.get(&(kind, name.clone()), now_ms)
    }

    /// As [`Cache::keep_name`].
    pub(super) fn keep_id(
        &mut self,
        kind: PrincipalKind,
        name: &[u8],
        id: LookupResult<u32>,
        now_ms: u64,
    ) -> LookupResult<u32> {
        // The name is a part of a request, which it must not keep in memory.
        self.ids.insert((kind, Bytes::copy_from_slice(name)), id, now_ms)
    }
}

#[derive(Debug)]
struct Answers<K, V> {
    kept: HashMap<K, Answer<V>>,
    /// In the order of their first coming.
    order: VecDeque<K>,
}

#[derive(Debug)]
struct Answer<V> {
    found: LookupResult<V>,
    until_ms: u64,
}

impl<K, V> Default for Answers<K, V> {
    fn default() -> Self {
        Self { kept: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Answers<K, V> {
    fn get(&self, key: &K, now_ms: u64) -> Option<LookupResult<V>> {
        let answer = self.kept.get(key)?;
        (now_ms < answer.until_ms).then(|| answer.found.clone())
    }

    fn insert(&mut self, key: K, mut found: LookupResult<V>, now_ms: u64) -> LookupResult<V> {
        let until_ms = now_ms
            + match found {
                Ok(Some(_)) => FOUND_MS,
                Ok(None) => MISSING_MS,
                Err(Unavailable) => RETRY_MS,
            };
        if found.is_err()
            && let Some(old) = self.kept.get(&key)
        {
            found = old.found.clone();
        }
        if self.kept.insert(key.clone(), Answer { found: found.clone(), until_ms }).is_some() {
            return found;
        }
        self.order.push_back(key);
        if self.order.len() > ANSWERS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.kept.remove(&oldest);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_good_for_its_time_and_none_for_less() {
        let mut cache = Cache::default();
        let ann = Ok(Some("ann@x".into()));
        assert_eq!(cache.keep_name(PrincipalKind::User, 1, ann.clone(), 5), ann);
        assert_eq!(cache.keep_name(PrincipalKind::User, 2, Ok(None), 5), Ok(None));
        assert_eq!(cache.name(PrincipalKind::User, 1, FOUND_MS), Some(ann));
        assert_eq!(cache.name(PrincipalKind::User, 1, FOUND_MS + 5), None);
        assert_eq!(cache.name(PrincipalKind::User, 2, MISSING_MS), Some(Ok(None)));
        assert_eq!(cache.name(PrincipalKind::User, 2, MISSING_MS + 5), None);
        assert_eq!(cache.name(PrincipalKind::Group, 1, 5), None, "a group is not a user");
    }

    #[test]
    fn an_old_answer_is_better_than_none_and_a_silent_service_is_left_alone() {
        let mut cache = Cache::default();
        let (kind, silent) = (PrincipalKind::Group, Err(Unavailable));
        assert_eq!(cache.keep_id(kind, b"new", silent, 0), silent);
        assert_eq!(cache.id(kind, &"new".into(), RETRY_MS - 1), Some(silent));
        assert_eq!(cache.id(kind, &"new".into(), RETRY_MS), None);
        assert_eq!(cache.keep_id(kind, b"old", Ok(Some(7)), 0), Ok(Some(7)));
        assert_eq!(cache.keep_id(kind, b"old", silent, FOUND_MS), Ok(Some(7)));
        assert_eq!(cache.id(kind, &"old".into(), FOUND_MS + RETRY_MS - 1), Some(Ok(Some(7))));
        assert_eq!(cache.id(kind, &"old".into(), FOUND_MS + RETRY_MS), None);
    }

    #[test]
    fn the_oldest_answer_makes_room() {
        let mut cache = Cache::default();
        for id in 0..3 * ANSWERS_MAX as u32 {
            assert!(cache.keep_id(PrincipalKind::Group, id.to_string().as_bytes(), Ok(Some(id)), 0).is_ok());
        }
        assert_eq!((cache.ids.kept.len(), cache.ids.order.len()), (ANSWERS_MAX, ANSWERS_MAX));
        assert_eq!(cache.id(PrincipalKind::Group, &"0".into(), 0), None);
        let last = 3 * ANSWERS_MAX as u32 - 1;
        assert_eq!(cache.id(PrincipalKind::Group, &last.to_string().into(), 0), Some(Ok(Some(last))));
    }
}
