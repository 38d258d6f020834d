//! The local back end against the conformance suite, and what is its own: restarts, containment, durability.
//!
//! Run as root it tests callers' identities and kernel handles too; as another user only the rest.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it tests real files")]
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use pollster::block_on;
use tempfile::TempDir;
use vfs::conformance::{self, run};
use vfs::local::{Durability, HandleMode, IdentityMode, Local, LocalOptions, restore_thread_identity};
use vfs::{
    Access, CreateMode, Error, FileSystem, Handle, Identity, Line, Name, OnlyRequest, RemoveKind, Request,
    SetAttributes, Stability,
};

/// A directory to export and one for the server's state, both new.
struct Host {
    dir: TempDir,
}

impl Host {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["export", "state", "outside"] {
            fs::create_dir(dir.path().join(name)).expect("a new directory");
        }
        Self { dir }
    }

    fn export(&self) -> PathBuf {
        self.dir.path().join("export")
    }

    fn options(&self, handles: HandleMode) -> LocalOptions {
        let state_dir = Some(self.dir.path().join("state"));
        LocalOptions { state_dir, durability: Durability::Async, handles, ..Default::default() }
    }

    fn open(&self, handles: HandleMode) -> Local {
        Local::open(self.export(), &self.options(handles)).expect("opens the export")
    }
}

/// The ways to find objects that this process may use.
fn modes() -> Vec<HandleMode> {
    let host = Host::new();
    let kernel = Local::open(host.export(), &host.options(HandleMode::Kernel)).is_ok();
    [(kernel, HandleMode::Kernel), (true, HandleMode::Index)]
        .into_iter()
        .filter_map(|(possible, mode)| possible.then_some(mode))
        .collect()
}

fn name(text: &str) -> Name<'_> {
    Name::new(text.as_bytes()).expect("tests use valid names")
}

fn root() -> Request<'static> {
    Request::of_server()
}

fn lookup(fs: &Local, path: &str) -> vfs::Result<<Local as FileSystem>::Node> {
    path.split('/').try_fold(fs.root(), |dir, part| Ok(block_on(fs.lookup(root(), &dir, name(part)))?.0))
}

fn handle(fs: &Local, path: &str) -> Handle {
    fs.handle(&lookup(fs, path).expect("exists"))
}

/// The only request of its line, always.
struct Only;

impl OnlyRequest for Only {
    fn is_only(&self) -> bool {
        true
    }

    fn note_wait(&self) {}
}

fn conforms(options: &LocalOptions) {
    conforms_in(Line::default(), options);
}

fn conforms_in(line: Line<'static>, options: &LocalOptions) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let made = Cell::new(0);
    let make = || {
        restore_thread_identity().expect("restores the ids");
        made.set(made.get() + 1);
        let path = dir.path().join(made.get().to_string());
        fs::create_dir(&path).expect("a new directory");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("sets the mode");
        Local::open(path, options).expect("opens the export")
    };
    let identities = make().enforces_identities();
    let report = block_on(run(make, conformance::Options { identities, devices: identities, line }));
    for (check, failure) in &report.failed {
        eprintln!("{check}: {failure}");
    }
    assert!(report.failed.is_empty(), "{} checks failed", report.failed.len());
    assert!(report.passed.len() > 55);
    restore_thread_identity().expect("restores the ids");
}

fn quick(handles: HandleMode) -> LocalOptions {
    LocalOptions { durability: Durability::Async, handles, ..Default::default() }
}

#[test]
fn local_conforms_however_objects_are_found() {
    for mode in modes() {
        conforms(&quick(mode));
    }
}

#[test]
fn local_conforms_when_it_watches_for_what_others_do() {
    for mode in modes() {
        conforms(&LocalOptions { watches_max: 16, ..quick(mode) });
    }
}

#[test]
fn local_conforms_with_every_change_on_disk() {
    conforms(&LocalOptions::default());
}

#[test]
fn local_conforms_when_callers_wait_for_the_disk_themselves() {
    static WAITS: AtomicUsize = AtomicUsize::new(0);
    fn wait(job: &mut dyn FnMut()) -> bool {
        WAITS.fetch_add(1, Ordering::Relaxed);
        job();
        true
    }
    let options = LocalOptions { wait_in_place: Some(wait), ..LocalOptions::default() };
    conforms_in(Line { number: 1, only: Some(&Only) }, &options);
    assert!(WAITS.load(Ordering::Relaxed) > 100);
}

#[test]
fn local_conforms_as_one_user() {
    conforms(&LocalOptions { identities: IdentityMode::Process, ..quick(HandleMode::Index) });
}

