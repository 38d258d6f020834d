//! What other processes do in the served directory recalls delegations; what comes through the server does
//! not, beyond the rules.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it tests real files")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proto::nfs4::*;

use crate::directory_delegations::delegated_root;
use crate::peer::{Peer, Setup, TestServer, open};

/// Longer than anything takes here.
const LONG: Duration = Duration::from_secs(20);

struct Lab {
    directory: tempfile::TempDir,
    server: Arc<TestServer>,
}

impl Lab {
    /// `None` where the kernel tells nothing.
    fn new(watches_max: usize, minor_version: u32) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        for name in ["f", "g"] {
            std::fs::write(directory.path().join(name), "before").unwrap();
        }
        let setup = Setup { minor_version, ..Setup::default() };
        let server = TestServer::watching(directory.path(), watches_max, setup)?;
        Some(Self { directory, server })
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    /// Another process does this in the directory: changes of one's own are the server's.
    fn shell(&self, command: &str) {
        let done = Command::new("sh")
            .args(["-c", command])
            .stdout(Stdio::null())
            .current_dir(self.directory.path())
            .status()
            .unwrap();
        assert!(done.success(), "{command}");
    }

    fn until(&self, what: impl Fn() -> bool) {
        let begun = Instant::now();
        while !what() {
            assert!(begun.elapsed() < LONG, "it does not come to pass");
            self.server.world.run();
            std::thread::yield_now();
        }
    }

    fn until_recalled(&self, peer: &Peer, delegation: StateId) {
        self.until(|| !peer.callbacks.recalled.lock().is_empty());
        assert_eq!(*peer.callbacks.recalled.lock(), [delegation], "once");
    }

    /// Marks of this process on the files with these names.
    fn marks(&self, names: &[&str]) -> usize {
        let numbers: Vec<String> =
            names.iter().map(|name| format!("ino:{:x} ", inode(&self.path(name)))).collect();
        let infos = std::fs::read_dir("/proc/self/fdinfo").unwrap().filter_map(Result::ok);
        let text: String = infos.filter_map(|info| std::fs::read_to_string(info.path()).ok()).collect();
        let marks = text.lines().filter(|line| line.starts_with("fanotify ino:"));
        marks.filter(|line| numbers.iter().any(|number| line.contains(number))).count()
    }
}

fn inode(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).unwrap().ino()
}

/// Opens with a wish for a delegation.
fn opened(peer: &mut Peer, name: &str, access: u32) -> (FileHandle, OpenResult) {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &open(name, access, None));
            c.push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let opened = results.body::<OpenResult>(Operation::Open);
    (results.body::<FileHandle>(Operation::GetFh), opened)
}

fn delegated(peer: &mut Peer, name: &str, access: u32) -> (FileHandle, StateId) {
    let (file, opened) = opened(peer, name, access | share::WANT_ANY_DELEGATION);
    match opened.delegation {
        OpenDelegation::Read(granted) => (file, granted.state_id),
        OpenDelegation::Write(granted) => (file, granted.state_id),
        other => panic!("{other:?}"),
    }
}

fn give_back(peer: &mut Peer, file: &FileHandle, state_id: StateId) {
    let back = DelegReturnArgs { state_id };
    assert_eq!(peer.on(file, Operation::DelegReturn, &back).status, Status::Ok);
}

#[test]
fn local_change_recalls_a_read_delegation_and_a_local_read_does_not() {
    for change in ["echo after > f", "chmod 640 f", "touch f", "mv f h; mv h f", "ln f h", "cp g f"] {
        let Some(lab) = Lab::new(16, 1) else { return };
        let mut peer = Peer::new(&lab.server, 1);
        let (file, delegation) = delegated(&mut peer, "f", share::READ);
        let (_, other) = delegated(&mut peer, "g", share::READ);
        lab.shell("cat f g; ls -l; stat f");
        lab.shell(change);
        lab.until_recalled(&peer, delegation);
        give_back(&mut peer, &file, delegation);
        assert_ne!(other, delegation);
        let local = std::fs::read(lab.path("f")).unwrap();
        assert_eq!(peer.read(&file, StateId::ANONYMOUS, 0, 100), local, "{change}");
        let (_, again) = opened(&mut peer, "f", share::READ | share::WANT_ANY_DELEGATION);
        assert!(matches!(again.delegation, OpenDelegation::NoneExt(_)), "it was just recalled");
    }
}

