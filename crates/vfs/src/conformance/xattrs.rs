//! Extended attributes.

use super::fixture::{Fixture, mode, name};
use super::{Outcome, ensure, refused, same};
use crate::{CreateMode, Error, FileSystem, Identity, XATTR_BYTES_MAX, XattrMode, XattrName};

fn key(bytes: &(impl AsRef<[u8]> + ?Sized)) -> XattrName<'_> {
    XattrName::new(bytes.as_ref()).expect("checks use valid names")
}

async fn names<F: FileSystem>(t: &Fixture<F>, node: &F::Node) -> crate::Result<Vec<Vec<u8>>> {
    let mut names: Vec<_> =
        t.fs.list_xattrs(t.request, node).await?.iter().map(|name| name.to_vec()).collect();
    names.sort();
    Ok(names)
}

pub(super) async fn extended_attributes_are_kept<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let nodes = [t.file(&t.root, "file").await?, t.dir(&t.root, "dir").await?];
    for node in &nodes {
        let mut changes = vec![t.fs.attributes(t.request, node).await?.change];
        refused!(t.fs.get_xattr(t.request, node, key("a")).await, Error::NoXattr);
        for (name, value, mode) in [
            ("a", &b"one"[..], XattrMode::Either),
            ("b/c", b"", XattrMode::Create),
            ("a", b"other", XattrMode::Either),
            ("a", b"another", XattrMode::Replace),
        ] {
            t.fs.set_xattr(t.request, node, key(name), value, mode).await?;
            same!(t.fs.get_xattr(t.request, node, key(name)).await?, value);
            let change = t.fs.attributes(t.request, node).await?.change;
            ensure!(!changes.contains(&change));
            changes.push(change);
        }
        same!(names(t, node).await?, [b"a".to_vec(), b"b/c".to_vec()]);
        t.fs.remove_xattr(t.request, node, key("a")).await?;
        ensure!(!changes.contains(&t.fs.attributes(t.request, node).await?.change));
        refused!(t.fs.get_xattr(t.request, node, key("a")).await, Error::NoXattr);
        same!(names(t, node).await?, [b"b/c".to_vec()]);
    }
    Ok(())
}

pub(super) async fn extended_attributes_are_set_as_the_mode_says<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "file").await?;
    let set = |name, mode| t.fs.set_xattr(t.request, &file, name, b"value", mode);
    refused!(set(key("a"), XattrMode::Replace).await, Error::NoXattr);
    set(key("a"), XattrMode::Create).await?;
    refused!(set(key("a"), XattrMode::Create).await, Error::Exists);
    refused!(t.fs.remove_xattr(t.request, &file, key("b")).await, Error::NoXattr);
    let large = vec![7; XATTR_BYTES_MAX + 1];
    let refusal = t.fs.set_xattr(t.request, &file, key("a"), &large, XattrMode::Either).await;
    refused!(refusal, Error::XattrTooBig | Error::NoSpace);
    same!(t.fs.get_xattr(t.request, &file, key("a")).await?, b"value"[..]);
    set(key(&[b'n'; XattrName::MAX]), XattrMode::Either).await?;
    refused!(XattrName::new(&[b'n'; XattrName::MAX + 1]), Error::NameTooLong);
    refused!(XattrName::new(b""), Error::InvalidName);
    refused!(XattrName::new(b"a\0b"), Error::InvalidName);
    Ok(())
}

pub(super) async fn only_files_and_directories_have_extended_attributes<F: FileSystem>(
    t: &Fixture<F>,
) -> Outcome {
    for node in t.one_of_each().await?.into_iter().skip(2) {
        for outcome in [
            t.fs.get_xattr(t.request, &node, key("a")).await.map(|_| ()),
            t.fs.set_xattr(t.request, &node, key("a"), b"", XattrMode::Either).await,
            t.fs.list_xattrs(t.request, &node).await.map(|_| ()),
            t.fs.remove_xattr(t.request, &node, key("a")).await,
        ] {
            refused!(outcome, Error::WrongType);
        }
    }
    Ok(())
}

pub(super) async fn extended_attributes_have_the_permissions_of_data<F: FileSystem>(
    t: &Fixture<F>,
) -> Outcome {
    let made = t.fs.create(t.request, &t.root, name("file"), &CreateMode::Guarded(mode(0o604))).await?;
    let (file, other, stranger) = (made.node, Identity::new(1000, 1000), Identity::new(1001, 0));
    t.fs.set_xattr(t.request, &file, key("a"), b"value", XattrMode::Either).await?;
    same!(t.fs.get_xattr(t.request.made_by(&other), &file, key("a")).await?, b"value"[..]);
    same!(t.fs.list_xattrs(t.request.made_by(&other), &file).await?.len(), 1);
    refused!(
        t.fs.set_xattr(t.request.made_by(&other), &file, key("b"), b"", XattrMode::Either).await,
        Error::AccessDenied
    );
    refused!(t.fs.remove_xattr(t.request.made_by(&other), &file, key("a")).await, Error::AccessDenied);
    refused!(t.fs.get_xattr(t.request.made_by(&stranger), &file, key("a")).await, Error::AccessDenied);
    refused!(t.fs.list_xattrs(t.request.made_by(&stranger), &file).await, Error::AccessDenied);
    Ok(())
}