#[test]
fn local_conforms_when_hardly_any_descriptor_is_kept() {
    for mode in modes() {
        conforms(&LocalOptions { descriptors_max: Some(4), ..quick(mode) });
    }
}

#[test]
fn local_conforms_without_threads_hints_or_queue() {
    let options = LocalOptions { threads_max: 1, queue_max: 0, hints_max: 0, ..quick(HandleMode::Index) };
    conforms(&options);
}

#[test]
fn handles_survive_a_restart_and_renames_behind_our_back() {
    for mode in modes() {
        let host = Host::new();
        let at = |path: &str| host.export().join(path);
        fs::create_dir_all(at("a/b/c")).unwrap();
        fs::create_dir(at("elsewhere")).unwrap();
        fs::write(at("a/b/c/file"), "content").unwrap();
        let server = host.open(mode);
        let (file, dir) = (handle(&server, "a/b/c/file"), handle(&server, "a/b/c"));
        drop(server);
        fs::rename(at("a/b/c/file"), at("elsewhere/renamed")).unwrap();
        fs::rename(at("a/b"), at("elsewhere/b")).unwrap();

        let server = host.open(mode);
        let found = block_on(server.resolve(Request::of_server(), file.as_bytes())).unwrap();
        let mut out = Vec::new();
        block_on(server.read(root(), &found, 0, 100, &mut out)).unwrap();
        assert_eq!(out, b"content");
        assert_eq!(server.handle(&found), file);
        let found = block_on(server.resolve(Request::of_server(), dir.as_bytes())).unwrap();
        assert_eq!(
            block_on(server.attributes(Request::of_server(), &found)).unwrap().fileid,
            fs::metadata(at("elsewhere/b/c")).unwrap().ino()
        );
        drop(found);

        // And with a server that knows a place which is no longer true.
        fs::rename(at("elsewhere/renamed"), at("a/again")).unwrap();
        let found = block_on(server.resolve(Request::of_server(), file.as_bytes())).unwrap();
        assert_eq!(server.handle(&found), file);
    }
}

#[test]
fn the_root_and_every_kind_survive_a_restart() {
    for mode in modes() {
        let host = Host::new();
        fs::write(host.export().join("file"), "").unwrap();
        symlink("/etc/passwd", host.export().join("link")).unwrap();
        fs::hard_link(host.export().join("file"), host.export().join("second")).unwrap();
        let server = host.open(mode);
        let handles = ["file", "link", "second"].map(|path| handle(&server, path));
        let top = server.handle(&server.root());
        let id = server.object_id(&lookup(&server, "file").unwrap());
        drop(server);
        fs::remove_file(host.export().join("file")).unwrap();
        let server = host.open(mode);
        for known in handles.iter().chain([&top]) {
            let found = block_on(server.resolve(Request::of_server(), known.as_bytes())).unwrap();
            assert_eq!(server.handle(&found), *known);
        }
        assert_eq!(handles[0], handles[2]);
        assert_eq!(server.object_id(&lookup(&server, "second").unwrap()), id);
    }
}

#[test]
fn file_removed_by_others_is_stale_after_a_restart() {
    for mode in modes() {
        let host = Host::new();
        let path = host.export().join("file");
        fs::write(&path, "").unwrap();
        let server = host.open(mode);
        let old = handle(&server, "file");
        drop(server);
        fs::remove_file(&path).unwrap();
        // Often gets the same inode number.
        fs::write(&path, "another").unwrap();
        let server = host.open(mode);
        for _ in 0..2 {
            assert!(
                matches!(block_on(server.resolve(Request::of_server(), old.as_bytes())), Err(Error::Stale)),
                "{mode:?}"
            );
        }
        assert_ne!(handle(&server, "file"), old);
    }
}

#[test]
fn removed_file_is_stale_although_its_inode_number_is_reused() {
    let host = Host::new();
    for mode in modes() {
        let server = host.open(mode);
        let names: Vec<String> = (0..8).map(|i| format!("removed-{i}")).collect();
        for name in &names {
            fs::write(host.export().join(name), "content").unwrap();
        }
        let removed: Vec<Handle> = names.iter().map(|name| handle(&server, name)).collect();
        for name in &names {
            block_on(server.remove(root(), &server.root(), self::name(name), RemoveKind::Any)).unwrap();
        }
        restore_thread_identity().unwrap();
        std::thread::scope(|scope| {
            let makers: Vec<_> = (0..3)
                .map(|maker| {
                    let path = host.export().join(format!("new-{maker}"));
                    scope.spawn(move || {
                        for _ in 0..3_000 {
                            fs::File::create(&path).unwrap();
                            fs::remove_file(&path).unwrap();
                        }
                    })
                })
                .collect();
            while makers.iter().any(|maker| !maker.is_finished()) {
                for handle in &removed {
                    let found = block_on(server.resolve(Request::of_server(), handle.as_bytes())).map(|_| ());
                    assert!(matches!(found, Err(Error::Stale)), "{found:?}");
                }
            }
        });
    }
}

