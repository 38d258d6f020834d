//! Ranges of many owners, searched for those of *other* owners.
//!
//! An AVL tree in the order of first bytes. Each node knows how far the ranges below it reach, for two
//! different owners: the farthest end, and the farthest of all other owners. A search for ranges that
//! overlap a given one and are not its owner's therefore costs O(log n) for each that it finds, however
//! many the owner itself has. The order is deterministic, and no order of insertion makes the tree deep.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use crate::Range;
use crate::steps::step;

/// Stands for a lock-owner within one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OwnerId(pub(crate) u64);

#[derive(Debug, Default)]
pub(crate) struct SpanTree {
    root: Tree,
}

type Tree = Option<Box<Node>>;

#[derive(Debug)]
struct Node {
    range: Range,
    owner: OwnerId,
    /// Of this node and all below it.
    reach: Reach,
    height: u8,
    left: Tree,
    right: Tree,
}

/// The end of a range of an owner.
#[derive(Debug, Clone, Copy)]
struct End {
    /// The last byte.
    byte: u64,
    owner: OwnerId,
}

/// The order of the nodes: by first byte, then by owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    start: u64,
    owner: OwnerId,
}

/// How far some ranges reach.
#[derive(Debug, Clone, Copy)]
struct Reach {
    farthest: End,
    /// The farthest of an owner that is not the one of `farthest`.
    of_another: Option<End>,
}

impl Reach {
    fn add(&mut self, end: End) {
        if end.owner == self.farthest.owner {
            self.farthest.byte = self.farthest.byte.max(end.byte);
        } else if end.byte > self.farthest.byte {
            self.of_another = Some(std::mem::replace(&mut self.farthest, end));
        } else if self.of_another.is_none_or(|another| end.byte > another.byte) {
            self.of_another = Some(end);
        }
    }

    /// The farthest end of all owners but one.
    fn without(&self, owner: OwnerId) -> Option<u64> {
        let farthest = if self.farthest.owner == owner { self.of_another } else { Some(self.farthest) };
        farthest.map(|end| end.byte)
    }
}

impl SpanTree {
    pub(crate) fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Adds a range; the owner has none that begins with the same byte.
    pub(crate) fn insert(&mut self, range: Range, owner: OwnerId) {
        self.root = Some(insert(self.root.take(), range, owner));
    }

    /// Removes the range of an owner that begins with this byte.
    pub(crate) fn remove(&mut self, start: u64, owner: OwnerId) {
        self.root = remove(self.root.take(), Key { start, owner });
    }

    /// Visits the ranges that overlap `range` and are not `except`'s, in the order of their first bytes,
    /// until `visit` breaks.
    pub(crate) fn visit(
        &self,
        range: &Range,
        except: Option<OwnerId>,
        visit: &mut impl FnMut(Range, OwnerId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // No owner has this number.
        visit_below(&self.root, range, except.unwrap_or(OwnerId(u64::MAX)), visit)
    }
}

fn visit_below(
    tree: &Tree,
    range: &Range,
    except: OwnerId,
    visit: &mut impl FnMut(Range, OwnerId) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some(node) = tree else { return ControlFlow::Continue(()) };
    step();
    if node.reach.without(except).is_none_or(|end| end < range.start()) {
        return ControlFlow::Continue(());
    }
    visit_below(&node.left, range, except, visit)?;
    if node.range.start() > range.end() {
        return ControlFlow::Continue(());
    }
    if node.owner != except && node.range.overlaps(range) {
        visit(node.range, node.owner)?;
    }
    visit_below(&node.right, range, except, visit)
}

impl Node {
    fn order(&self, key: Key) -> Ordering {
        key.cmp(&Key { start: self.range.start(), owner: self.owner })
    }

