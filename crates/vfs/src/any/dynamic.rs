//! The dynamic border: a [`FileSystem`] as a trait object.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;

use super::AnyNode;
use super::border::Boxed;
use crate::border::{Border, Lower, OWN_NODES};
use crate::methods::methods;
use crate::{
    Access, Attributes, Capabilities, Committed, Content, CreateMode, Created, DirPage, FileSystem, Handle,
    Limits, Name, NodeKind, ObjectId, ObservedChange, ReadDone, RemoveKind, Request, Result, SetAttributes,
    Settling, Span, Stability, StatFs, Tell, Watch, Written, XattrMode, XattrName,
};

type Running<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

macro_rules! dynamic {
    (
        $life:lifetime
        immediate {
            $(fn $immediate:ident($($value:ident: $kind:ty),*) -> $given:ty = $place:ident;)*
        }
        asynchronous {
            $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $nodes:ident;)*
        }
    ) => {
        /// All methods of [`FileSystem`], over any node.
        pub(super) trait Dynamic: Send + Sync {
            $(fn $immediate<$life>(&$life self, $($value: $kind),*) -> $given;)*
            $(fn $name<$life>(&$life self, $($argument: $type),*) -> Running<$life, $result>;)*
        }

        impl<F: FileSystem> Dynamic for F {
            $(fn $immediate<$life>(&$life self, $($value: $kind),*) -> $given {
                $(let $value = Lower::<Boxed<F>>::lower($value).expect(OWN_NODES);)*
                <Boxed<F> as Border>::$place(FileSystem::$immediate(self, $($value),*))
            })*

            $(fn $name<$life>(&$life self, $($argument: $type),*) -> Running<$life, $result> {
                Box::pin(async move {
                    $(let $argument = Lower::<Boxed<F>>::lower($argument)?;)*
                    FileSystem::$name(self, $($argument),*).await.map(<Boxed<F> as Border>::$nodes)
                })
            })*
        }
    };
}

methods!(dynamic, 'a, AnyNode);