#[test]
fn handles_are_the_same_however_objects_are_found() {
    let host = Host::new();
    fs::write(host.export().join("file"), "").unwrap();
    let handles: Vec<Handle> = modes().into_iter().map(|mode| handle(&host.open(mode), "file")).collect();
    assert!(handles.iter().all(|other| *other == handles[0]));
}

#[test]
fn a_handle_of_another_export_or_process_is_bad() {
    for mode in modes() {
        let host = Host::new();
        fs::create_dir(host.export().join("inner")).unwrap();
        fs::write(host.export().join("inner/file"), "").unwrap();
        let server = host.open(mode);
        let outer = handle(&server, "inner/file");
        let inner = Local::open(host.export().join("inner"), &host.options(mode)).unwrap();
        assert!(matches!(
            block_on(inner.resolve(Request::of_server(), outer.as_bytes())),
            Err(Error::BadHandle)
        ));
        let stateless = LocalOptions { state_dir: None, ..host.options(mode) };
        let stateless = Local::open(host.export(), &stateless).unwrap();
        assert!(matches!(
            block_on(stateless.resolve(Request::of_server(), outer.as_bytes())),
            Err(Error::BadHandle)
        ));
    }
}

#[test]
fn the_key_is_private_kept_and_checked() {
    let host = Host::new();
    host.open(HandleMode::Index);
    let path = host.dir.path().join("state/handle.key");
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.mode() & 0o777, metadata.len()), (0o600, 16));
    let before = fs::read(&path).unwrap();
    host.open(HandleMode::Index);
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(host.dir.path().join("state")).unwrap().count(), 1);
    for damaged in [&b"short"[..], &[0; 17]] {
        fs::write(&path, damaged).unwrap();
        assert!(Local::open(host.export(), &host.options(HandleMode::Index)).is_err());
    }
}

#[test]
fn a_handle_holds_no_device_number_and_fits_nfs_version_3() {
    let host = Host::new();
    fs::write(host.export().join("file"), "").unwrap();
    let server = host.open(HandleMode::Auto);
    let handle = handle(&server, "file");
    assert!(handle.as_bytes().len() <= 64);
    let device = fs::metadata(host.export()).unwrap().dev().to_le_bytes();
    assert!(!handle.as_bytes().windows(8).any(|window| window == device));
}

#[test]
fn symlinks_out_of_the_export_lead_nowhere() {
    let host = Host::new();
    fs::write(host.dir.path().join("outside/secret"), "secret").unwrap();
    symlink(host.dir.path().join("outside"), host.export().join("link")).unwrap();
    symlink("../outside/secret", host.export().join("file")).unwrap();
    for mode in modes() {
        let server = host.open(mode);
        assert!(matches!(lookup(&server, "link/secret"), Err(Error::NotDirectory)));
        let file = lookup(&server, "file").unwrap();
        let mut out = Vec::new();
        assert!(matches!(block_on(server.read(root(), &file, 0, 10, &mut out)), Err(Error::IsSymlink)));
        let how = CreateMode::Unchecked(SetAttributes { size: Some(0), ..Default::default() });
        let opened = block_on(server.create(root(), &server.root(), name("file"), &how));
        assert!(matches!(opened, Err(Error::IsSymlink)));
        assert_eq!(fs::read(host.dir.path().join("outside/secret")).unwrap(), b"secret");
    }
}

#[test]
fn a_directory_moved_out_of_the_export_is_stale() {
    for mode in modes() {
        let host = Host::new();
        fs::create_dir_all(host.export().join("dir/below")).unwrap();
        let server = host.open(mode);
        let (dir, below) = (handle(&server, "dir"), handle(&server, "dir/below"));
        let held = lookup(&server, "dir").unwrap();
        fs::rename(host.export().join("dir"), host.dir.path().join("outside/dir")).unwrap();
        assert!(matches!(block_on(server.lookup_parent(root(), &held)), Err(Error::Stale)));
        drop((held, server));
        let server = host.open(mode);
        for moved in [dir, below] {
            assert!(
                matches!(block_on(server.resolve(Request::of_server(), moved.as_bytes())), Err(Error::Stale)),
                "{mode:?}"
            );
        }
        fs::rename(host.dir.path().join("outside/dir"), host.export().join("dir")).unwrap();
        assert_eq!(handle(&server, "dir/below"), below);
        block_on(server.resolve(Request::of_server(), dir.as_bytes())).unwrap();
    }
}

