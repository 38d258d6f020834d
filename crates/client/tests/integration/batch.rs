//! Batches: what each item brings, in which order they are carried out, and how many requests that takes.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

use bytes::Bytes;
use client::{Batch, Error, Existing, Output, Result, SetAttributes, SetTime, Time, Version};

use crate::fixture::{Fixture, in_every_version, pattern};

in_every_version! {
    every_kind_of_item_does_what_its_single_call_does
    items_that_depend_on_each_other_keep_their_order
    an_item_that_fails_keeps_no_other_from_being_done
    after_a_failure_nothing_more_is_sent_where_that_is_asked_for
    client_caches_the_results_of_a_batch
    symbolic_links_on_the_way_are_followed
    large_files_go_whole
}

/// The items that failed, by place.
fn failures(results: &[Result<Output>]) -> Vec<(usize, ErrorKind)> {
    let failed = |(place, result): (usize, &Result<Output>)| Some((place, result.as_ref().err()?.kind()));
    results.iter().enumerate().filter_map(failed).collect()
}

fn data(results: &mut [Result<Output>], place: usize) -> Bytes {
    std::mem::replace(&mut results[place], Ok(Output::Done)).unwrap().into_data().unwrap()
}

async fn every_kind_of_item_does_what_its_single_call_does(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let time = Time { seconds: 1_000_000_000, nanoseconds: 5 };
    let set = SetAttributes { modified: Some(SetTime::To(time)), ..SetAttributes::default() };
    let mut batch = Batch::new();
    batch.create_dir("d", 0o750);
    batch.write("d/new", "0123456789", Existing::Refuse, 0o640);
    batch.write_range("/d/new", 8, "ABCD");
    batch.write_with("d/dated", "x", Existing::Refuse, 0o600, set);
    batch.symlink("new", "d/link");
    batch.hard_link("d/new", "d/hard");
    batch.write("d/gone", "", Existing::Truncate, 0o644);
    batch.rename("d/gone", "d/moved");
    batch.copy("d/new", "d/copy", Existing::Refuse, 0o600);
    batch.set_metadata("d/hard", SetAttributes { mode: Some(0o444), ..SetAttributes::default() });
    batch.create_dir("d/sub", 0o700);
    batch.remove_dir("d/sub");
    batch.write("d/removed", "x", Existing::Refuse, 0o600);
    batch.remove_file("d/removed");
    let whole = batch.read("d/hard");
    let part = batch.read_range("d/new", 3, 4);
    let beyond = batch.read_range("d/new", 10, 100);
    let target = batch.read_link("d/link");
    let attributes = batch.symlink_metadata("d/copy");
    let list = batch.read_dir("d");
    let root = batch.symlink_metadata("/");
    let mut results = client.run(batch).await;
    assert_eq!(failures(&results), []);
    assert_eq!(data(&mut results, whole), "01234567ABCD");
    assert_eq!(data(&mut results, part), "3456");
    assert_eq!(data(&mut results, beyond), "CD");
    assert_eq!(data(&mut results, target), "new");
    let known = results[attributes].clone().unwrap().into_attributes().unwrap();
    assert_eq!((known.size, known.mode), (12, 0o600));
    assert!(results[root].clone().unwrap().into_attributes().unwrap().is_directory());
    let entries = results[list].clone().unwrap().into_entries().unwrap();
    let mut names: Vec<_> = entries.iter().map(|entry| &entry.name[..]).collect();
    names.sort_unstable();
    assert_eq!(names, [&b"copy"[..], b"dated", b"hard", b"link", b"moved", b"new"]);
    assert!(entries.iter().all(|entry| entry.attributes.is_some()));
    let dated = fs::metadata(fixture.path("d/dated")).unwrap();
    assert_eq!((dated.mtime(), dated.mtime_nsec(), dated.mode() & 0o777), (1_000_000_000, 5, 0o600));
    assert_eq!(fs::metadata(fixture.path("d/new")).unwrap().mode() & 0o777, 0o444);
    assert_eq!(fs::metadata(fixture.path("d")).unwrap().mode() & 0o777, 0o750);
    client.shutdown().await.unwrap();
}

async fn items_that_depend_on_each_other_keep_their_order(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let mut batch = Batch::new();
    let mut reads = Vec::new();
    for tree in 0..8 {
        let mut path = format!("{tree}");
        for depth in 0..12 {
            batch.create_dir(&path, 0o755);
            batch.write(format!("{path}/file"), format!("{tree} {depth}"), Existing::Refuse, 0o644);
            path += "/sub";
        }
        batch.rename(format!("{tree}/sub/sub"), format!("{tree}/moved"));
        reads.push((batch.read(format!("{tree}/moved/sub/sub/file")), format!("{tree} 4")));
        batch.write(format!("{tree}/file"), "second", Existing::Truncate, 0o644);
        batch.write(format!("{tree}/file"), "third", Existing::Replace, 0o644);
        reads.push((batch.read(format!("{tree}/file")), "third".to_owned()));
        batch.remove_file(format!("{tree}/file"));
        batch.create_dir(format!("{tree}/file"), 0o755);
    }
    let mut results = client.run(batch).await;
    assert_eq!(failures(&results), []);
    for (place, expected) in reads {
        assert_eq!(data(&mut results, place), expected);
    }
    assert!(fixture.path("7/file").is_dir());
    client.shutdown().await.unwrap();
}

