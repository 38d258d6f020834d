//! What the name service has answered lately.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use bytes::Bytes;

use super::PrincipalKind;

/// Answers that are kept of each kind of question. Beyond, the oldest makes room.
const ANSWERS_MAX: usize = 4096;
/// How long a name is good.
const FOUND_MS: u64 = 600_000;
/// How long it is believed that there is none: a new user should not have to wait.
const MISSING_MS: u64 = 60_000;

/// Answers of the name service, also that there is no answer.
#[derive(Debug, Default)]
pub(super) struct Cache {
    names: Answers<(PrincipalKind, u32), Bytes>,
    ids: Answers<(PrincipalKind, Bytes), u32>,
}

impl Cache {
    /// `None` when it must be asked.
    pub(super) fn name(&self, kind: PrincipalKind, id: u32, now_ms: u64) -> Option<Option<Bytes>> {
        self.names.get(&(kind, id), now_ms)
    }

    pub(super) fn keep_name(&mut self, kind: PrincipalKind, id: u32, name: Option<Bytes>, now_ms: u64) {
        self.names.insert((kind, id), name, now_ms);
    }

    /// `None` when it must be asked.
    pub(super) fn id(&self, kind: PrincipalKind, name: &Bytes, now_ms: u64) -> Option<Option<u32>> {
        self.ids.get(&(kind, name.clone()), now_ms)
    }

    pub(super) fn keep_id(&mut self, kind: PrincipalKind, name: &[u8], id: Option<u32>, now_ms: u64) {
        // The name is a part of a request, which it must not keep in memory.
        self.ids.insert((kind, Bytes::copy_from_slice(name)), id, now_ms);
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
    value: Option<V>,
    until_ms: u64,
}

impl<K, V> Default for Answers<K, V> {
    fn default() -> Self {
        Self { kept: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Answers<K, V> {
    fn get(&self, key: &K, now_ms: u64) -> Option<Option<V>> {
        let answer = self.kept.get(key)?;
        (now_ms < answer.until_ms).then(|| answer.value.clone())
    }

    fn insert(&mut self, key: K, value: Option<V>, now_ms: u64) {
        let until_ms = now_ms + if value.is_some() { FOUND_MS } else { MISSING_MS };
        if self.kept.insert(key.clone(), Answer { value, until_ms }).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > ANSWERS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.kept.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_good_for_its_time_and_none_for_less() {
        let mut cache = Cache::default();
        cache.keep_name(PrincipalKind::User, 1, Some("ann@x".into()), 5);
        cache.keep_name(PrincipalKind::User, 2, None, 5);
        assert_eq!(cache.name(PrincipalKind::User, 1, FOUND_MS), Some(Some("ann@x".into())));
        assert_eq!(cache.name(PrincipalKind::User, 1, FOUND_MS + 5), None);
        assert_eq!(cache.name(PrincipalKind::User, 2, MISSING_MS), Some(None));
        assert_eq!(cache.name(PrincipalKind::User, 2, MISSING_MS + 5), None);
        assert_eq!(cache.name(PrincipalKind::Group, 1, 5), None, "a group is not a user");
    }

    #[test]
    fn the_oldest_answer_makes_room() {
        let mut cache = Cache::default();
        for id in 0..3 * ANSWERS_MAX as u32 {
            cache.keep_id(PrincipalKind::Group, id.to_string().as_bytes(), Some(id), 0);
        }
        assert_eq!((cache.ids.kept.len(), cache.ids.order.len()), (ANSWERS_MAX, ANSWERS_MAX));
        assert_eq!(cache.id(PrincipalKind::Group, &"0".into(), 0), None);
        let last = 3 * ANSWERS_MAX as u32 - 1;
        assert_eq!(cache.id(PrincipalKind::Group, &last.to_string().into(), 0), Some(Some(last)));
    }
}
