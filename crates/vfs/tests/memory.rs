//! The memory back end against the conformance suite, and its own bounds.
#![forbid(unsafe_code)]

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use vfs::conformance::{Options, run};
use vfs::memory::{Memory, MemoryOptions};
use vfs::{
    CreateMode, Error, FileSystem, Identity, Line, Name, Request, SetAttributes, Stability, Timestamp,
};

/// The memory back end never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("ready at the first poll")
}

fn name(text: &str) -> Name<'_> {
    Name::new(text.as_bytes()).expect("tests use valid names")
}

fn create(fs: &Memory, file: &str) -> vfs::Result<<Memory as FileSystem>::Node> {
    let how = CreateMode::Guarded(SetAttributes::default());
    now(fs.create(Request::new(&Identity::root()), &fs.root(), name(file), &how)).map(|created| created.node)
}

#[test]
fn memory_conforms() {
    let make = || Memory::new(MemoryOptions::default()).unwrap();
    let report = now(run(make, Options { identities: true, devices: true, line: Line::default() }));
    for (check, failure) in &report.failed {
        eprintln!("{check}: {failure}");
    }
    assert!(report.failed.is_empty(), "{} checks failed", report.failed.len());
    assert!(report.passed.len() > 70);
}

#[test]
fn a_write_stops_where_the_bytes_end_and_removal_frees_them() {
    let fs = Memory::new(MemoryOptions { bytes_max: 20_000, ..Default::default() }).unwrap();
    let who = Identity::root();
    let file = create(&fs, "file").unwrap();
    let data = Bytes::from(vec![1; 100_000]);
    let written = now(fs.write(Request::new(&who), &file, 0, data.clone(), Stability::Unstable)).unwrap();
    assert_eq!(written.count, 16_384);
    let refused = now(fs.write(Request::new(&who), &file, 16_384, data.clone(), Stability::Unstable));
    assert!(matches!(refused, Err(Error::NoSpace)));
    now(fs.remove(Request::new(&who), &fs.root(), name("file"), vfs::RemoveKind::Any)).unwrap();
    assert_eq!(now(fs.stat_fs(Request::of_server(), &fs.root())).unwrap().free_bytes, 20_000 - 16_384);
    drop(file);
    assert_eq!(now(fs.stat_fs(Request::of_server(), &fs.root())).unwrap().free_bytes, 20_000);
}

#[test]
fn objects_and_names_are_bounded() {
    let fs = Memory::new(MemoryOptions { objects_max: 3, ..Default::default() }).unwrap();
    create(&fs, "a").unwrap();
    create(&fs, "b").unwrap();
    assert!(matches!(create(&fs, "c"), Err(Error::NoSpace)));
    now(fs.remove(Request::new(&Identity::root()), &fs.root(), name("a"), vfs::RemoveKind::Any)).unwrap();
    create(&fs, "c").unwrap();

    let fs = Memory::new(MemoryOptions { bytes_max: 100, ..Default::default() }).unwrap();
    create(&fs, "a").unwrap();
    assert!(matches!(create(&fs, "b"), Err(Error::NoSpace)));
    assert_eq!(now(fs.stat_fs(Request::of_server(), &fs.root())).unwrap().free_files, (1 << 20) - 2);
}

#[test]
fn the_same_key_and_clock_give_the_same_answers() {
    let make = || {
        let clock = Arc::new(|| Timestamp { seconds: 5, nanoseconds: 0 });
        Memory::new(MemoryOptions { key: Some([3; 16]), clock, ..Default::default() }).unwrap()
    };
    let (one, two) = (make(), make());
    let (a, b) = (create(&one, "file").unwrap(), create(&two, "file").unwrap());
    assert_eq!(one.handle(&a), two.handle(&b));
    assert_eq!(one.write_verifier(), two.write_verifier());
    assert_eq!(
        now(one.attributes(Request::of_server(), &a)).unwrap(),
        now(two.attributes(Request::of_server(), &b)).unwrap()
    );
}

#[test]
fn a_deep_tree_is_dropped_without_recursion() {
    let fs = Memory::new(MemoryOptions::default()).unwrap();
    let mut dir = fs.root();
    for _ in 0..100_000 {
        dir = now(fs.make_dir(Request::new(&Identity::root()), &dir, name("d"), &SetAttributes::default()))
            .unwrap()
            .0;
    }
    assert_eq!(fs.object_id(&dir).fileid, 100_002);
    drop(fs);
}
