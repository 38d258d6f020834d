//! What crosses the border between a file system that holds another one and the inner one: arguments on the
//! way down, results on the way up. Only nodes differ on the two sides.

use bytes::Bytes;

use crate::{
    Access, Attributes, Content, CreateMode, Created, DirEntry, DirPage, Name, NodeKind, ObservedChange,
    RemoveKind, Request, Result, SetAttributes, Settling, Span, Stability, Tell, XattrMode, XattrName,
};

/// What callers of methods without an error must heed.
pub(crate) const OWN_NODES: &str = "a node comes from the back end that it is given to";

/// How nodes cross, alone and in results. The table of methods names the functions for results.
pub(crate) trait Border: Sized {
    /// A node on the outer side.
    type Outer;
    /// A node on the side of the back end.
    type Node;

    /// # Errors
    /// `Stale` for a node of another back end.
    fn lower(node: &Self::Outer) -> Result<&Self::Node>;

    fn node(node: Self::Node) -> Self::Outer;

    fn same<T>(value: T) -> T {
        value
    }

    fn attributes(attributes: Attributes) -> Attributes {
        attributes
    }

    fn optional(attributes: Option<Attributes>) -> Option<Attributes> {
        attributes
    }

    fn pair((node, attributes): (Self::Node, Attributes)) -> (Self::Outer, Attributes) {
        (Self::node(node), attributes)
    }

    fn created(created: Created<Self::Node>) -> Created<Self::Outer> {
        let Created { node, attributes, created } = created;
        Created { node: Self::node(node), attributes, created }
    }

    fn begun((made, settling): (Created<Self::Node>, Settling)) -> (Created<Self::Outer>, Settling) {
        (Self::created(made), settling)
    }

    fn page(page: DirPage<Self::Node>) -> DirPage<Self::Outer> {
        let entries = page.entries.into_iter().map(|entry| {
            let DirEntry { name, fileid, cookie, object } = entry;
            DirEntry { name, fileid, cookie, object: object.map(Self::pair) }
        });
        DirPage { entries: entries.collect(), eof: page.eof }
    }
}

/// An argument that crosses the border `B`.
pub(crate) trait Lower<B> {
    type Lowered;

    /// # Errors
    /// `Stale` for a node of another back end.
    fn lower(self) -> Result<Self::Lowered>;
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
    ObservedChange,
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
