//! Renaming.

use super::fixture::{Fixture, name};
use super::{Outcome, refused, same};
use crate::{Error, FileKind, FileSystem};

pub(super) async fn a_renamed_object_is_the_same<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    let file = t.file_with("old", b"content").await?;
    t.rename(&t.root, "old", &t.root, "new").await?;
    refused!(t.lookup(&t.root, "old").await, Error::NotFound);
    t.rename(&t.root, "new", &dir, "newer").await?;
    let (found, _) = t.lookup(&dir, "newer").await?;
    same!(t.fs.object_id(&found), t.fs.object_id(&file));
    same!(t.read(&found, 0, 100).await?.0, b"content");
    same!(t.names(&t.root).await?, ["dir"]);
    Ok(())
}

pub(super) async fn a_rename_replaces_a_file<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let (source, target) = (t.file_with("source", b"new").await?, t.file_with("target", b"old").await?);
    t.rename(&t.root, "source", &t.root, "target").await?;
    same!(t.names(&t.root).await?, ["target"]);
    same!(t.fs.object_id(&t.lookup(&t.root, "target").await?.0), t.fs.object_id(&source));
    same!(t.fs.attributes(t.request, &target).await?.links, 0);
    same!(t.read(&target, 0, 100).await?.0, b"old");
    Ok(())
}

pub(super) async fn a_rename_onto_the_same_object_does_nothing<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "a").await?;
    t.fs.link(t.request, &file, &t.root, name("b")).await?;
    t.rename(&t.root, "a", &t.root, "b").await?;
    t.rename(&t.root, "a", &t.root, "a").await?;
    same!(t.names(&t.root).await?, ["a", "b"]);
    same!(t.fs.attributes(t.request, &file).await?.links, 2);
    Ok(())
}

pub(super) async fn a_rename_replaces_an_empty_directory_only<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    t.dir(&t.root, "source").await?;
    let full = t.dir(&t.root, "full").await?;
    t.file(&full, "file").await?;
    t.dir(&t.root, "empty").await?;
    refused!(t.rename(&t.root, "source", &t.root, "full").await, Error::NotEmpty | Error::Exists);
    t.rename(&t.root, "source", &t.root, "empty").await?;
    same!(t.names(&t.root).await?, ["empty", "full"]);
    Ok(())
}

pub(super) async fn a_rename_needs_compatible_kinds<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    t.one_of_each().await?;
    refused!(t.rename(&t.root, "file", &t.root, "dir").await, Error::IsDirectory);
    refused!(t.rename(&t.root, "dir", &t.root, "file").await, Error::NotDirectory);
    let others = t.kinds().into_iter().filter(|(_, kind)| *kind != FileKind::Directory);
    let others: Vec<_> = others.map(|(name, _)| name).collect();
    for pair in others.windows(2) {
        t.rename(&t.root, pair[0], &t.root, pair[1]).await?;
    }
    let mut left = vec!["dir"];
    left.extend(others.last());
    same!(t.names(&t.root).await?, left);
    Ok(())
}

pub(super) async fn a_directory_is_not_moved_into_itself<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let top = t.dir(&t.root, "top").await?;
    let below = t.dir(&top, "below").await?;
    refused!(t.rename(&t.root, "top", &top, "x").await, Error::Invalid);
    refused!(t.rename(&t.root, "top", &below, "x").await, Error::Invalid);
    Ok(())
}

pub(super) async fn a_missing_source_is_not_found<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    t.file(&t.root, "target").await?;
    refused!(t.rename(&t.root, "missing", &t.root, "target").await, Error::NotFound);
    refused!(t.rename(&t.root, "missing", &t.root, "missing").await, Error::NotFound);
    same!(t.names(&t.root).await?, ["target"]);
    Ok(())
}

pub(super) async fn a_moved_directory_has_a_new_parent<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let (a, b) = (t.dir(&t.root, "a").await?, t.dir(&t.root, "b").await?);
    let moved = t.dir(&a, "moved").await?;
    let before = t.fs.attributes(t.request, &a).await?.links;
    t.rename(&a, "moved", &b, "moved").await?;
    same!(t.fs.handle(&t.fs.lookup_parent(t.request, &moved).await?), t.fs.handle(&b));
    if before > 1 {
        same!(
            (t.fs.attributes(t.request, &a).await?.links, t.fs.attributes(t.request, &b).await?.links),
            (before - 1, before)
        );
    }
    Ok(())
}
