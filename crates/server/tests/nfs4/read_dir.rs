//! READDIR (RFC 8881 §18.23): every entry once, in parts that fit, whatever happens to the directory
//! meanwhile.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it tests real files")]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::*;

use crate::peer::{Peer, TestServer};

const PLAIN: Bitmap = Bitmap::of(&[AttributeId::RdattrError, AttributeId::MountedOnFileId]);
const WITH_OBJECTS: Bitmap = Bitmap::of(&[
    AttributeId::Type,
    AttributeId::Change,
    AttributeId::RdattrError,
    AttributeId::FileHandle,
    AttributeId::FileId,
    AttributeId::Mode,
]);

fn args(cookie: u64, count_max: u32, wanted: Bitmap) -> ReadDirArgs {
    ReadDirArgs { cookie, verifier: Verifier([0; 8]), directory_count: 0, count_max, wanted }
}

fn root(peer: &mut Peer) -> FileHandle {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    results.body::<GetFhResult>(Operation::GetFh).object
}

/// One reply and its size.
fn list(
    peer: &mut Peer,
    directory: &FileHandle,
    arguments: &ReadDirArgs,
) -> Result<(ReadDirResult, usize), Status> {
    let mut results = peer.on(directory, Operation::ReadDir, arguments);
    if results.status != Status::Ok {
        return Err(results.status);
    }
    let body = results.ok(Operation::ReadDir);
    let before = body.remaining();
    let page: ReadDirResult = body.get().unwrap();
    Ok((page, before - body.remaining()))
}

/// Lists all of a directory, with `between` after every reply; how often each name came.
fn list_all(
    peer: &mut Peer,
    directory: &FileHandle,
    count_max: u32,
    wanted: Bitmap,
    mut between: impl FnMut(&mut Peer, &[DirectoryEntry]),
) -> HashMap<Bytes, usize> {
    let (mut names, mut cookie) = (HashMap::new(), 0);
    loop {
        let (page, size) = list(peer, directory, &args(cookie, count_max, wanted)).unwrap();
        assert!(size <= count_max as usize, "{size} bytes");
        assert!(page.eof || !page.entries.is_empty(), "a reply that leads nowhere");
        for entry in &page.entries {
            assert!(entry.cookie > 2, "reserved");
            assert_eq!(entry.attributes.present(), wanted);
            cookie = entry.cookie;
            *names.entry(entry.name.clone()).or_default() += 1;
        }
        between(peer, &page.entries);
        if page.eof {
            return names;
        }
    }
}

fn make(peer: &mut Peer, directory: &FileHandle, name: &str) {
    let made = CreateArgs { kind: CreateType::Fifo, name: Bytes::copy_from_slice(name.as_bytes()) };
    let status = peer.on(directory, Operation::Create, &(made, AttributeValues::default())).status;
    assert_eq!(status, Status::Ok, "{name}");
}

fn remove(peer: &mut Peer, directory: &FileHandle, name: &str) {
    let target = Bytes::copy_from_slice(name.as_bytes());
    assert_eq!(peer.on(directory, Operation::Remove, &RemoveArgs { target }).status, Status::Ok, "{name}");
}

/// Both back ends. The directory goes when it is dropped.
fn servers() -> ([Arc<TestServer>; 2], tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    ([TestServer::new(), TestServer::local(directory.path())], directory)
}

#[test]
fn twenty_thousand_entries_are_listed_once_each() {
    let ([_, local], directory) = servers();
    for i in 0..20_000 {
        std::fs::write(directory.path().join(format!("entry {i}")), "").unwrap();
    }
    let mut peer = Peer::new(&local, 1);
    let root = root(&mut peer);
    for (count_max, wanted) in [(4096, PLAIN), (60_000, PLAIN), (60_000, WITH_OBJECTS)] {
        let mut replies = 0;
        let names = list_all(&mut peer, &root, count_max, wanted, |_, _| replies += 1);
        assert_eq!(names.len(), 20_000);
        assert!(names.values().all(|times| *times == 1));
        assert!((15..=800).contains(&replies), "{replies} replies");
    }
}

#[test]
fn a_long_listing_gives_way_to_others() {
    let server = TestServer::new();
    let (mut peer, mut other) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let root = root(&mut peer);
    for i in 0..1500 {
        make(&mut peer, &root, &i.to_string());
    }
    let mut listing = peer.begin(|c| {
        c.push(Operation::PutFh, &PutFhArgs { object: root.clone() })
            .push(Operation::ReadDir, &args(0, 60_000, Bitmap::EMPTY));
    });
    assert!((&mut listing).now_or_never().is_none());
    assert_eq!(other.on(&root, Operation::Lookup, &LookupArgs { name: "7".into() }).status, Status::Ok);
    let mut turns = 1;
    let mut results = loop {
        match (&mut listing).now_or_never() {
            Some(results) => break results.sequenced(),
            None => turns += 1,
        }
    };
    assert_eq!(turns, 1500 / 16, "after each 16 entries");
    results.ok(Operation::PutFh);
    let page: ReadDirResult = results.body(Operation::ReadDir);
    assert_eq!((page.entries.len(), page.eof), (1500, true));
}