#[test]
fn mounts_within_the_export_are_not_crossed() {
    let host = Host::new();
    for mode in modes() {
        let server = Local::open("/", &host.options(mode)).unwrap();
        assert!(matches!(lookup(&server, "proc"), Err(Error::AccessDenied)));
        let page = block_on(server.read_dir(root(), &server.root(), 0, 1000, true)).unwrap();
        let entry = page.entries.iter().find(|entry| &entry.name[..] == b"proc").unwrap();
        assert!(entry.object.is_none());
    }
}

#[test]
fn the_parent_of_the_root_is_not_shown() {
    let host = Host::new();
    let server = host.open(HandleMode::Auto);
    let page = block_on(server.read_dir(root(), &server.root(), 0, 10, true)).unwrap();
    let inode = fs::metadata(host.export()).unwrap().ino();
    assert_eq!(page.entries.len(), 2);
    assert!(page.entries.iter().all(|entry| entry.fileid == inode));
}

/// What clients are told is what the kernel does, wherever temporary files and shared memory are.
#[test]
fn limits_are_those_of_the_file_system() {
    for place in [std::env::temp_dir(), PathBuf::from("/dev/shm")] {
        let Ok(dir) = tempfile::tempdir_in(&place) else { continue };
        let server = Local::open(dir.path(), &quick(HandleMode::Auto)).unwrap();
        let limits = server.limits();
        let made = |bytes: u32| fs::write(dir.path().join("n".repeat(bytes as usize)), "").is_ok();
        assert!(made(limits.name_bytes_max) && !made(limits.name_bytes_max + 1), "{place:?}");

        let path = dir.path().join("file");
        let file = fs::File::create(&path).unwrap();
        file.set_len(limits.file_bytes_max).unwrap();
        if limits.file_bytes_max < i64::MAX as u64 {
            assert_eq!(
                file.set_len(limits.file_bytes_max + 1).unwrap_err().raw_os_error(),
                Some(27),
                "{place:?}"
            );
        }

        let time = UNIX_EPOCH + Duration::from_nanos(1_000_000_000 + u64::from(limits.time_granularity_ns));
        file.set_modified(time).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), time, "{place:?}");

        // What would take too long to count is taken for granted.
        if limits.links_max <= 65_535 {
            let links =
                (1_u32..).find(|number| fs::hard_link(&path, dir.path().join(number.to_string())).is_err());
            assert_eq!(links, Some(limits.links_max), "{place:?}");
        }
    }
}

#[test]
fn a_read_only_export_refuses_every_change() {
    let host = Host::new();
    fs::write(host.export().join("file"), "content").unwrap();
    let options = LocalOptions { read_only: true, ..host.options(HandleMode::Auto) };
    let server = Local::open(host.export(), &options).unwrap();
    let (request, top, file) = (root(), server.root(), lookup(&server, "file").unwrap());
    let set = SetAttributes { mode: Some(0o600), ..Default::default() };
    assert!(matches!(block_on(server.set_attributes(request, &file, &set)), Err(Error::ReadOnly)));
    let data = Bytes::from_static(b"x");
    assert!(matches!(
        block_on(server.write(request, &file, 0, data, Stability::Unstable)),
        Err(Error::ReadOnly)
    ));
    let how = CreateMode::Unchecked(set);
    assert!(matches!(block_on(server.create(request, &top, name("new"), &how)), Err(Error::ReadOnly)));
    assert!(!block_on(server.create(request, &top, name("file"), &how)).unwrap().created);
    assert!(matches!(block_on(server.make_dir(request, &top, name("new"), &set)), Err(Error::ReadOnly)));
    assert!(matches!(block_on(server.link(request, &file, &top, name("new"))), Err(Error::ReadOnly)));
    assert!(matches!(
        block_on(server.remove(request, &top, name("file"), RemoveKind::Any)),
        Err(Error::ReadOnly)
    ));
    let renamed = block_on(server.rename(request, &top, name("file"), &top, name("new")));
    assert!(matches!(renamed, Err(Error::ReadOnly)));
    let granted = block_on(server.access(request, &file, Access::ALL)).unwrap();
    assert_eq!(granted, Access::READ);
    assert_eq!(fs::read(host.export().join("file")).unwrap(), b"content");
}

