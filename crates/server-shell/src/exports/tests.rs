//! Opening and replacing exports.

use std::fs;
use std::path::PathBuf;

use rpc::Credential;
use server::exports::{Caller, ExportPath, Rule, TransportSecurity, Unreachable, Version};
use tempfile::TempDir;
use vfs::{Error, FileSystem, Handle};

use super::{BackEndChoice, ExportSpec, ExportStore, ExportsError, Probes, Reloaded, Terms};
use crate::back_ends::BackEnds;

struct Place(TempDir);

impl Place {
    /// With these directories.
    fn new(names: &[&str]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for name in names.iter().chain(&["state"]) {
            fs::create_dir(place.path(name)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn spec(&self, name: &str, path: &str) -> ExportSpec {
        ExportSpec { path: at(path), ..ExportSpec::new(self.path(name)) }
    }

    fn open(&self, specs: &[ExportSpec]) -> Result<ExportStore, ExportsError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let probes = Probes::default();
        let state_directory = Some(self.path("state"));
        let terms = Terms { state_directory, watches: false, back_ends: BackEnds::default(), probes };
        runtime.block_on(ExportStore::open(specs, false, terms))
    }
}

fn at(path: &str) -> ExportPath {
    ExportPath::new(path.as_bytes()).unwrap()
}

fn handle(keeper: &ExportStore, path: &str) -> Handle {
    let exports = keeper.exports().load();
    let path = at(path);
    let fs = exports.at(&path).0.file_system();
    fs.handle(&fs.root())
}

fn reload(keeper: &ExportStore, specs: &[ExportSpec]) -> Result<Reloaded, ExportsError> {
    pollster::block_on(keeper.reload(specs, false))
}

/// The path of the export that a handle leads into.
fn reached(keeper: &ExportStore, handle: &Handle) -> Result<ExportPath, Unreachable> {
    let nobody = Credential::None.into();
    let caller = Caller {
        peer: ([127, 0, 0, 1], 900).into(),
        rpc: &nobody,
        certificate: None,
        transport: TransportSecurity::None,
        version: Version::V3,
        line: vfs::Line::default(),
    };
    let exports = keeper.exports().load();
    let found = pollster::block_on(exports.resolve(handle.as_bytes(), &caller))?;
    Ok(found.export.path().clone())
}

#[test]
fn a_reload_keeps_what_stays_and_makes_stale_what_goes() {
    let place = Place::new(&["a", "b", "c"]);
    let keeper = place.open(&[place.spec("a", "/a"), place.spec("b", "/b")]).unwrap();
    let (a, b) = (handle(&keeper, "/a"), handle(&keeper, "/b"));
    let forged = Handle::new(&[1; 40]).unwrap();
    assert!(matches!(reached(&keeper, &forged), Err(Unreachable::Handle(Error::BadHandle))));
    let before = keeper.exports().load();
    let renamed = place.spec("a", "/a");
    let reloaded = reload(&keeper, &[renamed, place.spec("c", "/c")]).unwrap();
    assert_eq!((reloaded.kept, reloaded.added), (vec![at("/a")], vec![at("/c")]));
    assert_eq!((reloaded.removed, reloaded.changed), (vec![at("/b")], vec![]));
    assert_eq!(reached(&keeper, &a).unwrap(), at("/a"));
    assert!(matches!(reached(&keeper, &b), Err(Unreachable::Handle(Error::Stale))));
    assert_eq!(before.mountable().count(), 2, "a request goes on with what it began with");
    assert!(before.iter().any(|export| *export.path() == at("/b")));
}

#[test]
fn file_system_of_another_back_end_stays_open_over_a_reload() {
    let place = Place::new(&["a"]);
    let scratch = || ExportSpec {
        back_end: BackEndChoice::Named("memory".to_owned()),
        path: at("/scratch"),
        ..ExportSpec::new("/scratch")
    };
    let keeper = place.open(&[place.spec("a", "/a"), scratch()]).unwrap();
    let handle = handle(&keeper, "/scratch");
    assert_eq!(reload(&keeper, &[scratch()]).unwrap().kept, [at("/scratch")]);
    assert_eq!(reached(&keeper, &handle).unwrap(), at("/scratch"));
}

#[test]
fn unknown_back_end_is_refused_with_all_that_there_are() {
    let place = Place::new(&["a"]);
    let spec = ExportSpec { back_end: BackEndChoice::Named("lokal".to_owned()), ..place.spec("a", "/a") };
    let error = place.open(&[spec]).unwrap_err().to_string();
    assert!(error.contains("no back end `lokal`") && error.contains("`local`, `memory`"), "{error}");
}

#[test]
fn other_rules_do_not_touch_the_handles() {
    let place = Place::new(&["a"]);
    let keeper = place.open(&[place.spec("a", "/a")]).unwrap();
    let a = handle(&keeper, "/a");
    let read_only = Rule { read_only: true, ..Rule::default() };
    let spec = ExportSpec { options: read_only.into(), ..place.spec("a", "/a") };
    assert_eq!(reload(&keeper, &[spec]).unwrap().changed, [at("/a")]);
    assert_eq!(reached(&keeper, &a).unwrap(), at("/a"));
    assert_eq!(handle(&keeper, "/a"), a);
}

#[test]
fn a_reload_that_cannot_be_done_changes_nothing() {
    let place = Place::new(&["a"]);
    let keeper = place.open(&[place.spec("a", "/a")]).unwrap();
    let a = handle(&keeper, "/a");
    let error =
        reload(&keeper, &[place.spec("a", "/a"), place.spec("missing", "/m")]).unwrap_err().to_string();
    assert!(error.contains("missing"), "{error}");
    assert!(reload(&keeper, &[place.spec("a", "/a"), place.spec("a", "/a")]).is_err());
    assert_eq!(reached(&keeper, &a).unwrap(), at("/a"));
    assert_eq!(keeper.exports().load().mountable().count(), 1);
}

#[test]
fn handles_survive_restarts_and_other_exports_around_them() {
    let place = Place::new(&["a", "b", "c"]);
    let keeper = place.open(&[place.spec("a", "/a"), place.spec("b", "/b")]).unwrap();
    let b = handle(&keeper, "/b");
    drop(keeper);
    let keeper = place.open(&[place.spec("c", "/c"), place.spec("b", "/elsewhere")]).unwrap();
    assert_eq!(reached(&keeper, &b).unwrap(), at("/elsewhere"));
}

#[test]
fn another_directory_at_the_same_path_is_another_export() {
    let place = Place::new(&["a", "other"]);
    let keeper = place.open(&[place.spec("a", "/a")]).unwrap();
    let a = handle(&keeper, "/a");
    fs::rename(place.path("a"), place.path("old")).unwrap();
    fs::rename(place.path("other"), place.path("a")).unwrap();
    let reloaded = reload(&keeper, &[place.spec("a", "/a")]).unwrap();
    assert_eq!((reloaded.added, reloaded.removed), (vec![at("/a")], vec![at("/a")]));
    assert!(reached(&keeper, &a).is_err());
}
