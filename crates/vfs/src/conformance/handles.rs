//! Handles: they persist, and nobody forges them.

use super::fixture::{Fixture, name};
use super::{Failure, Outcome, ensure, refused, same};
use crate::{FileSystem, Handle, RemoveKind};

pub(super) async fn the_root_handle_resolves_to_the_root<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let found = t.fs.resolve(t.request, t.fs.handle(&t.root).as_bytes()).await?;
    same!(t.fs.object_id(&found), t.fs.object_id(&t.root));
    same!(t.fs.attributes(t.request, &found).await?.fileid, t.fs.object_id(&t.root).fileid);
    Ok(())
}

pub(super) async fn a_handle_round_trips_for_every_kind<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for node in t.one_of_each().await? {
        let handle = t.fs.handle(&node);
        let found = t.fs.resolve(t.request, handle.as_bytes()).await?;
        same!(t.fs.handle(&found), handle);
        same!(t.fs.object_id(&found), t.fs.object_id(&node));
        same!(t.fs.attributes(t.request, &found).await?.kind, t.fs.attributes(t.request, &node).await?.kind);
    }
    Ok(())
}

pub(super) async fn a_flipped_bit_makes_a_bad_handle<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let handle = t.fs.handle(&t.file(&t.root, "file").await?);
    for bit in 0..handle.as_bytes().len() * 8 {
        let mut forged = handle.as_bytes().to_vec();
        forged[bit / 8] ^= 1 << (bit % 8);
        refused!(t.fs.resolve(t.request, &forged).await, crate::Error::BadHandle);
    }
    Ok(())
}

pub(super) async fn a_cut_or_padded_handle_is_bad<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let handle = t.fs.handle(&t.file(&t.root, "file").await?);
    for length in 0..handle.as_bytes().len() {
        refused!(t.fs.resolve(t.request, &handle.as_bytes()[..length]).await, crate::Error::BadHandle);
    }
    for length in handle.as_bytes().len() + 1..=Handle::MAX * 2 {
        let mut padded = handle.as_bytes().to_vec();
        padded.resize(length, 0);
        refused!(t.fs.resolve(t.request, &padded).await, crate::Error::BadHandle);
    }
    Ok(())
}

pub(super) async fn a_handle_survives_renames<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let (from, to) = (t.dir(&t.root, "from").await?, t.dir(&t.root, "to").await?);
    let file = t.fs.handle(&t.file(&from, "old").await?);
    let dir = t.fs.handle(&t.dir(&from, "dir").await?);
    t.rename(&from, "old", &to, "new").await?;
    t.rename(&from, "dir", &to, "dir").await?;
    for (handle, child) in [(file, "new"), (dir, "dir")] {
        let found = t.fs.resolve(t.request, handle.as_bytes()).await?;
        same!(t.fs.object_id(&found), t.fs.object_id(&t.lookup(&to, child).await?.0));
        same!(t.fs.handle(&t.lookup(&to, child).await?.0), handle);
    }
    Ok(())
}

pub(super) async fn a_handle_is_the_same_however_the_object_was_found<F: FileSystem>(
    t: &Fixture<F>,
) -> Outcome {
    let made = t.fs.handle(&t.file(&t.root, "file").await?);
    t.fs.link(t.request, &t.lookup(&t.root, "file").await?.0, &t.root, name("link")).await?;
    same!(t.fs.handle(&t.lookup(&t.root, "file").await?.0), made);
    same!(t.fs.handle(&t.lookup(&t.root, "link").await?.0), made);
    let page = t.fs.read_dir(t.request, &t.root, 0, 100, true).await?;
    let listed = page.entries.iter().find(|entry| &entry.name[..] == b"file");
    let Some((node, _)) = listed.and_then(|entry| entry.object.as_ref()) else {
        return Err(Failure::new("the file is not listed with its object"));
    };
    same!(t.fs.handle(node), made);
    Ok(())
}