async fn an_item_that_fails_keeps_no_other_from_being_done(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    fs::create_dir_all(fixture.path("full/of")).unwrap();
    let mut batch = Batch::new();
    let mut expected = Vec::new();
    for index in 0..60 {
        let failing = match index % 5 {
            0 => Some((batch.read(format!("missing {index}")), ErrorKind::NotFound)),
            1 => Some((batch.create_dir("full", 0o755), ErrorKind::AlreadyExists)),
            2 => Some((batch.remove_dir("full"), ErrorKind::DirectoryNotEmpty)),
            3 => Some((batch.write("full/of", "x", Existing::Refuse, 0o644), ErrorKind::AlreadyExists)),
            _ => Some((batch.symlink_metadata("not/there"), ErrorKind::NotFound)),
        };
        expected.extend(failing);
        batch.write(format!("file {index}"), pattern(index), Existing::Refuse, 0o644);
    }
    expected.push((batch.read("a/../b"), ErrorKind::InvalidInput));
    let results = client.run(batch).await;
    assert_eq!(failures(&results), expected);
    for index in 0..60 {
        assert_eq!(fs::read(fixture.path(&format!("file {index}"))).unwrap(), pattern(index));
    }
    client.shutdown().await.unwrap();
}

async fn after_a_failure_nothing_more_is_sent_where_that_is_asked_for(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let mut batch = Batch::new().stop_on_error();
    batch.create_dir("d", 0o755);
    batch.remove_dir("missing");
    for depth in 1..2000 {
        // Each needs the one before.
        batch.rename(format!("d{}", "x".repeat(depth % 2)), format!("d{}", "x".repeat((depth + 1) % 2)));
    }
    let results = client.run(batch).await;
    assert!(results[1].as_ref().is_err_and(Error::is_not_found));
    assert!(matches!(results[1999], Err(Error::Skipped)), "{:?}", results[1999]);
    client.shutdown().await.unwrap();
}

async fn client_caches_the_results_of_a_batch(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let reader = |path: &'static str| {
        let client = client.clone();
        async move { crate::fixture::read_whole(&client, path).await }
    };
    crate::fixture::write_whole(&client, "/a", "before").await;
    crate::fixture::write_whole(&client, "/b", "removed").await;
    client.create_dir("/d", 0o755).await.unwrap();
    // All of it is remembered, and some of it delegated.
    for path in ["/a", "/b", "/a", "/b"] {
        reader(path).await;
    }
    assert!(client.metadata("/new").await.unwrap_err().is_not_found());
    let dirty = client.open("/dirty", crate::fixture::WRITE.create(true)).await.unwrap();
    dirty.write_at(0, "not sent yet".into()).await.unwrap();
    let mut batch = Batch::new();
    batch.write("/a", "after", Existing::Truncate, 0o644);
    batch.remove_file("/b");
    batch.write("/new", "new", Existing::Refuse, 0o644);
    batch.rename("/d", "/e");
    let read = batch.read("/dirty");
    let size = batch.symlink_metadata("/dirty");
    let mut results = client.run(batch).await;
    assert_eq!(failures(&results), []);
    assert_eq!(data(&mut results, read), "not sent yet");
    assert_eq!(results[size].clone().unwrap().into_attributes().unwrap().size, 12);
    dirty.close().await.unwrap();
    assert_eq!((reader("/a").await, reader("/new").await), (Bytes::from("after"), Bytes::from("new")));
    for gone in ["/b", "/d"] {
        assert!(client.metadata(gone).await.unwrap_err().is_not_found());
    }
    assert!(client.metadata("/e").await.unwrap().is_directory());
    client.shutdown().await.unwrap();
}

async fn symbolic_links_on_the_way_are_followed(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    fs::create_dir_all(fixture.path("real/dir")).unwrap();
    fs::write(fixture.path("real/dir/file"), "content").unwrap();
    std::os::unix::fs::symlink("real", fixture.path("link")).unwrap();
    std::os::unix::fs::symlink("../link/dir/file", fixture.path("real/to file")).unwrap();
    // Order is kept by names: what another name of the file would read beside the write below is not said.
    let mut batch = Batch::new();
    let through = batch.read("link/dir/file");
    let itself = batch.symlink_metadata("link");
    let mut results = client.run(batch).await;
    assert_eq!(failures(&results), []);
    assert_eq!(data(&mut results, through), "content");
    let itself = results[itself].clone().unwrap().into_attributes().unwrap();
    assert_eq!(itself.kind, client::FileType::Symlink);
    let mut batch = Batch::new();
    let at_the_end = batch.read("link/to file");
    batch.write("link/to file", "changed", Existing::Truncate, 0o644);
    batch.create_dir("link/dir/new", 0o755);
    batch.write("link/dir/new/file", "x", Existing::Refuse, 0o644);
    let mut results = client.run(batch).await;
    assert_eq!(failures(&results), []);
    assert_eq!(data(&mut results, at_the_end), "content");
    assert_eq!(fs::read(fixture.path("real/dir/file")).unwrap(), b"changed");
    assert!(fixture.path("real/dir/new/file").exists());
    client.shutdown().await.unwrap();
}

async fn large_files_go_whole(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let mut batch = Batch::new();
    let sizes = [0, 1, 4096, 100_000, 1 << 20, (1 << 20) + 1, 5_000_000];
    for size in sizes {
        batch.write(format!("{size}"), pattern(size), Existing::Refuse, 0o644);
    }
    let reads = sizes.map(|size| batch.read(format!("{size}")));
    let mut results = client.run(batch).await;
    assert_eq!(failures(&results), []);
    for (size, place) in sizes.into_iter().zip(reads) {
        assert!(data(&mut results, place) == pattern(size), "{size}");
        assert!(fs::read(fixture.path(&format!("{size}"))).unwrap() == pattern(size), "{size}");
    }
    client.shutdown().await.unwrap();
}
