//! [`AnyFileSystem`] as a [`FileSystem`].

use bytes::Bytes;

#[cfg(target_os = "linux")]
use super::border::Direct;
use super::{AnyFileSystem, AnyNode, BackEnd};
#[cfg(target_os = "linux")]
use crate::border::{Border, Lower, OWN_NODES};
use crate::methods::methods;
use crate::{
    Access, Attributes, Capabilities, Committed, Content, CreateMode, Created, DirPage, FileSystem, Handle,
    Limits, Name, NodeKind, ObjectId, ObservedChange, ReadDone, RemoveKind, Request, Result, SetAttributes,
    Settling, Span, Stability, StatFs, Tell, Watch, Written, XattrMode, XattrName,
};

macro_rules! any {
    (
        $life:lifetime
        immediate {
            $(fn $immediate:ident($($value:ident: $kind:ty),*) -> $given:ty = $place:ident;)*
        }
        asynchronous {
            $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $nodes:ident;)*
        }
    ) => {
        impl FileSystem for AnyFileSystem {
            type Node = AnyNode;

            $(fn $immediate(&self, $($value: $kind),*) -> $given {
                match &self.0 {
                    #[cfg(target_os = "linux")]
                    BackEnd::Local(local) => {
                        $(let $value = Lower::<Direct>::lower($value).expect(OWN_NODES);)*
                        <Direct as Border>::$place(local.$immediate($($value),*))
                    }
                    BackEnd::Other(other) => other.$immediate($($value),*),
                }
            })*

            $(async fn $name(&self, $($argument: $type),*) -> Result<$result> {
                match &self.0 {
                    #[cfg(target_os = "linux")]
                    BackEnd::Local(local) => {
                        $(let $argument = Lower::<Direct>::lower($argument)?;)*
                        local.$name($($argument),*).await.map(<Direct as Border>::$nodes)
                    }
                    BackEnd::Other(other) => other.$name($($argument),*).await,
                }
            })*
        }
    };
}

methods!(any, '_, AnyNode);