    /// Brings height and reach up to date after a change below.
    fn update(&mut self) {
        let mut reach =
            Reach { farthest: End { byte: self.range.end(), owner: self.owner }, of_another: None };
        for below in [&self.left, &self.right].into_iter().flatten() {
            reach.add(below.reach.farthest);
            below.reach.of_another.into_iter().for_each(|another| reach.add(another));
        }
        self.reach = reach;
        self.height = 1 + height(&self.left).max(height(&self.right));
    }
}

fn height(tree: &Tree) -> u8 {
    tree.as_ref().map_or(0, |node| node.height)
}

fn insert(tree: Tree, range: Range, owner: OwnerId) -> Box<Node> {
    step();
    let Some(mut node) = tree else {
        let reach = Reach { farthest: End { byte: range.end(), owner }, of_another: None };
        return Box::new(Node { range, owner, reach, height: 1, left: None, right: None });
    };
    if node.order(Key { start: range.start(), owner }) == Ordering::Less {
        node.left = Some(insert(node.left.take(), range, owner));
    } else {
        node.right = Some(insert(node.right.take(), range, owner));
    }
    balance(node)
}

fn remove(tree: Tree, key: Key) -> Tree {
    step();
    let mut node = tree?;
    match node.order(key) {
        Ordering::Less => node.left = remove(node.left.take(), key),
        Ordering::Greater => node.right = remove(node.right.take(), key),
        Ordering::Equal => {
            let Some(right) = node.right.take() else { return node.left.take() };
            let (right, mut next) = take_first(right);
            next.left = node.left.take();
            next.right = right;
            node = next;
        }
    }
    Some(balance(node))
}

/// The rest of a tree, and the node that was its first.
fn take_first(mut node: Box<Node>) -> (Tree, Box<Node>) {
    step();
    let Some(left) = node.left.take() else { return (node.right.take(), node) };
    let (rest, first) = take_first(left);
    node.left = rest;
    (Some(balance(node)), first)
}

/// Restores the balance of a node whose subtrees are balanced and differ in height by at most two.
fn balance(mut node: Box<Node>) -> Box<Node> {
    let (left, right) = (height(&node.left), height(&node.right));
    if left > right + 1 {
        node.left = node
            .left
            .take()
            .map(|below| if height(&below.left) < height(&below.right) { rotate_left(below) } else { below });
        return rotate_right(node);
    }
    if right > left + 1 {
        node.right = node.right.take().map(|below| {
            if height(&below.right) < height(&below.left) { rotate_right(below) } else { below }
        });
        return rotate_left(node);
    }
    node.update();
    node
}

fn rotate_left(mut node: Box<Node>) -> Box<Node> {
    if let Some(mut top) = node.right.take() {
        node.right = top.left.take();
        node.update();
        top.left = Some(node);
        node = top;
    }
    node.update();
    node
}

fn rotate_right(mut node: Box<Node>) -> Box<Node> {
    if let Some(mut top) = node.left.take() {
        node.left = top.right.take();
        node.update();
        top.right = Some(node);
        node = top;
    }
    node.update();
    node
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(tree: &SpanTree, range: &Range, except: Option<OwnerId>) -> Vec<(u64, OwnerId)> {
        let mut found = Vec::new();
        let _ = tree.visit(range, except, &mut |range, owner| {
            found.push((range.start(), owner));
            ControlFlow::Continue(())
        });
        found
    }

    fn check(tree: &Tree) -> u8 {
        let Some(node) = tree else { return 0 };
        let (left, right) = (check(&node.left), check(&node.right));
        assert!(left.abs_diff(right) <= 1, "the tree is balanced");
        assert_eq!(node.height, 1 + left.max(right));
        node.height
    }

    proptest! {
        #[test]
        fn span_tree_finds_what_a_list_finds(
            actions in prop::collection::vec((0u8..4, 0u64..64, 1u64..24, 0u64..4), 1..100),
        ) {
            let mut tree = SpanTree::default();
            let mut list: Vec<(Range, OwnerId)> = Vec::new();
            for (action, start, length, owner) in actions {
                let (range, owner) = (Range::new(start, length).unwrap(), OwnerId(owner));
                let known = list.iter().position(|(r, o)| r.start() == start && *o == owner);
                if let Some(index) = known.filter(|_| action == 0) {
                    list.swap_remove(index);
                    tree.remove(start, owner);
                } else if known.is_none() && action > 0 {
                    list.push((range, owner));
                    tree.insert(range, owner);
                }
                check(&tree.root);
                for except in [None, Some(owner)] {
                    let mut expected: Vec<_> = list
                        .iter()
                        .filter(|(r, o)| r.overlaps(&range) && Some(*o) != except)
                        .map(|(r, o)| (r.start(), *o))
                        .collect();
                    expected.sort_unstable();
                    prop_assert_eq!(found(&tree, &range, except), expected);
                }
            }
        }
    }
}
