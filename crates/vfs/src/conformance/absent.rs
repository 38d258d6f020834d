//! What the capabilities lack is refused.

use super::fixture::{Fixture, name};
use super::{Outcome, refused};
use crate::{CreateMode, Error, FileSystem, NodeKind, SetAttributes, XattrMode, XattrName};

pub(super) async fn absent_hard_links_are_not_supported<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "file").await?;
    refused!(t.fs.link(t.request, &file, &t.root, name("link")).await, Error::NotSupported);
    Ok(())
}

pub(super) async fn absent_symlinks_are_not_supported<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let set = SetAttributes::default();
    let made = t.fs.make_symlink(t.request, &t.root, name("link"), b"target", &set).await;
    refused!(made, Error::NotSupported);
    Ok(())
}

pub(super) async fn absent_special_files_are_not_supported<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let set = SetAttributes::default();
    for kind in [NodeKind::Fifo, NodeKind::Socket, NodeKind::Block(1, 2), NodeKind::Character(1, 3)] {
        let made = t.fs.make_node(t.request, &t.root, name("node"), kind, &set).await;
        refused!(made, Error::NotSupported | Error::BadType);
    }
    Ok(())
}

pub(super) async fn absent_exclusive_create_is_not_supported<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let how = CreateMode::Exclusive { verifier: [1; 8], attributes: SetAttributes::default() };
    refused!(t.fs.create(t.request, &t.root, name("file"), &how).await, Error::NotSupported);
    Ok(())
}

pub(super) async fn absent_xattrs_are_not_supported<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let key = XattrName::new(b"key").map_err(|_| super::Failure::new("no name"))?;
    // The root is there in a read-only back end too.
    let node = &t.root;
    refused!(t.fs.get_xattr(t.request, node, key).await, Error::NotSupported);
    refused!(t.fs.list_xattrs(t.request, node).await, Error::NotSupported);
    let set = t.fs.set_xattr(t.request, node, key, b"value", XattrMode::Either).await;
    refused!(set, Error::NotSupported | Error::ReadOnly);
    refused!(t.fs.remove_xattr(t.request, node, key).await, Error::NotSupported | Error::ReadOnly);
    Ok(())
}
