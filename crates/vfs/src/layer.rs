//! Wrapping a file system: a layer writes what it does differently, and the rest is passed on.

use std::future::Future;

use bytes::Bytes;

use crate::methods::methods;
use crate::{
    Access, Attributes, Capabilities, Committed, Content, CreateMode, Created, DirPage, FileSystem, Handle,
    Limits, Name, NodeKind, ObjectId, ReadDone, RemoveKind, Request, Result, Seen, SetAttributes, Settling,
    Span, Stability, StatFs, Tell, Watch, Written, XattrMode, XattrName,
};

/// The nodes of a layer: those of the file system below.
type NodeOf<L> = <<L as Layer>::Inner as FileSystem>::Node;

/// Defines [`Layer`] and its [`FileSystem`] from the table of methods.
macro_rules! layer {
    (
        $life:lifetime
        immediate {
            $(fn $immediate:ident($($value:ident: $kind:ty),*) -> $given:ty = $_place:ident;)*
        }
        asynchronous {
            $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $_nodes:ident;)*
        }
    ) => {
        /// A file system over another one with the same nodes. Every type that implements it is a
        /// [`FileSystem`].
        ///
        /// A layer writes the methods that it does differently, with the signatures of [`FileSystem`], and
        /// calls those of [`inner`](Self::inner) in them. All other methods are passed on, those with a
        /// default in [`FileSystem`] too. [`around`](Self::around) sees all asynchronous calls that are
        /// passed on: it delays, counts or refuses them.
        ///
        /// Defaults of [`FileSystem`] that call other methods do not apply here: a layer that writes
        /// [`create`](Self::create) also writes [`begin_create`](Self::begin_create), and one that writes
        /// [`attributes`](Self::attributes) also writes [`settled_attributes`](Self::settled_attributes).
        pub trait Layer: Send + Sync + 'static {
            /// The file system below.
            type Inner: FileSystem;

            /// The file system below.
            fn inner(&self) -> &Self::Inner;

            /// Runs `call`, which passes on the method called `name`. `call` does nothing before its first
            /// poll. Methods that the layer writes itself are not run through it.
            fn around<T: Send>(
                &self,
                _name: &'static str,
                call: impl Future<Output = Result<T>> + Send,
            ) -> impl Future<Output = Result<T>> + Send {
                call
            }

            $(
                #[doc = concat!("See [`FileSystem::", stringify!($immediate), "`].")]
                fn $immediate(&self, $($value: $kind),*) -> $given {
                    self.inner().$immediate($($value),*)
                }
            )*

            $(
                #[doc = concat!("See [`FileSystem::", stringify!($name), "`].")]
                fn $name(&self, $($argument: $type),*) -> impl Future<Output = Result<$result>> + Send {
                    self.around(stringify!($name), self.inner().$name($($argument),*))
                }
            )*
        }

        impl<L: Layer> FileSystem for L {
            type Node = NodeOf<L>;

            $(fn $immediate(&self, $($value: $kind),*) -> $given {
                Layer::$immediate(self, $($value),*)
            })*

            $(fn $name(&self, $($argument: $type),*) -> impl Future<Output = Result<$result>> + Send {
                Layer::$name(self, $($argument),*)
            })*
        }
    };
}

methods!(layer, '_, NodeOf<Self>);
