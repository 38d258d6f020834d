//! What a client may send again when the server was killed, too.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use proto::nfs3::*;

use crate::peer::{Peer, place};
use crate::process::Place;

/// The verifier is in the file, so whenever the server is killed a retry finds out whose file it is (RFC 1813
/// §3.3.8).
#[test]
fn an_exclusive_create_that_is_sent_again_after_a_kill_is_known_again() {
    let dir = Place::new();
    let mut process = dir.start(false);
    let mut peer = Peer::new(process.address(), 1);
    let root = peer.root();
    let create = |name: &str, verifier| CreateArgs {
        place: place(root, name),
        how: CreateHow::Exclusive(CreateVerifier(verifier)),
    };
    for number in 0..40_u8 {
        let name = format!("file{number}");
        let arguments = create(&name, [number | 0x80; 8]);
        // Every other time the answer was there.
        if number % 2 == 0 {
            peer.ok(&arguments);
        } else {
            peer.send_and_forget(&arguments);
            // Each time the server has come to another place in it.
            thread::sleep(Duration::from_micros(u64::from(number) * 7919 % 1500));
        }
        process.kill();
        let inode = fs::metadata(dir.export().join(&name)).map(|metadata| metadata.ino()).ok();
        process = dir.start(false);
        let reply = peer.send_last_again(process.address(), &arguments);
        let Reply::Ok(ok) = reply else { panic!("{name}: {}", reply.status()) };
        let attributes = ok.attributes.unwrap();
        assert!(inode.is_none_or(|inode| inode == attributes.fileid), "{name} was made twice");
        let other = create(&name, [7; 8]);
        assert_eq!(peer.call(&other).status(), Status::Exists, "{name}, with another verifier");
        // As clients do next; from then on it is a file like all others.
        let attributes = SetAttributes {
            mode: Some(0o640),
            accessed: SetTime::Now,
            modified: SetTime::Now,
            ..SetAttributes::default()
        };
        peer.ok(&SetAttrArgs { object: ok.object.unwrap(), attributes, guard: None });
        assert_eq!(peer.call(&arguments).status(), Status::Exists, "{name}, after its times were set");
    }
    assert_eq!(dir.names().len(), 40);
}

/// UNSTABLE data may be lost with the server, and the verifier says so (RFC 1813 §3.3.7, §3.3.21).
#[test]
fn write_verifier_changes_only_when_the_server_is_killed() {
    let dir = Place::new();
    let mut process = dir.start(false);
    let mut peer = Peer::new(process.address(), 1);
    let root = peer.root();
    assert_eq!(peer.mounts(), [("127.0.0.1".into(), "/".into())]);
    let how = CreateHow::Guarded(SetAttributes { mode: Some(0o644), ..SetAttributes::default() });
    let file = peer.ok(&CreateArgs { place: place(root, "file"), how }).object.unwrap();
    let write = WriteArgs { file, offset: 0, count: 4, stable: StableHow::Unstable, data: "data".into() };
    let commit = CommitArgs { file, offset: 0, count: 0 };
    let written = peer.ok(&write);
    assert_eq!(written.committed, StableHow::Unstable);
    assert_eq!(peer.ok(&commit).verifier, written.verifier);
    assert_eq!(peer.ok(&write).verifier, written.verifier);
    process.kill();
    process = dir.start(false);
    let again = peer.send_last_again(process.address(), &write);
    let verifier = again.into_result().unwrap().verifier;
    assert_ne!(verifier, written.verifier, "the handle is the same, the server is not");
    assert_eq!(peer.ok(&commit).verifier, verifier);
    assert_eq!(peer.mounts(), [], "of mounts nothing is kept");
    peer.root();
    peer.unmount();
    assert_eq!(peer.mounts(), []);
}
