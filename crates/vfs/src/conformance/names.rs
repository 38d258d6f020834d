//! Names: finding, making and removing them.

use super::fixture::{Fixture, mode, name};
use super::{Outcome, ensure, refused, same};
use crate::{CreateMode, DeviceNumber, Error, FileKind, FileSystem, Name, NodeKind, RemoveKind};

pub(super) async fn a_missing_name_is_not_found<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    refused!(t.lookup(&t.root, "missing").await, Error::NotFound);
    for kind in [RemoveKind::Any, RemoveKind::Directory, RemoveKind::NonDirectory] {
        refused!(t.fs.remove(t.request, &t.root, name("missing"), kind).await, Error::NotFound);
    }
    Ok(())
}

pub(super) async fn only_directories_have_names<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for node in t.one_of_each().await? {
        if t.fs.attributes(t.request, &node).await?.kind == FileKind::Directory {
            continue;
        }
        refused!(t.lookup(&node, "x").await, Error::NotDirectory);
        refused!(t.file(&node, "x").await, Error::NotDirectory);
        refused!(t.dir(&node, "x").await, Error::NotDirectory);
        refused!(t.remove(&node, "x").await, Error::NotDirectory);
        refused!(t.rename(&node, "x", &t.root, "y").await, Error::NotDirectory);
        refused!(t.rename(&t.root, "file", &node, "y").await, Error::NotDirectory);
        refused!(t.fs.lookup_parent(t.request, &node).await, Error::NotDirectory);
    }
    Ok(())
}

pub(super) async fn a_name_may_have_255_bytes_of_any_kind<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let long = [b'n'; Name::MAX];
    let names: [&[u8]; 6] = [&long, b"\xff\xfe\x01", b" ", b"...", b"-rf", "größe".as_bytes()];
    for bytes in names {
        t.fs.create(t.request, &t.root, name(bytes), &CreateMode::Guarded(mode(0o600))).await?;
        t.fs.lookup(t.request, &t.root, name(bytes)).await?;
        let listed = t.list(&t.root, 10).await?;
        same!(listed.iter().filter(|entry| &entry.name[..] == bytes).count(), 1);
    }
    Ok(())
}

pub(super) async fn a_new_directory_is_empty_and_counted<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let before = t.fs.attributes(t.request, &t.root).await?.links;
    let (dir, attributes) = t.fs.make_dir(t.request, &t.root, name("dir"), &mode(0o750)).await?;
    same!((attributes.kind, attributes.mode), (FileKind::Directory, 0o750));
    same!(t.names(&dir).await?.len(), 0);
    // Some file systems count every directory's links as 1.
    let after = t.fs.attributes(t.request, &t.root).await?.links;
    ensure!(after == before + 1 || after == 1);
    t.remove(&t.root, "dir").await?;
    same!(t.fs.attributes(t.request, &t.root).await?.links, before);
    Ok(())
}

pub(super) async fn a_taken_name_exists<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    t.one_of_each().await?;
    for (taken, _) in t.kinds() {
        refused!(t.dir(&t.root, taken).await, Error::Exists);
        let (set, taken) = (mode(0o600), name(taken));
        if t.can.symlinks {
            refused!(t.fs.make_symlink(t.request, &t.root, taken, b"x", &set).await, Error::Exists);
        }
        if t.can.special_files {
            refused!(t.fs.make_node(t.request, &t.root, taken, NodeKind::Fifo, &set).await, Error::Exists);
        }
    }
    Ok(())
}

pub(super) async fn a_removed_name_is_gone<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    t.one_of_each().await?;
    for (gone, _) in t.kinds() {
        t.remove(&t.root, gone).await?;
        refused!(t.lookup(&t.root, gone).await, Error::NotFound);
    }
    same!(t.names(&t.root).await?.len(), 0);
    Ok(())
}

pub(super) async fn remove_heeds_the_kind<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    t.one_of_each().await?;
    refused!(
        t.fs.remove(t.request, &t.root, name("dir"), RemoveKind::NonDirectory).await,
        Error::IsDirectory
    );
    for (other, _) in t.kinds().into_iter().filter(|(_, kind)| *kind != FileKind::Directory) {
        refused!(
            t.fs.remove(t.request, &t.root, name(other), RemoveKind::Directory).await,
            Error::NotDirectory
        );
    }
    t.fs.remove(t.request, &t.root, name("dir"), RemoveKind::Directory).await?;
    t.fs.remove(t.request, &t.root, name("file"), RemoveKind::NonDirectory).await?;
    Ok(())
}

pub(super) async fn a_directory_with_entries_is_not_removed<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    t.file(&dir, "file").await?;
    refused!(t.remove(&t.root, "dir").await, Error::NotEmpty);
    t.remove(&dir, "file").await?;
    t.remove(&t.root, "dir").await?;
    Ok(())
}

pub(super) async fn a_removed_directory_takes_no_entries<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    t.file(&t.root, "file").await?;
    t.remove(&t.root, "dir").await?;
    refused!(t.file(&dir, "x").await, Error::Stale);
    refused!(t.dir(&dir, "x").await, Error::Stale);
    refused!(t.rename(&t.root, "file", &dir, "x").await, Error::Stale);
    Ok(())
}

pub(super) async fn the_parent_is_found_and_the_root_has_none<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    let below = t.dir(&dir, "below").await?;
    let parent = t.fs.lookup_parent(t.request, &below).await?;
    same!(t.fs.handle(&parent), t.fs.handle(&dir));
    let parent = t.fs.lookup_parent(t.request, &dir).await?;
    same!(t.fs.handle(&parent), t.fs.handle(&t.root));
    refused!(t.fs.lookup_parent(t.request, &t.root).await, Error::NotFound);
    Ok(())
}

pub(super) async fn pipes_and_sockets_are_made<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for (file, kind, expected) in
        [("fifo", NodeKind::Fifo, FileKind::Fifo), ("socket", NodeKind::Socket, FileKind::Socket)]
    {
        let (_, made) = t.fs.make_node(t.request, &t.root, name(file), kind, &mode(0o640)).await?;
        same!((made.kind, made.mode), (expected, 0o640));
        same!(t.lookup(&t.root, file).await?.1.kind, expected);
    }
    Ok(())
}

pub(super) async fn devices_keep_their_numbers<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    if !t.options.devices {
        return Ok(());
    }
    let set = mode(0o600);
    for (file, kind, expected) in [
        ("block", NodeKind::Block(7, 300), FileKind::Block),
        ("character", NodeKind::Character(1, 3), FileKind::Character),
    ] {
        t.fs.make_node(t.request, &t.root, name(file), kind, &set).await?;
        let found = t.lookup(&t.root, file).await?.1;
        same!(found.kind, expected);
        let (major, minor) = if file == "block" { (7, 300) } else { (1, 3) };
        same!(found.device, DeviceNumber { major, minor });
    }
    Ok(())
}

pub(super) async fn the_file_system_has_room_and_limits<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let room = t.fs.stat_fs(t.request, &t.root).await?;
    ensure!(room.total_bytes > 0);
    ensure!(room.free_bytes <= room.total_bytes && room.available_bytes <= room.free_bytes);
    ensure!(room.free_files <= room.total_files && room.available_files <= room.free_files);
    let limits = t.fs.limits();
    ensure!(limits.name_bytes_max >= 255 && limits.file_bytes_max > 1 << 40);
    ensure!(limits.links_max > 1 || !t.can.hard_links);
    Ok(())
}
