//! A back end that nothing can be changed in: its tree is there already, and the checks walk it.

use bytes::Bytes;

use super::fixture::{Fixture, mode, name};
use super::{Failure, Outcome, ensure, refused, same};
use crate::{
    Attributes, CreateMode, Error, FileKind, FileSystem, Handle, Name, NodeKind, RemoveKind, Stability,
};

/// The most objects that are looked at.
const OBJECTS_MAX: usize = 1000;
/// The most bytes of a file that are read.
const BYTES_MAX: u64 = 1 << 20;

/// An object that was found in the tree.
struct Found<N> {
    dir: N,
    name: Bytes,
    node: N,
    attributes: Attributes,
}

/// The objects below the root, by their names.
async fn walk<F: FileSystem>(t: &Fixture<F>) -> Result<Vec<Found<F::Node>>, Failure> {
    let (mut found, mut dirs) = (Vec::new(), vec![t.root.clone()]);
    while let Some(dir) = dirs.pop() {
        for entry in t.list(&dir, 64).await? {
            let Ok(name) = Name::new(&entry.name) else {
                ensure!([&b"."[..], b".."].contains(&&entry.name[..]));
                continue;
            };
            if found.len() == OBJECTS_MAX {
                return Ok(found);
            }
            let (node, attributes) = t.fs.lookup(t.request, &dir, name).await?;
            same!(attributes.fileid, entry.fileid);
            if attributes.kind == FileKind::Directory {
                dirs.push(node.clone());
            }
            found.push(Found { dir: dir.clone(), name: entry.name, node, attributes });
        }
    }
    let has = |kind| found.iter().any(|found: &Found<_>| found.attributes.kind == kind);
    ensure!(has(FileKind::Regular) && has(FileKind::Directory));
    Ok(found)
}

pub(super) async fn every_handle_resolves_to_its_object<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for Found { node, attributes, .. } in walk(t).await? {
        let resolved = t.fs.resolve(t.request, t.fs.handle(&node).as_bytes()).await?;
        same!(t.fs.object_id(&resolved), t.fs.object_id(&node));
        same!(t.fs.attributes(t.request, &resolved).await?, attributes);
    }
    Ok(())
}

pub(super) async fn changed_handles_are_bad<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let handle = t.fs.handle(&t.root);
    let handle = handle.as_bytes();
    for bit in 0..handle.len() * 8 {
        let mut forged = handle.to_vec();
        forged[bit / 8] ^= 1 << (bit % 8);
        refused!(t.fs.resolve(t.request, &forged).await, Error::BadHandle);
    }
    for length in (0..=Handle::MAX * 2).filter(|length| *length != handle.len()) {
        let mut other = handle.to_vec();
        other.resize(length, 0);
        refused!(t.fs.resolve(t.request, &other).await, Error::BadHandle);
    }
    Ok(())
}

pub(super) async fn objects_have_ids_of_their_own<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let mut seen = vec![t.fs.object_id(&t.root)];
    for Found { node, attributes, .. } in walk(t).await? {
        let id = t.fs.object_id(&node);
        same!(id.fileid, attributes.fileid);
        ensure!(t.can.hard_links || !seen.contains(&id));
        seen.push(id);
    }
    Ok(())
}

pub(super) async fn names_are_found_in_directories_only<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    refused!(t.lookup(&t.root, "a name that is not there").await, Error::NotFound);
    refused!(t.fs.lookup_parent(t.request, &t.root).await, Error::NotFound);
    for Found { dir, node, attributes, .. } in walk(t).await? {
        if attributes.kind == FileKind::Directory {
            let parent = t.fs.lookup_parent(t.request, &node).await?;
            same!(t.fs.object_id(&parent), t.fs.object_id(&dir));
        } else {
            refused!(t.lookup(&node, "x").await, Error::NotDirectory | Error::IsSymlink);
            refused!(t.fs.read_dir(t.request, &node, 0, 10, false).await, Error::NotDirectory);
        }
    }
    Ok(())
}

