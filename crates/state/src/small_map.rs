//! An ordered map that stays a short list while it has few entries.
//!
//! Most files have one open and one lock. A node of a `BTreeMap` reserves room for eleven entries, which a
//! million files would pay for.

use std::collections::BTreeMap;

/// Entries up to which a list is searched; with more, the map is a tree.
const FEW_MAX: usize = 8;

/// See the module. Entries are in the order of their keys.
#[derive(Debug)]
pub(crate) enum SmallMap<K, V> {
    Few(Vec<(K, V)>),
    Many(BTreeMap<K, V>),
}

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl<K: Ord, V> SmallMap<K, V> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Few(list) => list.len(),
            Self::Many(tree) => tree.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        match self {
            Self::Few(list) => list.iter().find(|(k, _)| k == key).map(|(_, value)| value),
            Self::Many(tree) => tree.get(key),
        }
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match self {
            Self::Few(list) => list.iter_mut().find(|(k, _)| k == key).map(|(_, value)| value),
            Self::Many(tree) => tree.get_mut(key),
        }
    }

    /// Adds an entry; returns the value that the key had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Self::Few(list) = self {
            let at = list.partition_point(|(k, _)| *k < key);
            if let Some((_, old)) = list.get_mut(at).filter(|(k, _)| *k == key) {
                return Some(std::mem::replace(old, value));
            }
            if list.len() < FEW_MAX {
                if list.capacity() == 0 {
                    list.reserve_exact(1);
                }
                list.insert(at, (key, value));
                return None;
            }
            *self = Self::Many(std::mem::take(list).into_iter().collect());
        }
        let Self::Many(tree) = self else { return None };
        tree.insert(key, value)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        match self {
            Self::Few(list) => {
                let at = list.iter().position(|(k, _)| k == key)?;
                Some(list.remove(at).1)
            }
            Self::Many(tree) => {
                let removed = tree.remove(key);
                if tree.len() <= FEW_MAX / 2 {
                    *self = Self::Few(std::mem::take(tree).into_iter().collect());
                }
                removed
            }
        }
    }

    pub(crate) fn first(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    pub(crate) fn last(&self) -> Option<(&K, &V)> {
        match self {
            Self::Few(list) => list.last().map(|(key, value)| (key, value)),
            Self::Many(tree) => tree.last_key_value(),
        }
    }

    /// The last entry whose key is below `key`.
    pub(crate) fn before(&self, key: &K) -> Option<(&K, &V)> {
        match self {
            Self::Few(list) => list.iter().rev().find(|(k, _)| k < key).map(|(key, value)| (key, value)),
            Self::Many(tree) => tree.range(..key).next_back(),
        }
    }

    /// The entries from `key` on.
    pub(crate) fn from<'a>(&'a self, key: &K) -> impl Iterator<Item = (&'a K, &'a V)> + use<'a, K, V> {
        let (list, tree) = match self {
            Self::Few(list) => (&list[list.partition_point(|(k, _)| k < key)..], None),
            Self::Many(tree) => (&[][..], Some(tree.range(key..))),
        };
        list.iter().map(|(key, value)| (key, value)).chain(tree.into_iter().flatten())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let (list, tree) = match self {
            Self::Few(list) => (&list[..], None),
            Self::Many(tree) => (&[][..], Some(tree.iter())),
        };
        list.iter().map(|(key, value)| (key, value)).chain(tree.into_iter().flatten())
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        let (list, tree) = match self {
            Self::Few(list) => (&mut list[..], None),
            Self::Many(tree) => (&mut [][..], Some(tree.values_mut())),
        };
        list.iter_mut().map(|(_, value)| value).chain(tree.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn small_map_agrees_with_a_tree(actions in prop::collection::vec((any::<bool>(), 0u8..24), 1..120)) {
            let (mut map, mut model) = (SmallMap::default(), BTreeMap::new());
            for (number, (adds, key)) in actions.into_iter().enumerate() {
                if adds {
                    prop_assert_eq!(map.insert(key, number), model.insert(key, number));
                } else {
                    prop_assert_eq!(map.remove(&key), model.remove(&key));
                }
                prop_assert_eq!(map.len(), model.len());
                prop_assert!(map.iter().eq(model.iter()));
                prop_assert!(map.from(&key).eq(model.range(key..)));
                prop_assert_eq!(map.before(&key), model.range(..key).next_back());
                prop_assert_eq!((map.first(), map.last()), (model.first_key_value(), model.last_key_value()));
                prop_assert_eq!(map.get(&key), model.get(&key));
            }
        }
    }
}