#[test]
fn a_removed_file_is_not_kept_by_our_descriptors() {
    for mode in modes() {
        let host = Host::new();
        let server = host.open(mode);
        let (request, top) = (root(), server.root());
        let how = CreateMode::Guarded(SetAttributes::default());
        for over in [false, true] {
            let made = block_on(server.create(request, &top, name("victim"), &how)).unwrap();
            let data = Bytes::from(vec![1; 4096]);
            block_on(server.write(request, &made.node, 0, data, Stability::Unstable)).unwrap();
            drop(made);
            if over {
                block_on(server.create(request, &top, name("other"), &how)).unwrap();
                block_on(server.rename(request, &top, name("other"), &top, name("victim"))).unwrap();
            } else {
                block_on(server.remove(request, &top, name("victim"), RemoveKind::NonDirectory)).unwrap();
            }
            assert_eq!(
                open_below(host.dir.path()).iter().filter(|path| path.contains("(deleted)")).count(),
                0
            );
        }
    }
}

#[test]
fn large_files_are_cut_and_removed() {
    for mode in modes() {
        let host = Host::new();
        for (file, known) in [("known", true), ("unknown", false)] {
            let path = host.export().join(file);
            fs::File::create(&path).unwrap().set_len(1 << 30).unwrap();
            let server = host.open(mode);
            if known {
                let node = lookup(&server, file).unwrap();
                let cut = SetAttributes { size: Some(1 << 29), ..Default::default() };
                assert_eq!(block_on(server.set_attributes(root(), &node, &cut)).unwrap().size, 1 << 29);
                block_on(server.remove(root(), &server.root(), name(file), RemoveKind::Any)).unwrap();
                let mut out = Vec::new();
                assert_eq!(block_on(server.read(root(), &node, 5, 3, &mut out)).unwrap().count, 3);
            } else {
                block_on(server.remove(root(), &server.root(), name(file), RemoveKind::Any)).unwrap();
            }
            assert!(!path.exists());
        }
    }
}

#[test]
fn no_more_descriptors_are_kept_than_allowed() {
    for mode in modes() {
        let host = Host::new();
        for i in 0..300 {
            fs::write(host.export().join(i.to_string()), "x").unwrap();
        }
        let options = LocalOptions { descriptors_max: Some(20), ..host.options(mode) };
        let server = Local::open(host.export(), &options).unwrap();
        let mut out = Vec::new();
        for i in 0..300 {
            let file = lookup(&server, &i.to_string()).unwrap();
            block_on(server.read(root(), &file, 0, 1, &mut out)).unwrap();
        }
        assert_eq!(out.len(), 300);
        assert!(open_below(host.dir.path()).len() <= 22, "{mode:?}");
    }
}

#[test]
fn held_objects_work_when_their_descriptors_were_closed() {
    let host = Host::new();
    if !modes().contains(&HandleMode::Kernel) {
        return;
    }
    for i in 0..100 {
        fs::write(host.export().join(i.to_string()), i.to_string()).unwrap();
    }
    let options = LocalOptions { descriptors_max: Some(10), ..host.options(HandleMode::Kernel) };
    let server = Local::open(host.export(), &options).unwrap();
    let held: Vec<_> = (0..100).map(|i| lookup(&server, &i.to_string()).unwrap()).collect();
    assert!(open_below(host.dir.path()).len() <= 12);
    for (i, node) in held.iter().enumerate() {
        let mut out = Vec::new();
        block_on(server.read(root(), node, 0, 10, &mut out)).unwrap();
        assert_eq!(out, i.to_string().as_bytes());
        assert_eq!(server.handle(&lookup(&server, &i.to_string()).unwrap()), server.handle(node));
    }
    assert!(open_below(host.dir.path()).len() <= 12);
}

#[test]
fn sweep_closes_removed_files_that_nothing_holds() {
    for mode in modes() {
        let host = Host::new();
        let server = host.open(mode);
        let mut out = Vec::new();
        for file in ["held", "idle", "kept"] {
            fs::write(host.export().join(file), "x").unwrap();
            let node = lookup(&server, file).unwrap();
            block_on(server.read(root(), &node, 0, 1, &mut out)).unwrap();
        }
        let held = lookup(&server, "held").unwrap();
        for file in ["held", "idle"] {
            fs::remove_file(host.export().join(file)).unwrap();
        }
        let deleted =
            || open_below(host.dir.path()).iter().filter(|path| path.ends_with("(deleted)")).count();
        assert!(deleted() >= 2, "{mode:?}");
        let is_closed = |file: &str| {
            let path = format!("{} (deleted)", host.export().join(file).display());
            !open_below(host.dir.path()).contains(&path)
        };
        sweep_until(&server, || is_closed("idle"));
        assert!(!is_closed("held"), "{mode:?}");
        drop(held);
        sweep_until(&server, || deleted() == 0);
        let kept = host.export().join("kept").display().to_string();
        assert!(open_below(host.dir.path()).contains(&kept), "a file that has a name stays open, {mode:?}");
    }
}