pub(super) async fn pages_of_any_size_list_the_same_entries<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dirs = walk(t).await?.into_iter().filter(|found| found.attributes.kind == FileKind::Directory);
    for dir in dirs.map(|found| found.node).chain([t.root.clone()]) {
        let whole: Vec<_> = t.list(&dir, 1000).await?.into_iter().map(|entry| entry.name).collect();
        for page in [1, 2, 3] {
            let entries = t.list(&dir, page).await?;
            ensure!(entries.iter().all(|entry| entry.cookie != 0));
            same!(entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>(), whole);
        }
        for entry in t.fs.read_dir(t.request, &dir, 0, 1000, true).await?.entries {
            let Ok(name) = Name::new(&entry.name) else { continue };
            let Some((node, attributes)) = entry.object else {
                return Err(Failure::new(format!("{name:?} has no object")));
            };
            same!(t.fs.object_id(&node), t.fs.object_id(&t.fs.lookup(t.request, &dir, name).await?.0));
            same!(t.fs.attributes(t.request, &node).await?, attributes);
        }
    }
    Ok(())
}

pub(super) async fn files_are_read_in_pieces_to_their_end<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for Found { node, attributes, .. } in walk(t).await? {
        match attributes.kind {
            FileKind::Regular if attributes.size <= BYTES_MAX => {}
            FileKind::Regular => continue,
            FileKind::Directory => {
                refused!(t.read(&node, 0, 1).await, Error::IsDirectory);
                continue;
            }
            _ => {
                refused!(t.read(&node, 0, 1).await, Error::IsSymlink | Error::WrongType);
                continue;
            }
        }
        let size = attributes.size as usize;
        let (whole, done) = t.read(&node, 0, size + 1).await?;
        same!((whole.len(), done.count, done.eof), (size, size, true));
        let half = size / 2;
        let (start, done) = t.read(&node, 0, half).await?;
        same!((start.as_slice(), done.eof), (&whole[..half], half == size));
        same!(t.read(&node, half as u64, size).await?.0, whole[half..]);
        for beyond in [attributes.size, attributes.size + 1, u64::MAX] {
            let (none, done) = t.read(&node, beyond, 10).await?;
            same!((none.len(), done.eof), (0, true));
        }
    }
    Ok(())
}

pub(super) async fn changes_are_refused_as_read_only<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let (who, root, new) = (t.request, &t.root, name("new"));
    let set = mode(0o644);
    let create = CreateMode::Guarded(set);
    refused!(t.fs.create(who, root, new, &create).await, Error::ReadOnly);
    refused!(t.fs.begin_create(who, root, new, &create).await.map(|_| ()), Error::ReadOnly);
    refused!(t.fs.make_dir(who, root, new, &set).await, Error::ReadOnly);
    let made = t.fs.make_symlink(who, root, new, b"target", &set).await;
    refused!(made, Error::ReadOnly | Error::NotSupported);
    let made = t.fs.make_node(who, root, new, NodeKind::Fifo, &set).await;
    refused!(made, Error::ReadOnly | Error::NotSupported | Error::BadType);
    for Found { dir, name: entry, node, attributes } in walk(t).await? {
        let Ok(old) = Name::new(&entry) else { continue };
        refused!(t.fs.set_attributes(who, &node, &set).await, Error::ReadOnly);
        refused!(t.fs.remove(who, &dir, old, RemoveKind::Any).await, Error::ReadOnly);
        refused!(t.fs.rename(who, &dir, old, root, new).await, Error::ReadOnly);
        if attributes.kind == FileKind::Regular {
            let data = Bytes::from_static(b"data");
            refused!(t.fs.write(who, &node, 0, data, Stability::FileSync).await, Error::ReadOnly);
            refused!(t.fs.link(who, &node, root, new).await, Error::ReadOnly | Error::NotSupported);
        }
    }
    Ok(())
}
