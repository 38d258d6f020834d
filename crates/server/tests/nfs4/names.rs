//! Names and the objects they are looked up in: which status a wrong one gets (RFC 8881 §14, §15.2).

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeValues, Bitmap};
use proto::nfs4::*;

use crate::peer::{Peer, TestServer, open};

/// The operations that take a name in the current directory.
const NAMED: &[&str] =
    &["lookup", "open", "make", "create", "remove", "rename from", "rename to", "link", "secinfo"];

/// Runs one of them in `directory` with a directory `saved` beside it.
fn run(peer: &mut Peer, which: &str, directory: &FileHandle, saved: &FileHandle, name: &Bytes) -> Status {
    let put = |object: &FileHandle| PutFhArgs { object: object.clone() };
    let name = name.clone();
    let other = Bytes::from_static(b"other");
    peer.compound(|c| {
        c.push(Operation::PutFh, &put(saved))
            .push(Operation::SaveFh, &())
            .push(Operation::PutFh, &put(directory));
        match which {
            "lookup" => c.push(Operation::Lookup, &LookupArgs { name }),
            "open" => {
                let claim = OpenClaim::Null(name);
                c.push(Operation::Open, &OpenArgs { claim, ..open("", share::READ, None) })
            }
            "make" => {
                let how = CreateHow::Unchecked(AttributeValues::default());
                let claim = OpenClaim::Null(name);
                c.push(Operation::Open, &OpenArgs { claim, ..open("", share::READ, Some(how)) })
            }
            "create" => {
                let made = CreateArgs { kind: CreateType::Directory, name };
                c.push(Operation::Create, &(made, AttributeValues::default()))
            }
            "remove" => c.push(Operation::Remove, &RemoveArgs { target: name }),
            "rename to" => {
                c.push(Operation::Rename, &RenameArgs { old_name: "symlink".into(), new_name: name })
            }
            "rename from" => c
                .push(Operation::SaveFh, &())
                .push(Operation::PutFh, &put(saved))
                .push(Operation::Rename, &RenameArgs { old_name: name, new_name: other }),
            "link" => c.push(Operation::Link, &LinkArgs { new_name: name }),
            "secinfo" => c.push(Operation::SecInfo, &SecInfoArgs { name }),
            other => panic!("no such operation: {other}"),
        };
    })
    .status
}

struct Objects {
    root: FileHandle,
    file: FileHandle,
    symlink: FileHandle,
}

fn objects(peer: &mut Peer) -> Objects {
    let (file, state_id) = peer.create("file");
    assert_eq!(peer.close(&file, state_id), Status::Ok);
    let made = CreateArgs { kind: CreateType::Symlink("target".into()), name: "symlink".into() };
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &())
                .push(Operation::GetFh, &())
                .push(Operation::Create, &(made, AttributeValues::default()))
                .push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let root = results.body::<GetFhResult>(Operation::GetFh).object;
    results.body::<CreateResult>(Operation::Create);
    let symlink = results.body::<GetFhResult>(Operation::GetFh).object;
    Objects { root, file, symlink }
}

#[test]
fn a_name_that_nothing_can_have_gets_its_status_from_every_operation() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let Objects { root, file, .. } = objects(&mut peer);
    let cases: &[(&[u8], Status)] = &[
        (b"", Status::Invalid),
        (b".", Status::BadName),
        (b"..", Status::BadName),
        (b"a/b", Status::BadName),
        (b"/", Status::BadName),
        (b"a\0b", Status::BadCharacter),
        (&[b'n'; 256], Status::NameTooLong),
        (&[b'n'; 4096], Status::NameTooLong),
    ];
    for which in NAMED {
        let saved = if *which == "link" { &file } else { &root };
        for (name, status) in cases {
            let answer = run(&mut peer, which, &root, saved, &Bytes::copy_from_slice(name));
            assert_eq!(answer, *status, "{which} {name:?}");
        }
    }
}