fn sweep_until(server: &Local, mut is_so: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(std::time::Instant::now() < deadline);
        server.sweep();
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn full_disk_closes_removed_files_before_a_write_fails() {
    const HALF: usize = 3 << 20;
    let host = Host::new();
    let mount = |words: &[&str]| {
        let run = std::process::Command::new(words[0]).args(&words[1..]).arg(host.export()).status();
        run.is_ok_and(|ended| ended.success())
    };
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs"]) {
        eprintln!("skipped: file systems are mounted by root only");
        return;
    }
    let outcome = std::panic::catch_unwind(|| {
        let server = host.open(HandleMode::Auto);
        let write = |file| {
            let set = SetAttributes { mode: Some(0o600), ..Default::default() };
            let made =
                block_on(server.create(root(), &server.root(), name(file), &CreateMode::Guarded(set)))?;
            let data = Bytes::from(vec![1; HALF]);
            block_on(server.write(root(), &made.node, 0, data, Stability::Unstable))
        };
        for file in ["first", "second"] {
            assert_eq!(write(file).unwrap().count, HALF);
            fs::remove_file(host.export().join(file)).unwrap();
        }
    });
    assert!(mount(&["umount", "--lazy"]));
    outcome.unwrap();
}

/// What this process has open below `dir`.
fn open_below(dir: &Path) -> Vec<String> {
    let dir = dir.to_str().expect("a plain path");
    let entries = fs::read_dir("/proc/self/fd").expect("proc is mounted").flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.map(|path| path.to_string_lossy().into_owned()).filter(|path| path.starts_with(dir)).collect()
}

#[test]
fn a_chmod_behind_our_back_counts_at_once() {
    let host = Host::new();
    let server = host.open(HandleMode::Auto);
    if !server.enforces_identities() {
        return;
    }
    let path = host.export().join("file");
    fs::write(&path, "content").unwrap();
    let (node, stranger) = (lookup(&server, "file").unwrap(), Identity::new(1000, 1000));
    for round in 0..20 {
        let open = round % 2 == 0;
        restore_thread_identity().unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(if open { 0o644 } else { 0o600 })).unwrap();
        let read = block_on(server.read(Request::new(&stranger), &node, 0, 10, &mut Vec::new()));
        assert_eq!(read.is_ok(), open);
    }
}

#[test]
fn lasting_entries_are_listed_once_beside_other_threads() {
    let host = Host::new();
    let server = host.open(HandleMode::Auto);
    let how = CreateMode::Guarded(SetAttributes::default());
    let stay: BTreeSet<String> = (0..500).map(|i| format!("stay {i}")).collect();
    for file in &stay {
        fs::write(host.export().join(file), "").unwrap();
    }
    let done = AtomicBool::new(false);
    let (server, how, done_in) = (&server, &how, &done);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || {
                for round in 0.. {
                    let file = format!("{thread} {}", round % 50);
                    block_on(server.create(root(), &server.root(), name(&file), how)).unwrap();
                    block_on(server.remove(root(), &server.root(), name(&file), RemoveKind::Any)).unwrap();
                    if done_in.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        let listings = [1, 7, 64, 1000, 3, 100].map(|page| list_in_pages(server, page));
        done.store(true, Ordering::Relaxed);
        for listing in listings {
            let mut found = listing.unwrap();
            found.retain(|name| stay.contains(name));
            assert_eq!(found.len(), stay.len());
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), stay);
        }
    });
}

/// The names in the root, some of them with their objects.
fn list_in_pages(server: &Local, page: usize) -> vfs::Result<Vec<String>> {
    let (mut cookie, mut found) = (0, Vec::new());
    loop {
        let part = block_on(server.read_dir(root(), &server.root(), cookie, page, page > 10))?;
        cookie = part.entries.last().map_or(cookie, |entry| entry.cookie);
        found.extend(part.entries.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()));
        if part.eof {
            return Ok(found);
        }
    }
}

#[test]
fn the_change_attribute_does_not_go_back_over_a_restart() {
    let host = Host::new();
    fs::write(host.export().join("file"), "content").unwrap();
    let mut last = 0;
    for round in 0..5 {
        let server = host.open(HandleMode::Auto);
        let node = lookup(&server, "file").unwrap();
        let change = || block_on(server.attributes(Request::of_server(), &node)).unwrap().change;
        assert!(change() >= last, "after restart {round}");
        last = change();
        for _ in 0..50 {
            let data = Bytes::from_static(b"data");
            block_on(server.write(root(), &node, 0, data, Stability::Unstable)).unwrap();
            assert!(change() > last);
            last = change();
        }
        assert_eq!(change(), last);
        restore_thread_identity().unwrap();
    }
}