#[test]
fn local_use_recalls_a_write_delegation_and_both_changes_stay() {
    for (local, expected) in [("cat f", "AAfore"), ("echo more >> f", "AAforemore\n")] {
        let Some(lab) = Lab::new(16, 1) else { return };
        let mut peer = Peer::new(&lab.server, 1);
        let (file, delegation) = delegated(&mut peer, "f", share::BOTH);
        lab.shell(local);
        lab.until_recalled(&peer, delegation);
        // What its holder has not written yet.
        peer.write(&file, delegation, 0, b"AA");
        give_back(&mut peer, &file, delegation);
        assert_eq!(peer.read(&file, StateId::ANONYMOUS, 0, 100), expected);
        assert_eq!(std::fs::read(lab.path("f")).unwrap(), expected.as_bytes());
    }
}

#[test]
fn local_change_of_entries_recalls_a_directory_delegation() {
    for change in ["touch n", "mkdir n", "rm f", "mv f n"] {
        let Some(lab) = Lab::new(16, 1) else { return };
        let mut peer = Peer::new(&lab.server, 1);
        let delegation = delegated_root(&mut peer);
        peer.create("mine");
        lab.shell("echo more >> g; ls");
        lab.shell(change);
        lab.until_recalled(&peer, delegation);
    }
}

#[test]
fn own_change_recalls_no_own_delegation() {
    let Some(lab) = Lab::new(16, 1) else { return };
    let (mut a, mut b) = (Peer::new(&lab.server, 1), Peer::new(&lab.server, 2));
    let root = delegated_root(&mut a);
    let (file, delegation) = delegated(&mut a, "f", share::BOTH);
    for round in 0..20 {
        a.write(&file, delegation, round, b"ours");
        a.read(&file, delegation, 0, 100);
        a.create(&format!("n{round}"));
    }
    // Events come in order: what is told of the last has been told of all before it.
    let (_, other) = delegated(&mut b, "g", share::READ);
    lab.shell("chmod 640 g");
    lab.until_recalled(&b, other);
    assert_eq!(*a.callbacks.recalled.lock(), []);
    assert_ne!(root, delegation);
}

#[test]
fn unwatched_file_is_not_delegated_and_returned_delegation_frees_watch() {
    let Some(lab) = Lab::new(1, 1) else { return };
    let mut peer = Peer::new(&lab.server, 1);
    let (file, delegation) = delegated(&mut peer, "f", share::READ);
    let (_, refused) = opened(&mut peer, "g", share::READ | share::WANT_ANY_DELEGATION);
    assert!(matches!(refused.delegation, OpenDelegation::NoneExt(_)), "{refused:?}");
    assert_eq!(lab.server.state.grant_count(), 1);
    assert_eq!((lab.marks(&["f"]), lab.marks(&["g"])), (1, 0));
    give_back(&mut peer, &file, delegation);
    lab.until(|| lab.marks(&["f", "g"]) == 0);
    delegated(&mut peer, "g", share::READ);
    assert_eq!(lab.marks(&["g"]), 1);
}

#[test]
fn wish_for_a_delegation_alone_gets_the_open_of_an_unwatched_file() {
    let Some(lab) = Lab::new(1, 2) else { return };
    let mut peer = Peer::new(&lab.server, 1);
    let alone = share::READ | share::WANT_ANY_DELEGATION | share::WANT_OPEN_XOR_DELEGATION;
    let (_, first) = opened(&mut peer, "f", alone);
    assert!(matches!(first.delegation, OpenDelegation::Read(_)));
    let (file, second) = opened(&mut peer, "g", alone);
    assert!(matches!(second.delegation, OpenDelegation::NoneExt(_)), "{second:?}");
    assert_eq!(peer.read(&file, second.state_id, 0, 100), "before");
    assert_eq!(peer.close(&file, second.state_id), Status::Ok);
}

#[test]
fn a_revoked_delegation_is_watched_no_more() {
    let Some(lab) = Lab::new(16, 1) else { return };
    let mut peer = Peer::new(&lab.server, 1);
    let (_, delegation) = delegated(&mut peer, "f", share::READ);
    lab.shell("touch f");
    lab.until_recalled(&peer, delegation);
    let recall_ms = lab.server.state.limits().recall_ms;
    lab.server.at(recall_ms + 1);
    lab.until(|| lab.marks(&["f"]) == 0);
}
