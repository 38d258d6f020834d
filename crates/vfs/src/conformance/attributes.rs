//! Setting attributes.

use std::collections::HashSet;

use super::fixture::{Fixture, mode, name, size};
use super::{Outcome, ensure, refused, same};
use crate::{Error, FileKind, FileSystem, SetAttributes, SetTime, Timestamp};

pub(super) async fn a_mode_keeps_its_twelve_bits<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let (file, dir) = (t.file(&t.root, "file").await?, t.dir(&t.root, "dir").await?);
    for bits in [0o000, 0o7777, 0o4755, 0o1777, 0o644] {
        for node in [&file, &dir] {
            same!(t.set(node, &mode(bits)).await?.mode, bits);
            same!(t.fs.attributes(t.request, node).await?.mode, bits);
        }
    }
    same!(t.set(&file, &mode(0o100_600)).await?.mode, 0o600);
    Ok(())
}

pub(super) async fn a_mask_leaves_the_other_bits_of_the_mode<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let (file, dir) = (t.file(&t.root, "file").await?, t.dir(&t.root, "dir").await?);
    for node in [&file, &dir] {
        t.set(node, &mode(0o640)).await?;
        for (bits, mask, becomes) in
            [(0o7777, 0o1000, 0o1640), (0, 0o040, 0o1600), (0o644, 0o7777, 0o644), (0o777, 0, 0o644)]
        {
            same!(t.set(node, &SetAttributes { mode_mask: Some(mask), ..mode(bits) }).await?.mode, becomes);
        }
    }
    Ok(())
}

pub(super) async fn times_are_set_to_the_nanosecond<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "file").await?;
    let granularity = t.fs.limits().time_granularity_ns.max(1);
    let accessed = Timestamp { seconds: 1_234_567_890, nanoseconds: 123_456_789 / granularity * granularity };
    let modified = Timestamp { seconds: 4_000_000_000, nanoseconds: 987_654_321 / granularity * granularity };
    let set = SetAttributes {
        accessed: Some(SetTime::To(accessed)),
        modified: Some(SetTime::To(modified)),
        ..Default::default()
    };
    let attributes = t.set(&file, &set).await?;
    same!((attributes.accessed, attributes.modified), (accessed, modified));
    let other = Timestamp { seconds: 7, nanoseconds: 0 };
    let set = SetAttributes { modified: Some(SetTime::To(other)), ..Default::default() };
    let attributes = t.set(&file, &set).await?;
    same!((attributes.accessed, attributes.modified), (accessed, other));
    Ok(())
}

pub(super) async fn times_are_set_to_the_clock<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "file").await?;
    let past = Some(SetTime::To(Timestamp { seconds: 1, nanoseconds: 0 }));
    t.set(&file, &SetAttributes { accessed: past, modified: past, ..Default::default() }).await?;
    let now = Some(SetTime::Now);
    let attributes =
        t.set(&file, &SetAttributes { accessed: now, modified: now, ..Default::default() }).await?;
    let fresh = t.fs.attributes(t.request, &t.file(&t.root, "fresh").await?).await?;
    ensure!(attributes.modified <= fresh.modified && attributes.accessed <= fresh.accessed);
    ensure!(fresh.modified.seconds - attributes.modified.seconds < 600);
    Ok(())
}

pub(super) async fn only_files_have_a_length_to_set<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for node in t.one_of_each().await? {
        match t.fs.attributes(t.request, &node).await?.kind {
            FileKind::Regular => {}
            FileKind::Directory => refused!(t.set(&node, &size(0)).await, Error::IsDirectory),
            _ => refused!(t.set(&node, &size(0)).await, Error::Invalid),
        }
    }
    Ok(())
}

