//! Hard and symbolic links.

use super::fixture::{Fixture, mode, name};
use super::{Outcome, refused, same};
use crate::{Error, FileKind, FileSystem, SetAttributes, SetTime, Timestamp};

pub(super) async fn a_link_names_the_same_object<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    let file = t.file_with("file", b"shared").await?;
    t.fs.link(&t.who, &file, &dir, name("link")).await?;
    let (link, attributes) = t.lookup(&dir, "link").await?;
    same!(attributes.links, 2);
    same!(t.fs.object_id(&link), t.fs.object_id(&file));
    same!(t.read(&link, 0, 100).await?.0, b"shared");
    t.remove(&t.root, "file").await?;
    same!(t.fs.attributes(&link).await?.links, 1);
    same!(t.read(&link, 0, 100).await?.0, b"shared");
    Ok(())
}

pub(super) async fn a_link_needs_a_free_name_and_no_directory<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "file").await?;
    let dir = t.dir(&t.root, "dir").await?;
    refused!(t.fs.link(&t.who, &file, &t.root, name("file")).await, Error::Exists);
    refused!(t.fs.link(&t.who, &file, &t.root, name("dir")).await, Error::Exists);
    refused!(t.fs.link(&t.who, &dir, &t.root, name("link")).await, Error::IsDirectory);
    refused!(t.fs.link(&t.who, &file, &file, name("link")).await, Error::NotDirectory);
    Ok(())
}

pub(super) async fn a_symlink_keeps_its_target_and_is_not_followed<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    t.file(&dir, "inside").await?;
    for (link, target) in
        [("a", &b"dir"[..]), ("b", b"../../../etc/passwd"), ("c", b"/\xff"), ("d", &[b'x'; 1000])]
    {
        let (_, made) = t.fs.make_symlink(&t.who, &t.root, name(link), target, &Default::default()).await?;
        same!((made.kind, made.size), (FileKind::Symlink, target.len() as u64));
        let (found, attributes) = t.lookup(&t.root, link).await?;
        same!(attributes.kind, FileKind::Symlink);
        same!(&t.fs.read_link(&t.who, &found).await?[..], target);
        refused!(t.lookup(&found, "inside").await, Error::NotDirectory);
    }
    refused!(
        t.fs.make_symlink(&t.who, &t.root, name("long"), &[b'x'; 5000], &Default::default()).await,
        Error::NameTooLong
    );
    Ok(())
}

pub(super) async fn only_symlinks_are_read_as_links<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for node in t.one_of_each().await? {
        if t.fs.attributes(&node).await?.kind != FileKind::Symlink {
            refused!(t.fs.read_link(&t.who, &node).await, Error::Invalid);
        }
    }
    Ok(())
}

pub(super) async fn a_symlink_has_times_but_no_mode_to_set<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "target").await?;
    let before = t.fs.attributes(&file).await?;
    let (link, made) =
        t.fs.make_symlink(&t.who, &t.root, name("link"), b"target", &Default::default()).await?;
    same!(t.set(&link, &mode(0o600)).await?.mode, made.mode);
    let time = Timestamp { seconds: 1_000_000_000, nanoseconds: 0 };
    let set = SetAttributes { modified: Some(SetTime::To(time)), ..Default::default() };
    same!(t.set(&link, &set).await?.modified, time);
    same!(t.fs.attributes(&file).await?, before);
    Ok(())
}