#[test]
fn every_operation_refuses_a_non_directory() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let Objects { root, file, symlink } = objects(&mut peer);
    for which in NAMED {
        let saved = if *which == "link" { &file } else { &root };
        assert_eq!(run(&mut peer, which, &file, saved, &"x".into()), Status::NotDirectory, "{which}");
        // Only LOOKUP tells a symbolic link (§18.13.4); the tables of CREATE, REMOVE, RENAME and SECINFO have
        // no such status.
        let of_symlink = if *which == "lookup" { Status::Symlink } else { Status::NotDirectory };
        assert_eq!(run(&mut peer, which, &symlink, saved, &"x".into()), of_symlink, "{which}");
    }
    let list = ReadDirArgs {
        cookie: 0,
        verifier: Verifier([0; 8]),
        directory_count: 0,
        count_max: 1000,
        wanted: Bitmap::EMPTY,
    };
    for object in [&file, &symlink] {
        assert_eq!(peer.on(object, Operation::ReadDir, &list).status, Status::NotDirectory);
        assert_eq!(peer.on(object, Operation::LookupParent, &()).status, Status::NotDirectory);
    }
    assert_eq!(
        peer.on(&root, Operation::LookupParent, &()).status,
        Status::NoEntry,
        "the root has no parent"
    );
    for object in [&root, &file] {
        assert_eq!(peer.on(object, Operation::ReadLink, &()).status, Status::WrongType);
    }
}

#[test]
fn names_that_are_not_there_or_are_get_their_status() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let Objects { root, file, .. } = objects(&mut peer);
    for (which, missing, present) in [
        ("lookup", Status::NoEntry, Status::Ok),
        ("open", Status::NoEntry, Status::Ok),
        ("create", Status::Ok, Status::Exists),
        ("rename from", Status::NoEntry, Status::Ok),
        ("remove", Status::NoEntry, Status::NoEntry),
        ("secinfo", Status::NoEntry, Status::NoEntry),
    ] {
        let saved = &root;
        assert_eq!(
            run(&mut peer, which, &root, saved, &format!("missing-{which}").into()),
            missing,
            "{which}"
        );
        assert_eq!(run(&mut peer, which, &root, saved, &"file".into()), present, "{which}");
    }
    assert_eq!(run(&mut peer, "link", &root, &file, &"other".into()), Status::Exists);
    assert_eq!(run(&mut peer, "link", &root, &root, &"linked".into()), Status::IsDirectory);
    assert_eq!(run(&mut peer, "open", &root, &root, &"symlink".into()), Status::Symlink);
    assert_eq!(run(&mut peer, "open", &root, &root, &"missing-create".into()), Status::IsDirectory);
    assert_eq!(run(&mut peer, "make", &root, &root, &"missing-create".into()), Status::IsDirectory);
}

#[test]
fn names_are_bytes_and_come_back_as_they_were_given() {
    let directory = tempfile::tempdir().unwrap();
    for (id, server) in [(1, TestServer::new()), (2, TestServer::local(directory.path()))] {
        let mut peer = Peer::new(&server, id);
        let Objects { root, .. } = objects(&mut peer);
        let long = [b'n'; 255];
        // A composed and a decomposed letter, half a character, an overlong one: each is a name of its own.
        let names: &[&[u8]] = &[
            b"\xc3\xa9",
            b"e\xcc\x81",
            b"\xc3",
            b"\xc0\xaf",
            b"\xff",
            b"A",
            b"a",
            b"...",
            b"\\",
            b" ",
            &long,
        ];
        for name in names {
            let name = Bytes::copy_from_slice(name);
            assert_eq!(run(&mut peer, "create", &root, &root, &name), Status::Ok, "{name:?}");
            assert_eq!(run(&mut peer, "create", &root, &root, &name), Status::Exists, "{name:?}");
            assert_eq!(run(&mut peer, "lookup", &root, &root, &name), Status::Ok, "{name:?}");
        }
        let list = ReadDirArgs {
            cookie: 0,
            verifier: Verifier([0; 8]),
            directory_count: 0,
            count_max: 10_000,
            wanted: Bitmap::EMPTY,
        };
        let listed: ReadDirResult = peer.on(&root, Operation::ReadDir, &list).body(Operation::ReadDir);
        for name in names {
            assert_eq!(listed.entries.iter().filter(|entry| entry.name == name).count(), 1, "{name:?}");
        }
        assert_eq!(listed.entries.len(), names.len() + 2);
    }
}
