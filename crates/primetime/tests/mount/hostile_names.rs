//! A mount of a server that lists names which no file can have.

use std::fs;

use crate::altering::{Changes, relay};
use crate::mounted::{Mounted, can_mount};
use crate::ready;

const CHANGES: Changes =
    &[(b"Qleads-upwards", b"../../../upper"), (b"Qholds-a-zero-byte", b"holds\0a-zero-byte!")];

#[test]
fn directory_shows_all_entries_but_those_without_a_name() {
    if !can_mount() {
        return;
    }
    let export = tempfile::tempdir().unwrap();
    for name in ["a", "z", "Qleads-upwards", "Qholds-a-zero-byte"] {
        fs::write(export.path().join(name), name).unwrap();
    }
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_primetime"));
    command.arg("serve").arg(export.path()).args(["--listen", "127.0.0.1:0", "--forget", "--no-root-squash"]);
    let (mut server, address) = ready::start(&mut command);
    let address = relay(address, CHANGES);
    for version in ["3", "4.1", "4.2"] {
        let mounted = Mounted::start(&format!("nfs://{address}/"), &format!("vers={version}"));
        let mut names: Vec<_> =
            fs::read_dir(mounted.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a", "z"], "{version}");
        assert_eq!(fs::read(mounted.root().join("a")).unwrap(), b"a");
        assert!(mounted.unmount());
    }
    server.kill().unwrap();
    server.wait().unwrap();
}