#[test]
fn lasting_entries_are_listed_once_during_changes() {
    let (servers, _directory) = servers();
    for server in servers {
        let mut peer = Peer::new(&server, 1);
        let root = root(&mut peer);
        let stay: HashSet<Bytes> = (0..1000).map(|i| format!("stay {i}").into()).collect();
        let mut goers: Vec<String> = (0..1000).map(|i| format!("go {i}")).collect();
        for name in &stay {
            make(&mut peer, &root, std::str::from_utf8(name).unwrap());
        }
        for name in &goers {
            make(&mut peer, &root, name);
        }
        let mut round = 0;
        let names = list_all(&mut peer, &root, 2000, WITH_OBJECTS, |peer, entries| {
            round += 1;
            for i in 0..10 {
                make(peer, &root, &format!("come {round} {i}"));
            }
            // The last one listed goes, where it may, so that its cookie names nothing any more.
            let last = entries.last().map(|entry| String::from_utf8_lossy(&entry.name).into_owned());
            let last = last.and_then(|last| goers.iter().position(|name| *name == last));
            for at in last.into_iter().chain([0; 9]) {
                if at < goers.len() {
                    remove(peer, &root, &goers.swap_remove(at));
                }
            }
        });
        assert!(round > 50 && goers.len() < 500, "{round} rounds, {} left", goers.len());
        assert!(names.values().all(|times| *times == 1));
        assert!(stay.iter().all(|name| names.contains_key(name)));
    }
}

#[test]
fn a_reply_is_as_large_as_it_may_be_and_no_larger() {
    let (servers, _directory) = servers();
    for server in servers {
        let mut peer = Peer::new(&server, 1);
        let root = root(&mut peer);
        let (empty, size) = list(&mut peer, &root, &args(0, 16, PLAIN)).unwrap();
        assert_eq!((empty.entries.len(), empty.eof, size), (0, true, 16));
        assert_eq!(list(&mut peer, &root, &args(0, 15, PLAIN)).unwrap_err(), Status::TooSmall);
        for i in 0..9 {
            make(&mut peer, &root, &format!("{i}"));
        }
        for wanted in [Bitmap::EMPTY, PLAIN, WITH_OBJECTS] {
            let (_, all) = list(&mut peer, &root, &args(0, 60_000, wanted)).unwrap();
            let each = (all - 16) / 9;
            assert_eq!(
                list(&mut peer, &root, &args(0, 15 + each as u32, wanted)).unwrap_err(),
                Status::TooSmall
            );
            for fit in 1..=9 {
                let count_max = (16 + fit * each) as u32;
                let (page, size) = list(&mut peer, &root, &args(0, count_max, wanted)).unwrap();
                assert_eq!((page.entries.len(), page.eof, size), (fit, fit == 9, count_max as usize));
            }
            // Each takes 8 bytes for the cookie and 8 for the name.
            for (directory_count, fit) in [(0, 9), (1, 1), (31, 1), (32, 2), (47, 2), (144, 9)] {
                let arguments = ReadDirArgs { directory_count, ..args(0, 60_000, wanted) };
                let (page, _) = list(&mut peer, &root, &arguments).unwrap();
                assert_eq!((page.entries.len(), page.eof), (fit, fit == 9), "hint {directory_count}");
            }
        }
    }
}

#[test]
fn requests_that_make_no_sense_get_their_status() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let root = root(&mut peer);
    for i in 0..5 {
        make(&mut peer, &root, &format!("{i}"));
    }
    let (page, _) = list(&mut peer, &root, &args(0, 1000, PLAIN)).unwrap();
    let cookie = page.entries[1].cookie;
    assert_eq!(list(&mut peer, &root, &args(cookie, 1000, PLAIN)).unwrap().0.entries.len(), 3);
    let stale = ReadDirArgs { verifier: Verifier([1; 8]), ..args(cookie, 1000, PLAIN) };
    assert_eq!(list(&mut peer, &root, &stale).unwrap_err(), Status::NotSame);
    for reserved in [1, 2] {
        assert_eq!(list(&mut peer, &root, &args(reserved, 1000, PLAIN)).unwrap_err(), Status::BadCookie);
    }
    for write_only in [AttributeId::TimeAccessSet, AttributeId::TimeModifySet, AttributeId::ModeSetMasked] {
        let wanted = PLAIN.with(write_only);
        assert_eq!(list(&mut peer, &root, &args(0, 1000, wanted)).unwrap_err(), Status::Invalid);
    }
}

#[test]
fn an_entry_whose_attributes_cannot_be_had_says_so_or_fails_the_listing() {
    let server = TestServer::new();
    let mut peer = Peer::new(&server, 1);
    let root = root(&mut peer);
    let made = CreateArgs { kind: CreateType::Directory, name: "d".into() };
    // Others may read it and not search it.
    let mode = AttributeValues { mode: Some(0o744), ..AttributeValues::default() };
    assert_eq!(peer.on(&root, Operation::Create, &(made, mode)).status, Status::Ok);
    let look = LookupArgs { name: "d".into() };
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Lookup, &look).push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    results.ok(Operation::Lookup);
    let directory = results.body::<GetFhResult>(Operation::GetFh).object;
    make(&mut peer, &directory, "hidden");
    let mut stranger = Peer::with_uid(&server, 2, 1000);
    let (page, _) = list(&mut stranger, &directory, &args(0, 1000, WITH_OBJECTS)).unwrap();
    let expected = AttributeValues { rdattr_error: Some(Status::AccessDenied), ..AttributeValues::default() };
    assert_eq!(page.entries.len(), 1);
    assert_eq!((&page.entries[0].name[..], &page.entries[0].attributes), (&b"hidden"[..], &expected));
    let unasked = Bitmap::of(&[AttributeId::Type]);
    assert_eq!(list(&mut stranger, &directory, &args(0, 1000, unasked)).unwrap_err(), Status::AccessDenied);
    let (page, _) = list(&mut stranger, &directory, &args(0, 1000, PLAIN)).unwrap();
    assert_eq!(
        page.entries[0].attributes.rdattr_error,
        Some(Status::Ok),
        "the name and its number can be had"
    );
}
