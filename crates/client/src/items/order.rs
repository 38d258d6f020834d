//! Which items of a batch must wait for which: those that touch the same names keep their order. Pure.
//!
//! A *change* of a name waits for everything before it at or below that name, and for everything above it
//! that changed; a *use* waits for changes at the name and above it; a *look* at a directory waits in
//! addition for changes below it, and a change of a name waits for looks at its directory.

use std::collections::{BTreeMap, HashMap};

use super::names::Names;

/// An item, in the order in which they were added.
pub(crate) type ItemId = u64;

/// How an item touches a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touch {
    /// It needs what the name stands for.
    Use,
    /// As `Use`, and what is in the directory makes a difference to it.
    Look,
    /// What the name stands for, or everything below it, is another afterwards.
    Change,
}

/// The items that are not done yet, by the names that they touch.
#[derive(Debug, Default)]
pub(crate) struct Order {
    names: BTreeMap<Names, Touched>,
    items: HashMap<ItemId, Vec<(Names, Touch)>>,
}

#[derive(Debug, Default)]
struct Touched {
    changes: Vec<ItemId>,
    uses: Vec<ItemId>,
    looks: Vec<ItemId>,
}

impl Touched {
    fn of(&mut self, touch: Touch) -> &mut Vec<ItemId> {
        match touch {
            Touch::Use => &mut self.uses,
            Touch::Look => &mut self.looks,
            Touch::Change => &mut self.changes,
        }
    }

    fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.uses.is_empty() && self.looks.is_empty()
    }
}

impl Order {
    /// Adds an item. Returns those before it that must be done first.
    pub(crate) fn add(&mut self, id: ItemId, touches: Vec<(Names, Touch)>) -> Vec<ItemId> {
        let mut before = Vec::new();
        for (name, touch) in &touches {
            self.collect(name, *touch, &mut before);
        }
        for (name, touch) in &touches {
            self.names.entry(name.clone()).or_default().of(*touch).push(id);
        }
        self.items.insert(id, touches);
        before.sort_unstable();
        before.dedup();
        before
    }

    /// An item is done: nobody waits for it any more.
    pub(crate) fn done(&mut self, id: ItemId) {
        for (name, touch) in self.items.remove(&id).unwrap_or_default() {
            let Some(touched) = self.names.get_mut(&name) else { continue };
            touched.of(touch).retain(|other| *other != id);
            if touched.is_empty() {
                self.names.remove(&name);
            }
        }
    }

    fn collect(&self, name: &Names, touch: Touch, before: &mut Vec<ItemId>) {
        for above in name.upwards() {
            if let Some(touched) = self.names.get(&above) {
                before.extend(&touched.changes);
            }
        }
        if touch == Touch::Use {
            return;
        }
        let all = self.names.range(name.below()).map(|(_, touched)| touched);
        if touch == Touch::Look {
            all.for_each(|touched| before.extend(&touched.changes));
            return;
        }
        for touched in all.chain(self.names.get(name)) {
            before.extend(touched.changes.iter().chain(&touched.uses).chain(&touched.looks));
        }
        if let Some(touched) = name.split_last().and_then(|(dir, _)| self.names.get(&dir)) {
            before.extend(&touched.looks);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn touch(path: &str, touch: Touch) -> Vec<(Names, Touch)> {
        vec![(Names::parse(path.as_bytes()).unwrap(), touch)]
    }

    fn order(items: &[(&str, Touch)]) -> Vec<Vec<ItemId>> {
        let mut order = Order::default();
        items.iter().zip(0..).map(|((path, how), id)| order.add(id, touch(path, *how))).collect()
    }

    use Touch::{Change, Look, Use};

    #[test]
    fn item_waits_for_its_directory() {
        assert_eq!(order(&[("a", Change), ("a/b", Change), ("a/b/c", Use)]), [vec![], vec![0], vec![0, 1]]);
    }

    #[test]
    fn independent_names_do_not_wait() {
        let all = order(&[("a/x", Change), ("a/y", Change), ("b", Change), ("ab", Use), ("a/z", Use)]);
        assert!(all.iter().all(Vec::is_empty), "{all:?}");
    }

    #[test]
    fn a_change_of_a_directory_waits_for_everything_in_it() {
        let all = order(&[("d/x", Change), ("d/y/z", Use), ("d", Use), ("d", Look), ("d", Change)]);
        assert_eq!(all[4], [0, 1, 2, 3]);
    }

    #[test]
    fn a_look_waits_for_changes_below_and_changes_wait_for_looks() {
        let all =
            order(&[("d/x", Change), ("d/y", Use), ("d", Look), ("d/z", Change), ("d/x", Use), ("", Look)]);
        assert_eq!(all[2], [0]);
        assert_eq!(all[3], [2]);
        assert_eq!(all[4], [0]);
        assert_eq!(all[5], [0, 3]);
    }

    #[test]
    fn finished_item_holds_none_up() {
        let mut order = Order::default();
        order.add(0, touch("a", Change));
        order.done(0);
        assert!(order.add(1, touch("a/b", Change)).is_empty());
        order.done(1);
        assert!(order.names.is_empty() && order.items.is_empty());
    }

    proptest! {
        /// Against the definition, pair by pair.
        #[test]
        fn pairs_that_touch_each_other_are_ordered_and_no_others(
            items in proptest::collection::vec(("[ab](/[ab]){0,3}", 0..3u8), 1..20)
        ) {
            let items: Vec<(Names, Touch)> = items
                .iter()
                .map(|(path, how)| {
                    (Names::parse(path.as_bytes()).unwrap(), [Use, Look, Change][usize::from(*how)])
                })
                .collect();
            let mut order = Order::default();
            for (id, (name, how)) in items.iter().enumerate() {
                let before = order.add(id as u64, vec![(name.clone(), *how)]);
                for (other_id, (other, other_how)) in items[..id].iter().enumerate() {
                    let parent = |name: &Names| name.split_last().unwrap().0;
                    let waits = (*other_how == Change && name.is_within(other))
                        || (*how == Change && other.is_within(name))
                        || (*how == Look && *other_how == Change && other.is_within(name))
                        || (*how == Change && *other_how == Look && parent(name) == *other);
                    prop_assert_eq!(before.contains(&(other_id as u64)), waits);
                }
            }
        }
    }
}