#[test]
fn threads_act_for_their_own_callers() {
    let host = Host::new();
    let server = host.open(HandleMode::Auto);
    if !server.enforces_identities() {
        return;
    }
    fs::set_permissions(host.export(), fs::Permissions::from_mode(0o777)).unwrap();
    std::thread::scope(|scope| {
        for uid in 1000..1008 {
            let server = &server;
            scope.spawn(move || {
                let who = Identity::new(uid, uid);
                let how = CreateMode::Guarded(SetAttributes { mode: Some(0o600), ..Default::default() });
                for round in 0..50 {
                    let file = format!("{uid}-{round}");
                    let made = block_on(server.create(Request::new(&who), &server.root(), name(&file), &how))
                        .unwrap();
                    assert_eq!((made.attributes.uid, made.attributes.gid), (uid, uid));
                    let data = Bytes::from_static(b"data");
                    block_on(server.write(Request::new(&who), &made.node, 0, data, Stability::FileSync))
                        .unwrap();
                    let other = Identity::new(uid + 100, uid);
                    let read = block_on(server.read(Request::new(&other), &made.node, 0, 4, &mut Vec::new()));
                    assert!(matches!(read, Err(Error::AccessDenied)));
                }
                restore_thread_identity().unwrap();
                let own = owner_of_new_file();
                assert_eq!(own, 0);
            });
        }
    });
}

#[test]
fn threads_that_were_started_for_a_caller_do_not_act_for_it() {
    let host = Host::new();
    let secret = host.export().join("secret");
    fs::create_dir(&secret).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(secret.join("file"), "content").unwrap();
    fs::set_permissions(host.export(), fs::Permissions::from_mode(0o755)).unwrap();
    let first = host.open(HandleMode::Index);
    if !first.enforces_identities() {
        return;
    }
    let handle = handle(&first, "secret/file");
    let server = host.open(HandleMode::Index);
    // This thread acts for somebody who may not see the file when the search needs its first thread.
    let stranger = Identity::new(1000, 1000);
    block_on(server.lookup(Request::new(&stranger), &server.root(), name("secret"))).unwrap();
    assert!(block_on(server.resolve(Request::of_server(), handle.as_bytes())).is_ok());
}

/// Makes a file without the server and tells whose it is.
fn owner_of_new_file() -> u32 {
    let file = tempfile::tempfile().expect("a temporary file");
    file.metadata().expect("metadata").uid()
}

#[test]
fn concurrent_synchronous_changes_all_succeed() {
    fn wait(job: &mut dyn FnMut()) -> bool {
        job();
        true
    }
    let host = Host::new();
    // Some wait themselves, and leave to the pool who came meanwhile.
    let options = LocalOptions {
        durability: Durability::Sync,
        threads_max: 2,
        wait_in_place: Some(wait),
        ..host.options(HandleMode::Auto)
    };
    let server = Local::open(host.export(), &options).unwrap();
    let how = CreateMode::Guarded(SetAttributes::default());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (server, how) = (&server, &how);
            scope.spawn(move || {
                let only = (thread % 2 == 0).then_some(&Only as &dyn OnlyRequest);
                let line = Line { number: thread, only };
                let request = line.request_of_server();
                for round in 0..10 {
                    let file = format!("{thread}-{round}");
                    let made = block_on(server.create(request, &server.root(), name(&file), how)).unwrap();
                    let data = Bytes::from_static(b"data");
                    block_on(server.write(request, &made.node, 0, data, Stability::DataSync)).unwrap();
                    block_on(server.commit(request, &made.node, 0, 0)).unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_dir(host.export()).unwrap().count(), 80);
}

#[test]
fn concurrent_listings_of_one_directory_are_whole() {
    let host = Host::new();
    for i in 0..2000 {
        fs::write(host.export().join(format!("a file with the number {i}")), "").unwrap();
    }
    let server = host.open(HandleMode::Auto);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (mut cookie, mut count) = (0, 0);
                loop {
                    let page = block_on(server.read_dir(root(), &server.root(), cookie, 37, false)).unwrap();
                    count += page.entries.len();
                    cookie = page.entries.last().map_or(cookie, |entry| entry.cookie);
                    if page.eof {
                        break;
                    }
                }
                assert_eq!(count, 2002);
            });
        }
    });
}

