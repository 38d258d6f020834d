//! Hard and symbolic links.

use super::fixture::{Fixture, mode, name};
use super::{Outcome, refused, same};
use crate::{Error, FileKind, FileSystem, SetAttributes, SetTime, Timestamp};

pub(super) async fn a_link_names_the_same_object<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    let file = t.file_with("file", b"shared").await?;
    t.fs.link(t.request, &file, &dir, name("link")).await?;
    let (link, attributes) = t.lookup(&dir, "link").await?;
    same!(attributes.links, 2);
    same!(t.fs.object_id(&link), t.fs.object_id(&file));
    same!(t.read(&link, 0, 100).await?.0, b"shared");
    t.remove(&t.root, "file").await?;
    same!(t.fs.attributes(t.request, &link).await?.links, 1);
    same!(t.read(&link, 0, 100).await?.0, b"shared");
    Ok(())
}

pub(super) async fn a_link_needs_a_free_name_and_no_directory<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "file").await?;
    let dir = t.dir(&t.root, "dir").await?;
    refused!(t.fs.link(t.request, &file, &t.root, name("file")).await, Error::Exists);
    refused!(t.fs.link(t.request, &file, &t.root, name("dir")).await, Error::Exists);
    refused!(t.fs.link(t.request, &dir, &t.root, name("link")).await, Error::IsDirectory);
    refused!(t.fs.link(t.request, &file, &file, name("link")).await, Error::NotDirectory);
    Ok(())
}

pub(super) async fn a_symlink_keeps_its_target_and_is_not_followed<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    t.file(&dir, "inside").await?;
    for (link, target) in
        [("a", &b"dir"[..]), ("b", b"../../../etc/passwd"), ("c", b"/\xff"), ("d", &[b'x'; 1000])]
    {
        let (_, made) =
            t.fs.make_symlink(t.request, &t.root, name(link), target, &Default::default()).await?;
        same!((made.kind, made.size), (FileKind::Symlink, target.len() as u64));
        let (found, attributes) = t.lookup(&t.root, link).await?;
        same!(attributes.kind, FileKind::Symlink);
        same!(&t.fs.read_link(t.request, &found).await?[..], target);
        refused!(t.lookup(&found, "inside").await, Error::NotDirectory);
    }
    refused!(
        t.fs.make_symlink(t.request, &t.root, name("long"), &[b'x'; 5000], &Default::default()).await,
        Error::NameTooLong
    );
    Ok(())
}

pub(super) async fn only_symlinks_are_read_as_links<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for node in t.one_of_each().await? {
        if t.fs.attributes(t.request, &node).await?.kind != FileKind::Symlink {
            refused!(t.fs.read_link(t.request, &node).await, Error::Invalid);
        }
    }
    Ok(())
}

pub(super) async fn a_symlink_has_times_but_no_mode_to_set<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "target").await?;
    let before = t.fs.attributes(t.request, &file).await?;
    let (link, made) =
        t.fs.make_symlink(t.request, &t.root, name("link"), b"target", &Default::default()).await?;
    same!(t.set(&link, &mode(0o600)).await?.mode, made.mode);
    let time = Timestamp { seconds: 1_000_000_000, nanoseconds: 0 };
    let set = SetAttributes { modified: Some(SetTime::To(time)), ..Default::default() };
    same!(t.set(&link, &set).await?.modified, time);
    same!(t.fs.attributes(t.request, &file).await?, before);
    Ok(())
}
