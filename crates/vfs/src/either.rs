//! One of two file systems as one type.

use std::marker::PhantomData;

use bytes::Bytes;

use crate::border::{Border, Lower, OWN_NODES};
use crate::methods::methods;
use crate::{
    Access, Attributes, Capabilities, Committed, Content, CreateMode, Created, DirPage, Error, FileSystem,
    Handle, Limits, Name, NodeKind, ObjectId, ObservedChange, ReadDone, RemoveKind, Request, Result,
    SetAttributes, Settling, Span, Stability, StatFs, Tell, Watch, Written, XattrMode, XattrName,
};

/// A file system of one of two types. Calls go to it without a dynamic border.
#[derive(Debug, Clone)]
pub enum Either<A, B> {
    /// Of the first type.
    Left(A),
    /// Of the second.
    Right(B),
}

/// An object of an [`Either`]. One of the other type is `Stale`; methods without an error panic.
pub type EitherNode<A, B> = Either<<A as FileSystem>::Node, <B as FileSystem>::Node>;

/// The border to a file system of the first type.
struct ToLeft<A, B>(PhantomData<(A, B)>);

/// The border to one of the second.
struct ToRight<A, B>(PhantomData<(A, B)>);

impl<A, B> Border for ToLeft<A, B> {
    type Outer = Either<A, B>;
    type Node = A;

    fn lower(node: &Either<A, B>) -> Result<&A> {
        match node {
            Either::Left(node) => Ok(node),
            Either::Right(_) => Err(Error::Stale),
        }
    }

    fn node(node: A) -> Either<A, B> {
        Either::Left(node)
    }
}

impl<A, B> Border for ToRight<A, B> {
    type Outer = Either<A, B>;
    type Node = B;

    fn lower(node: &Either<A, B>) -> Result<&B> {
        match node {
            Either::Left(_) => Err(Error::Stale),
            Either::Right(node) => Ok(node),
        }
    }

    fn node(node: B) -> Either<A, B> {
        Either::Right(node)
    }
}

impl<'a, A, B, T: Border<Outer = Either<A, B>, Node: 'a>> Lower<T> for &'a Either<A, B> {
    type Lowered = &'a T::Node;

    fn lower(self) -> Result<&'a T::Node> {
        T::lower(self)
    }
}

macro_rules! either {
    (
        $life:lifetime
        immediate {
            $(fn $immediate:ident($($value:ident: $kind:ty),*) -> $given:ty = $place:ident;)*
        }
        asynchronous {
            $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $nodes:ident;)*
        }
    ) => {
        impl<A: FileSystem, B: FileSystem> FileSystem for Either<A, B> {
            type Node = EitherNode<A, B>;

            $(fn $immediate(&self, $($value: $kind),*) -> $given {
                match self {
                    Self::Left(left) => {
                        $(let $value = Lower::<ToLeft<A::Node, B::Node>>::lower($value).expect(OWN_NODES);)*
                        <ToLeft<A::Node, B::Node> as Border>::$place(left.$immediate($($value),*))
                    }
                    Self::Right(right) => {
                        $(let $value = Lower::<ToRight<A::Node, B::Node>>::lower($value).expect(OWN_NODES);)*
                        <ToRight<A::Node, B::Node> as Border>::$place(right.$immediate($($value),*))
                    }
                }
            })*

            $(async fn $name(&self, $($argument: $type),*) -> Result<$result> {
                match self {
                    Self::Left(left) => {
                        $(let $argument = Lower::<ToLeft<A::Node, B::Node>>::lower($argument)?;)*
                        left.$name($($argument),*).await.map(<ToLeft<A::Node, B::Node> as Border>::$nodes)
                    }
                    Self::Right(right) => {
                        $(let $argument = Lower::<ToRight<A::Node, B::Node>>::lower($argument)?;)*
                        right.$name($($argument),*).await.map(<ToRight<A::Node, B::Node> as Border>::$nodes)
                    }
                }
            })*
        }
    };
}

methods!(either, '_, EitherNode<A, B>);