#[test]
fn many_handles_are_found_by_one_walk() {
    let host = Host::new();
    let mut handles = Vec::new();
    for dir in 0..20 {
        fs::create_dir(host.export().join(dir.to_string())).unwrap();
        for file in 0..20 {
            fs::write(host.export().join(format!("{dir}/{file}")), "").unwrap();
        }
    }
    let server = host.open(HandleMode::Index);
    for i in 0..400 {
        handles.push(handle(&server, &format!("{}/{}", i / 20, i % 20)));
    }
    drop(server);
    let server = host.open(HandleMode::Index);
    std::thread::scope(|scope| {
        for part in handles.chunks(50) {
            let server = &server;
            scope.spawn(move || {
                for known in part {
                    let found = block_on(server.resolve(Request::of_server(), known.as_bytes())).unwrap();
                    assert_eq!(server.handle(&found), *known);
                }
            });
        }
    });
}

#[test]
fn a_user_without_privileges_does_not_give_files_away() {
    let host = Host::new();
    let server = host.open(HandleMode::Auto);
    if server.enforces_identities() {
        return;
    }
    fs::write(host.export().join("file"), "").unwrap();
    let node = lookup(&server, "file").unwrap();
    let metadata = fs::metadata(host.export().join("file")).unwrap();
    let give = |uid, gid| {
        let set = SetAttributes { uid: Some(uid), gid: Some(gid), ..Default::default() };
        block_on(server.set_attributes(root(), &node, &set))
    };
    assert!(matches!(give(metadata.uid() + 1, metadata.gid()), Err(Error::NotPermitted)));
    assert_eq!(give(metadata.uid(), metadata.gid()).unwrap().uid, metadata.uid());
}

#[test]
fn large_ranges_are_reserved_whole_or_not_at_all() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("file"), b"start").expect("writes");
    let server = Local::open(dir.path(), &quick(HandleMode::Auto)).expect("opens the export");
    let file = lookup(&server, "file").expect("exists");
    // More than is reserved at a time.
    let length = (160 << 20) + 5;
    block_on(server.allocate(root(), &file, 3, length)).expect("reserves");
    let reserved = block_on(server.attributes(Request::of_server(), &file)).expect("attributes");
    assert_eq!(reserved.size, length + 3);
    assert!(reserved.used >= length);
    block_on(server.deallocate(root(), &file, 5, length)).expect("gives back");
    let given_back = block_on(server.attributes(Request::of_server(), &file)).expect("attributes");
    assert_eq!(given_back.size, length + 3);
    assert!(given_back.used < 1 << 20);
    // More than there is: nothing is taken.
    let all = block_on(server.stat_fs(Request::of_server(), &file)).expect("space").total_bytes;
    assert!(matches!(block_on(server.allocate(root(), &file, 0, all + (1 << 30))), Err(Error::NoSpace)));
    assert_eq!(
        block_on(server.attributes(Request::of_server(), &file)).expect("attributes").size,
        length + 3
    );
    restore_thread_identity().expect("restores the ids");
}

#[test]
fn change_attribute_never_covers_data_older_than_an_answered_write() {
    const BYTES: usize = 1 << 20;
    const LAST: usize = 4096;
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("file"), vec![0; BYTES]).expect("writes");
    let server = Local::open(dir.path(), &quick(HandleMode::Auto)).expect("opens the export");
    let file = lookup(&server, "file").expect("exists");
    let (answered, looks, mut stale) = (AtomicU64::new(0), AtomicU64::new(0), Vec::new());
    let write = |version: u8| {
        let data = Bytes::from(vec![version; BYTES]);
        block_on(server.write(root(), &file, 0, data, Stability::Unstable)).expect("writes");
        answered.store(version.into(), Ordering::SeqCst);
        // The reader gets to see how it is now.
        let enough = looks.load(Ordering::SeqCst) + 3;
        while looks.load(Ordering::SeqCst) < enough {
            std::thread::yield_now();
        }
    };
    let look = || {
        let change = block_on(server.attributes(Request::of_server(), &file)).expect("attributes").change;
        looks.fetch_add(1, Ordering::SeqCst);
        change
    };
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            (1..=100).for_each(write);
            restore_thread_identity().expect("restores the ids");
        });
        while !writer.is_finished() {
            let (mut kept, of) = (Vec::new(), look());
            block_on(server.read(root(), &file, (BYTES - LAST) as u64, LAST, &mut kept)).expect("reads");
            // Until the change attribute moves a client takes what it has kept for the latest.
            while !writer.is_finished() {
                let latest = answered.load(Ordering::SeqCst);
                if look() != of {
                    break;
                }
                let oldest = kept.iter().map(|byte| u64::from(*byte)).min();
                if oldest < Some(latest) {
                    stale.push((oldest, latest));
                }
            }
        }
    });
    restore_thread_identity().expect("restores the ids");
    assert!(stale.is_empty(), "(kept, answered) {stale:?}");
}
