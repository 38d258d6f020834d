//! Wrapping a file system: a layer writes what it does differently, and the rest is passed on.

use std::future::Future;

use bytes::Bytes;

use crate::methods::methods;
use crate::{
    Access, Attributes, Capabilities, Committed, Content, CreateMode, Created, DirPage, FileSystem, Handle,
    Limits, Name, NodeKind, ObjectId, ObservedChange, ReadDone, RemoveKind, Request, Result, SetAttributes,
    Settling, Span, Stability, StatFs, Tell, Watch, Written, XattrMode, XattrName,
};

/// The nodes of a layer: those of the file system below.
type NodeOf<L> = <<L as Layer>::Inner as FileSystem>::Node;

/// What a layer tells in the place of the attributes in results.
struct RewriteAttributes<'a, L: ?Sized>(&'a L);

impl<L: Layer + ?Sized> RewriteAttributes<'_, L> {
    fn same<T>(&self, value: T) -> T {
        value
    }

    fn node<N>(&self, node: N) -> N {
        node
    }

    fn attributes(&self, attributes: Attributes) -> Attributes {
        self.0.rewrite_attributes(attributes)
    }

    fn optional(&self, attributes: Option<Attributes>) -> Option<Attributes> {
        attributes.map(|attributes| self.0.rewrite_attributes(attributes))
    }

    fn pair<N>(&self, (node, attributes): (N, Attributes)) -> (N, Attributes) {
        (node, self.0.rewrite_attributes(attributes))
    }

    fn created<N>(&self, made: Created<N>) -> Created<N> {
        Created { attributes: self.0.rewrite_attributes(made.attributes), ..made }
    }

    fn begun<N>(&self, (made, settling): (Created<N>, Settling)) -> (Created<N>, Settling) {
        (self.created(made), settling)
    }

    fn page<N>(&self, mut page: DirPage<N>) -> DirPage<N> {
        for (_, attributes) in page.entries.iter_mut().filter_map(|entry| entry.object.as_mut()) {
            *attributes = self.0.rewrite_attributes(*attributes);
        }
        page
    }
}

/// Defines [`Layer`] and its [`FileSystem`] from the table of methods.
macro_rules! layer {
    (
        $life:lifetime
        immediate {
            $(fn $immediate:ident($($value:ident: $kind:ty),*) -> $given:ty = $_place:ident;)*
        }
        asynchronous {
            $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $nodes:ident;)*
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

            /// The attributes of an object as the layer tells them, in the place of those of the file system
            /// below. Results of methods that the layer writes itself are not changed by it.
            fn rewrite_attributes(&self, attributes: Attributes) -> Attributes {
                attributes
            }

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
                    async move {
                        let call = self.inner().$name($($argument),*);
                        let given = self.around(stringify!($name), call).await;
                        given.map(|given| RewriteAttributes(self).$nodes(given))
                    }
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
