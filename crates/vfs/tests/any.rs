//! Any back end as one type: the conformance suite through the dynamic border, and over a local directory.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it tests real files")]

use futures_util::FutureExt;
use vfs::conformance::{Options, Report, run};
use vfs::memory::{Memory, MemoryOptions};
use vfs::{AnyFileSystem, Line, Request};
#[cfg(target_os = "linux")]
use vfs::{Error, FileSystem};

fn memory() -> AnyFileSystem {
    AnyFileSystem::new(Memory::new(MemoryOptions::default()).expect("a file system in memory"))
}

fn assert_all_passed(report: &Report, least: usize) {
    for (check, failure) in &report.failed {
        eprintln!("{check}: {failure}");
    }
    assert!(report.failed.is_empty(), "{} checks failed", report.failed.len());
    assert!(report.passed.len() > least);
}

#[test]
fn memory_conforms_behind_the_dynamic_border() {
    let options = Options { identities: true, devices: true, line: Line::default() };
    let report = run(memory, options).now_or_never().expect("memory never waits");
    assert_all_passed(&report, 70);
}

#[cfg(target_os = "linux")]
#[test]
fn node_of_another_back_end_is_stale() {
    let fs = memory();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let local = local::open(dir.path());
    let found = fs.attributes(Request::of_server(), &local.root()).now_or_never().unwrap();
    assert!(matches!(found, Err(Error::Stale)), "{found:?}");
    let found = pollster::block_on(local.attributes(Request::of_server(), &fs.root()));
    assert!(matches!(found, Err(Error::Stale)), "{found:?}");
}

#[cfg(target_os = "linux")]
mod local {
    use std::cell::Cell;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use pollster::block_on;
    use vfs::local::{Durability, Local, LocalOptions, restore_thread_identity};

    use super::*;

    pub(super) fn open(path: &Path) -> AnyFileSystem {
        let options = LocalOptions { durability: Durability::Async, ..LocalOptions::default() };
        AnyFileSystem::from(Local::open(path, &options).expect("opens the export"))
    }

    #[test]
    fn local_conforms_without_a_dynamic_border() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let made = Cell::new(0);
        let make = || {
            restore_thread_identity().expect("restores the ids");
            made.set(made.get() + 1);
            let path = dir.path().join(made.get().to_string());
            fs::create_dir(&path).expect("a new directory");
            fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("sets the mode");
            open(&path)
        };
        let identities = make().as_local().expect("is local").enforces_identities();
        let report = block_on(run(make, Options { identities, devices: identities, line: Line::default() }));
        restore_thread_identity().expect("restores the ids");
        assert_all_passed(&report, 55);
    }

    #[test]
    fn local_stays_local_whatever_it_is_made_from() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let local = open(dir.path()).as_local().expect("is local").clone();
        assert!(AnyFileSystem::new(AnyFileSystem::new(local)).as_local().is_some());
        assert!(memory().as_local().is_none());
    }
}
