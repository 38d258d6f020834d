//! What crosses the border between an [`AnyFileSystem`](super::AnyFileSystem) and its back end: arguments on
//! the way down, results on the way up. Only nodes differ on the two sides.

use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;

use super::{AnyNode, Node};
#[cfg(target_os = "linux")]
use crate::local;
use crate::{
    Access, Attributes, Content, CreateMode, Created, DirEntry, DirPage, Error, FileSystem, Name, NodeKind,
    RemoveKind, Request, Result, Seen, SetAttributes, Settling, Span, Stability, Tell, XattrMode, XattrName,
};

/// How nodes cross, alone and in results. The table of methods names the functions for results.
pub(super) trait Border: Sized {
    /// A node on the side of the back end.
    type Node;

    /// # Errors
    /// `Stale` for a node of another back end.
    fn lower(node: &AnyNode) -> Result<&Self::Node>;

    fn node(node: Self::Node) -> AnyNode;

    fn same<T>(value: T) -> T {
        value
    }

    fn pair((node, attributes): (Self::Node, Attributes)) -> (AnyNode, Attributes) {
        (Self::node(node), attributes)
    }

    fn created(created: Created<Self::Node>) -> Created<AnyNode> {
        let Created { node, attributes, created } = created;
        Created { node: Self::node(node), attributes, created }
    }

    fn begun((made, settling): (Created<Self::Node>, Settling)) -> (Created<AnyNode>, Settling) {
        (Self::created(made), settling)
    }

    fn page(page: DirPage<Self::Node>) -> DirPage<AnyNode> {
        let entries = page.entries.into_iter().map(|entry| {
            let DirEntry { name, fileid, cookie, object } = entry;
            DirEntry { name, fileid, cookie, object: object.map(Self::pair) }
        });
        DirPage { entries: entries.collect(), eof: page.eof }
    }
}

/// To a local directory.
#[cfg(target_os = "linux")]
pub(super) struct Direct;

#[cfg(target_os = "linux")]
impl Border for Direct {
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

/// An argument that crosses the border `B`.
pub(super) trait Lower<B> {
    type Lowered;

    /// # Errors
    /// `Stale` for a node of another back end.
    fn lower(self) -> Result<Self::Lowered>;
}

impl<'a, B: Border<Node: 'a>> Lower<B> for &'a AnyNode {
    type Lowered = &'a B::Node;

    fn lower(self) -> Result<&'a B::Node> {
        B::lower(self)
    }
}

macro_rules! lowered_as_they_are {
    ($($type:ty),* $(,)?) => {
        $(impl<B> Lower<B> for $type {
            type Lowered = Self;

            fn lower(self) -> Result<Self> {
                Ok(self)
            }
        })*
    };
}

lowered_as_they_are!(
    u64,
    usize,
    bool,
    Bytes,
    Access,
    Content,
    NodeKind,
    RemoveKind,
    Seen,
    Span,
    Stability,
    XattrMode,
    Name<'_>,
    XattrName<'_>,
    Request<'_>,
    &[u8],
    &mut Vec<u8>,
    &CreateMode,
    &SetAttributes,
    &Tell,
);
