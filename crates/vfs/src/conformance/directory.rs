//! Listing directories.

use super::fixture::Fixture;
use super::{Failure, Outcome, ensure, refused, same};
use crate::{DirEntry, Error, FileKind, FileSystem};

pub(super) async fn an_empty_directory_lists_itself_and_its_parent<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    let entries = t.list(&dir, 100).await?;
    for entry in &entries {
        ensure!(entry.cookie != 0 && entry.object.is_none());
        match &entry.name[..] {
            b"." => same!(entry.fileid, t.fs.object_id(&dir).fileid),
            b".." => same!(entry.fileid, t.fs.object_id(&t.root).fileid),
            other => return Err(Failure::new(format!("an empty directory lists {other:?}"))),
        }
    }
    ensure!(entries.len() == 2 || entries.is_empty());
    Ok(())
}

pub(super) async fn entries_are_found_once_whatever_the_page_size<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    let mut expected: Vec<String> =
        (0..700).map(|i| format!("entry with a name of some length {i}")).collect();
    for child in &expected {
        t.file(&dir, child).await?;
    }
    expected.sort();
    for page in [1, 2, 7, 699, 10_000] {
        let entries = t.list(&dir, page).await?;
        let mut names: Vec<String> =
            entries.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect();
        names.retain(|name| name != "." && name != "..");
        names.sort();
        ensure!(names == expected);
        let mut cookies: Vec<u64> = entries.iter().map(|entry| entry.cookie).collect();
        cookies.sort_unstable();
        cookies.dedup();
        same!(cookies.len(), entries.len());
    }
    let page = t.fs.read_dir(t.request, &dir, 0, 5, false).await?;
    same!((page.entries.len(), page.eof), (5, false));
    Ok(())
}

pub(super) async fn cookies_outlive_removals<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    for i in 0..100 {
        t.file(&dir, &format!("file {i}")).await?;
    }
    let all = t.list(&dir, 100).await?;
    let first = t.fs.read_dir(t.request, &dir, 0, 40, false).await?.entries;
    // The last entry of the page goes too, so its cookie names nothing any more.
    for entry in first.iter().filter(|entry| entry.name[0] != b'.') {
        t.remove(&dir, &String::from_utf8_lossy(&entry.name)).await?;
    }
    let cookie = first.last().map_or(0, |entry| entry.cookie);
    let rest = t.fs.read_dir(t.request, &dir, cookie, 1000, false).await?;
    ensure!(rest.eof);
    let found: Vec<_> = rest.entries.iter().map(|entry| &entry.name).collect();
    let expected: Vec<_> = all[40..].iter().map(|entry| &entry.name).collect();
    same!(found, expected);
    Ok(())
}

pub(super) async fn cookies_outlive_additions<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    for i in 0..60 {
        t.file(&dir, &format!("old {i}")).await?;
    }
    let all = t.list(&dir, 100).await?;
    for i in 0..200 {
        t.file(&dir, &format!("new {i}")).await?;
    }
    for at in [0, 1, 30, all.len() - 2] {
        let after = t.fs.read_dir(t.request, &dir, all[at].cookie, 1000, false).await?;
        // What a cookie is may change with what comes next, but not what follows it.
        let old = |entry: &&DirEntry<F::Node>| entry.name.starts_with(b"old");
        let found: Vec<_> = after.entries.iter().filter(old).map(|entry| &entry.name).collect();
        let expected: Vec<_> = all[at + 1..].iter().filter(old).map(|entry| &entry.name).collect();
        same!(found, expected);
    }
    Ok(())
}

pub(super) async fn entries_carry_objects_when_asked<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    t.one_of_each().await?;
    let page = t.fs.read_dir(t.request, &t.root, 0, 100, true).await?;
    ensure!(page.eof);
    let mut kinds = Vec::new();
    for entry in &page.entries {
        if &entry.name[..] == b".." {
            ensure!(entry.object.is_none());
            continue;
        }
        let Some((node, attributes)) = &entry.object else {
            return Err(Failure::new(format!("{:?} has no object", entry.name)));
        };
        same!(entry.fileid, attributes.fileid);
        same!(t.fs.object_id(node).fileid, attributes.fileid);
        same!(t.fs.attributes(t.request, node).await?, *attributes);
        if &entry.name[..] != b"." {
            kinds.push(attributes.kind);
        }
    }
    same!(kinds.len(), t.kinds().len());
    for (_, kind) in t.kinds() {
        ensure!(kinds.contains(&kind));
    }
    Ok(())
}

pub(super) async fn only_directories_are_listed<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for node in t.one_of_each().await? {
        if t.fs.attributes(t.request, &node).await?.kind != FileKind::Directory {
            refused!(t.fs.read_dir(t.request, &node, 0, 10, false).await, Error::NotDirectory);
        }
    }
    Ok(())
}