pub(super) async fn the_handle_of_a_removed_file_is_stale<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for dir in [false, true] {
        let node = if dir { t.dir(&t.root, "gone").await? } else { t.file(&t.root, "gone").await? };
        let handle = t.fs.handle(&node);
        drop(node);
        t.fs.remove(t.request, &t.root, name("gone"), RemoveKind::Any).await?;
        refused!(t.fs.resolve(t.request, handle.as_bytes()).await, crate::Error::Stale);
    }
    let node = t.file_with("kept", b"x").await?;
    let handle = t.fs.handle(&node);
    drop(node);
    t.file(&t.root, "over").await?;
    t.rename(&t.root, "over", &t.root, "kept").await?;
    refused!(t.fs.resolve(t.request, handle.as_bytes()).await, crate::Error::Stale);
    Ok(())
}

pub(super) async fn a_held_file_lives_on_without_a_name<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let held = t.file_with("held", b"before").await?;
    t.remove(&t.root, "held").await?;
    refused!(t.lookup(&t.root, "held").await, crate::Error::NotFound);
    same!(t.fs.attributes(t.request, &held).await?.links, 0);
    same!(t.write(&held, 6, b" and after").await?, 10);
    same!(t.read(&held, 0, 100).await?.0, b"before and after");
    let again = t.fs.resolve(t.request, t.fs.handle(&held).as_bytes()).await?;
    same!(t.read(&again, 0, 6).await?.0, b"before");
    if t.can.hard_links {
        refused!(t.fs.link(t.request, &held, &t.root, name("back")).await, crate::Error::Stale);
    }
    Ok(())
}

pub(super) async fn a_replaced_file_lives_on_as_long_as_it_is_held<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let held = t.file_with("target", b"before").await?;
    let (handle, id) = (t.fs.handle(&held), t.fs.object_id(&held));
    t.file_with("source", b"other").await?;
    t.rename(&t.root, "source", &t.root, "target").await?;
    ensure!(t.fs.object_id(&t.lookup(&t.root, "target").await?.0) != id);
    let again = t.fs.resolve(t.request, handle.as_bytes()).await?;
    same!(t.fs.object_id(&again), id);
    same!(t.fs.attributes(t.request, &again).await?.links, 0);
    drop(held);
    same!(t.read(&again, 0, 100).await?.0, b"before");
    Ok(())
}

pub(super) async fn held_files_without_names_stay_while_many_others_come_and_go<F: FileSystem>(
    t: &Fixture<F>,
) -> Outcome {
    const FILES: usize = 32;
    ensure!(t.fs.nameless_max() >= FILES);
    let mut held = Vec::new();
    for i in 0..FILES {
        held.push(t.file_with(&format!("held {i}"), format!("content {i}").as_bytes()).await?);
        t.remove(&t.root, &format!("held {i}")).await?;
        t.file_with(&format!("other {i}"), b"x").await?;
    }
    for _ in 0..3 {
        for i in 0..FILES {
            t.read(&t.lookup(&t.root, &format!("other {i}")).await?.0, 0, 1).await?;
        }
        for (i, node) in held.iter().enumerate() {
            let found = t.fs.resolve(t.request, t.fs.handle(node).as_bytes()).await?;
            same!(t.fs.object_id(&found), t.fs.object_id(node));
            same!(t.read(&found, 0, 100).await?.0, format!("content {i}").as_bytes());
            same!(t.write(&found, 0, b"C").await?, 1);
            same!(t.write(&found, 0, b"c").await?, 1);
        }
    }
    Ok(())
}

pub(super) async fn objects_that_follow_one_another_differ<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let mut seen = Vec::new();
    for _ in 0..64 {
        let node = t.file(&t.root, "file").await?;
        let id = t.fs.object_id(&node);
        ensure!(!seen.contains(&id));
        seen.push(id);
        drop(node);
        t.remove(&t.root, "file").await?;
    }
    Ok(())
}
