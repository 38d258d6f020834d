//! The three ways to create a file.

use super::fixture::{Fixture, mode, name};
use super::{Outcome, ensure, refused, same};
use crate::{CreateMode, Error, FileKind, FileSystem, SetAttributes, SetTime, Timestamp};

pub(super) async fn unchecked_opens_an_existing_file<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let how = CreateMode::Unchecked(mode(0o640));
    let made = t.fs.create(t.request, &t.root, name("file"), &how).await?;
    ensure!(made.created);
    same!((made.attributes.kind, made.attributes.mode, made.attributes.size), (FileKind::Regular, 0o640, 0));
    let opened = t.fs.create(t.request, &t.root, name("file"), &how).await?;
    ensure!(!opened.created);
    same!(t.fs.object_id(&opened.node), t.fs.object_id(&made.node));
    Ok(())
}

pub(super) async fn unchecked_truncates_to_zero_and_sets_nothing_else<F: FileSystem>(
    t: &Fixture<F>,
) -> Outcome {
    t.file_with("file", b"content").await?;
    let grow = SetAttributes { size: Some(100), ..mode(0o600) };
    let opened = t.fs.create(t.request, &t.root, name("file"), &CreateMode::Unchecked(grow)).await?;
    same!((opened.attributes.size, opened.attributes.mode), (7, 0o644));
    let cut = SetAttributes { size: Some(0), ..mode(0o600) };
    let opened = t.fs.create(t.request, &t.root, name("file"), &CreateMode::Unchecked(cut)).await?;
    same!((opened.attributes.size, opened.attributes.mode), (0, 0o644));
    Ok(())
}

pub(super) async fn unchecked_refuses_other_kinds<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    t.one_of_each().await?;
    let how = CreateMode::Unchecked(mode(0o600));
    for (taken, kind) in t.kinds() {
        let created = t.fs.create(t.request, &t.root, name(taken), &how).await;
        match kind {
            FileKind::Regular => ensure!(!created?.created),
            FileKind::Directory => refused!(created, Error::IsDirectory),
            FileKind::Symlink => refused!(created, Error::IsSymlink),
            _ => refused!(created, Error::WrongType),
        }
    }
    Ok(())
}

pub(super) async fn guarded_refuses_an_existing_name<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    t.one_of_each().await?;
    for (taken, _) in t.kinds() {
        let how = CreateMode::Guarded(mode(0o600));
        refused!(t.fs.create(t.request, &t.root, name(taken), &how).await, Error::Exists);
    }
    Ok(())
}

pub(super) async fn guarded_applies_all_attributes<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let accessed = Timestamp { seconds: 1_000_000_001, nanoseconds: 0 };
    let modified = Timestamp { seconds: 1_000_000_002, nanoseconds: 0 };
    let set = SetAttributes {
        mode: Some(0o627),
        size: Some(5),
        accessed: Some(SetTime::To(accessed)),
        modified: Some(SetTime::To(modified)),
        ..Default::default()
    };
    let made = t.fs.create(t.request, &t.root, name("file"), &CreateMode::Guarded(set)).await?;
    same!((made.attributes.mode, made.attributes.size), (0o627, 5));
    same!((made.attributes.accessed, made.attributes.modified), (accessed, modified));
    same!(t.lookup(&t.root, "file").await?.1, made.attributes);
    Ok(())
}

pub(super) async fn exclusive_recognises_its_own_retry<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for (file, verifier) in [("a", [0xff; 8]), ("b", [0; 8]), ("c", *b"\x80\x01\x02\x03\x84\x05\x06\x07")] {
        let how = CreateMode::Exclusive { verifier, attributes: mode(0o640) };
        let made = t.fs.create(t.request, &t.root, name(file), &how).await?;
        ensure!(made.created);
        same!(made.attributes.mode, 0o640);
        let retried = t.fs.create(t.request, &t.root, name(file), &how).await?;
        ensure!(retried.created);
        same!(t.fs.object_id(&retried.node), t.fs.object_id(&made.node));
        let mut other = verifier;
        other[2] ^= 0x10;
        let how = CreateMode::Exclusive { verifier: other, attributes: mode(0o640) };
        refused!(t.fs.create(t.request, &t.root, name(file), &how).await, Error::Exists);
    }
    Ok(())
}

pub(super) async fn exclusive_refuses_a_file_made_otherwise<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    t.one_of_each().await?;
    for (taken, _) in t.kinds() {
        let how = CreateMode::Exclusive { verifier: [1; 8], attributes: mode(0o600) };
        refused!(t.fs.create(t.request, &t.root, name(taken), &how).await, Error::Exists);
    }
    Ok(())
}