pub(super) async fn impossible_values_are_invalid<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "file").await?;
    let before = t.fs.attributes(t.request, &file).await?;
    for nanoseconds in [1_000_000_000, 1_073_741_822, 1_073_741_823, u32::MAX] {
        let time = Some(SetTime::To(Timestamp { seconds: 1, nanoseconds }));
        refused!(t.set(&file, &SetAttributes { accessed: time, ..Default::default() }).await, Error::Invalid);
        refused!(t.set(&file, &SetAttributes { modified: time, ..Default::default() }).await, Error::Invalid);
        let set = SetAttributes { modified: time, ..Default::default() };
        refused!(t.fs.make_dir(t.request, &t.root, name("new"), &set).await, Error::Invalid);
    }
    let owner = SetAttributes { uid: Some(u32::MAX), ..Default::default() };
    refused!(t.set(&file, &owner).await, Error::Invalid);
    let group = SetAttributes { gid: Some(u32::MAX), ..Default::default() };
    refused!(t.set(&file, &group).await, Error::Invalid);
    same!(t.fs.attributes(t.request, &file).await?, before);
    same!(t.names(&t.root).await?, ["file"]);
    Ok(())
}

pub(super) async fn setting_nothing_sets_nothing<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for node in t.one_of_each().await? {
        let before = t.fs.attributes(t.request, &node).await?;
        same!(t.set(&node, &SetAttributes::default()).await?, before);
    }
    Ok(())
}

pub(super) async fn every_change_moves_the_change_attribute<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "file").await?;
    let mut seen = vec![t.fs.attributes(t.request, &file).await?.change];
    let past = Some(SetTime::To(Timestamp { seconds: 1, nanoseconds: 0 }));
    for round in 0..20 {
        for set in
            [mode(0o600 + round % 8), size(u64::from(round)), SetAttributes { modified: past, ..mode(0o644) }]
        {
            let now = t.set(&file, &set).await?.change;
            ensure!(!seen.contains(&now));
            same!(t.fs.attributes(t.request, &file).await?.change, now);
            seen.push(now);
        }
    }
    if t.can.hard_links {
        t.fs.link(t.request, &file, &t.root, name("link")).await?;
        ensure!(!seen.contains(&t.fs.attributes(t.request, &file).await?.change));
    }
    Ok(())
}

pub(super) async fn a_thousand_changes_in_a_row_give_a_thousand_values<F: FileSystem>(
    t: &Fixture<F>,
) -> Outcome {
    let (file, dir) = (t.file(&t.root, "file").await?, t.dir(&t.root, "dir").await?);
    let (mut of_file, mut of_dir, mut of_root) = (HashSet::new(), HashSet::new(), HashSet::new());
    for i in 0..1000 {
        t.write(&file, 0, b"x").await?;
        of_file.insert(t.fs.attributes(t.request, &file).await?.change);
        t.file(&dir, &format!("made {i}")).await?;
        of_dir.insert(t.fs.attributes(t.request, &dir).await?.change);
        let (from, to) = if i % 2 == 0 { ("file", "other") } else { ("other", "file") };
        t.rename(&t.root, from, &t.root, to).await?;
        of_root.insert(t.fs.attributes(t.request, &t.root).await?.change);
    }
    same!((of_file.len(), of_dir.len(), of_root.len()), (1000, 1000, 1000));
    Ok(())
}

pub(super) async fn the_mode_of_a_symlink_is_not_set<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let (link, made) = t.fs.make_symlink(t.request, &t.root, name("link"), b"target", &mode(0o600)).await?;
    let set = t.set(&link, &mode(0o600)).await?;
    same!((set.mode, set.change), (made.mode, made.change));
    let modified = Some(SetTime::To(Timestamp { seconds: 1_000_000, nanoseconds: 0 }));
    let set = t.set(&link, &SetAttributes { modified, ..mode(0o600) }).await?;
    same!((set.mode, set.modified.seconds), (made.mode, 1_000_000));
    Ok(())
}

pub(super) async fn a_changed_directory_moves_its_change_attribute<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = t.dir(&t.root, "dir").await?;
    let mut seen = vec![t.fs.attributes(t.request, &dir).await?];
    for _ in 0..10 {
        t.file(&dir, "file").await?;
        seen.push(t.fs.attributes(t.request, &dir).await?);
        t.rename(&dir, "file", &dir, "renamed").await?;
        seen.push(t.fs.attributes(t.request, &dir).await?);
        t.remove(&dir, "renamed").await?;
        seen.push(t.fs.attributes(t.request, &dir).await?);
    }
    let mut changes: Vec<u64> = seen.iter().map(|attributes| attributes.change).collect();
    changes.sort_unstable();
    changes.dedup();
    same!(changes.len(), seen.len());
    Ok(())
}
