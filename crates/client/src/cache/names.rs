//! Which object a name in a directory stands for, or that there is none.

use bytes::Bytes;
use lru::LruCache;

/// A name in a directory in one epoch of it: when others change the directory, its names are void.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct NameKey {
    pub(crate) directory: u64,
    pub(crate) epoch: u64,
    pub(crate) name: Bytes,
}

/// Names of all directories, bounded; the least recently used ones go first.
#[derive(Debug)]
pub(crate) struct NameCache<T> {
    names: LruCache<NameKey, Option<T>>,
    names_max: usize,
}

impl<T: Clone> NameCache<T> {
    pub(crate) fn new(names_max: usize) -> Self {
        Self { names: LruCache::unbounded(), names_max }
    }

    /// What is known of the name: `Some(None)` when it is known not to exist.
    pub(crate) fn get(&mut self, key: &NameKey) -> Option<Option<T>> {
        self.names.get(key).cloned()
    }

    /// Remembers what the name stands for; `None` that there is no such name.
    pub(crate) fn insert(&mut self, key: NameKey, target: Option<T>) {
        self.names.put(key, target);
        while self.names.len() > self.names_max {
            self.names.pop_lru();
        }
    }

    /// Forgets the name.
    pub(crate) fn remove(&mut self, key: &NameKey) {
        self.names.pop(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(epoch: u64, name: &'static str) -> NameKey {
        NameKey { directory: 1, epoch, name: name.into() }
    }

    #[test]
    fn a_name_is_known_to_exist_known_not_to_or_not_known() {
        let mut names = NameCache::new(9);
        names.insert(key(0, "a"), Some(7));
        names.insert(key(0, "b"), None);
        assert_eq!(names.get(&key(0, "a")), Some(Some(7)));
        assert_eq!(names.get(&key(0, "b")), Some(None));
        assert_eq!(names.get(&key(0, "c")), None);
        names.remove(&key(0, "a"));
        assert_eq!(names.get(&key(0, "a")), None);
    }

    #[test]
    fn another_epoch_of_the_directory_knows_nothing() {
        let mut names = NameCache::new(9);
        names.insert(key(0, "a"), Some(7));
        assert_eq!(names.get(&key(1, "a")), None);
    }

    #[test]
    fn the_least_recently_used_name_makes_room() {
        let mut names = NameCache::new(2);
        names.insert(key(0, "a"), Some(1));
        names.insert(key(0, "b"), Some(2));
        names.get(&key(0, "a"));
        names.insert(key(0, "c"), Some(3));
        assert_eq!(names.get(&key(0, "b")), None);
        assert_eq!(names.get(&key(0, "a")), Some(Some(1)));
    }
}
