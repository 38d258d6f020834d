//! The borders of an [`AnyFileSystem`](super::AnyFileSystem).

use std::marker::PhantomData;
use std::sync::Arc;

use super::{AnyNode, Node};
use crate::border::{Border, Lower};
#[cfg(target_os = "linux")]
use crate::local;
use crate::{Error, FileSystem, Result};

/// To a local directory.
#[cfg(target_os = "linux")]
pub(super) struct Direct;

#[cfg(target_os = "linux")]
impl Border for Direct {
    type Outer = AnyNode;
    type Node = local::Node;

    fn lower(node: &AnyNode) -> Result<&local::Node> {
        match &node.0 {
            Node::Local(node) => Ok(node),
            Node::Other(_) => Err(Error::Stale),
        }
    }

    fn node(node: local::Node) -> AnyNode {
        AnyNode(Node::Local(node))
    }
}

/// To any back end `F`.
pub(super) struct Boxed<F>(PhantomData<F>);

impl<F: FileSystem> Border for Boxed<F> {
    type Outer = AnyNode;
    type Node = F::Node;

    fn lower(node: &AnyNode) -> Result<&F::Node> {
        match &node.0 {
            #[cfg(target_os = "linux")]
            Node::Local(_) => Err(Error::Stale),
            Node::Other(node) => (***node).downcast_ref().ok_or(Error::Stale),
        }
    }

    fn node(node: F::Node) -> AnyNode {
        AnyNode(Node::Other(Arc::new(Box::new(node))))
    }
}

impl<'a, B: Border<Outer = AnyNode, Node: 'a>> Lower<B> for &'a AnyNode {
    type Lowered = &'a B::Node;

    fn lower(self) -> Result<&'a B::Node> {
        B::lower(self)
    }
}
