//! A read-only back end that has only the methods without a default.
#![forbid(unsafe_code)]

mod library;

use bytes::Bytes;
use futures_util::FutureExt;
use library::Library;
use vfs::conformance::{Options, run};
use vfs::{
    Access, CreateMode, Error, FileSystem, Identity, Line, Name, RemoveKind, Request, SetAttributes,
    Stability, XattrName,
};

/// The back end never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("ready at the first poll")
}

fn name(text: &str) -> Name<'_> {
    Name::new(text.as_bytes()).expect("tests use valid names")
}

fn reader() -> Identity {
    Identity::new(1000, 100)
}

fn book(fs: &Library) -> library::Node {
    now(fs.lookup(Request::new(&reader()), &fs.root(), name("README"))).expect("is there").0
}

#[test]
fn small_back_end_conforms() {
    let report = now(run(Library::new, Options { identities: false, devices: false, line: Line::default() }));
    for (check, failure) in &report.failed {
        eprintln!("{check}: {failure}");
    }
    assert!(report.failed.is_empty(), "{} checks failed", report.failed.len());
    assert!(report.passed.len() > 8);
}

#[test]
fn changes_are_read_only_by_default() {
    let (fs, request, set) = (Library::new(), Request::of_server(), SetAttributes::default());
    let (root, book, new) = (fs.root(), book(&fs), name("new"));
    let outcomes = [
        now(fs.set_attributes(request, &book, &set)).map(|_| ()),
        now(fs.write(request, &book, 0, Bytes::from_static(b"x"), Stability::Unstable)).map(|_| ()),
        now(fs.create(request, &root, new, &CreateMode::Guarded(set))).map(|_| ()),
        now(fs.begin_create(request, &root, new, &CreateMode::Guarded(set))).map(|_| ()),
        now(fs.make_dir(request, &root, new, &set)).map(|_| ()),
        now(fs.make_symlink(request, &root, new, b"target", &set)).map(|_| ()),
        now(fs.make_node(request, &root, new, vfs::NodeKind::Fifo, &set)).map(|_| ()),
        now(fs.link(request, &book, &root, new)),
        now(fs.remove(request, &root, name("README"), RemoveKind::Any)),
        now(fs.rename(request, &root, name("README"), &root, new)),
    ];
    for (index, outcome) in outcomes.into_iter().enumerate() {
        assert!(matches!(outcome, Err(Error::ReadOnly)), "{index}: {outcome:?}");
    }
}

#[test]
fn optional_operations_are_not_supported_by_default() {
    let (fs, request) = (Library::new(), Request::of_server());
    let book = book(&fs);
    let found = now(fs.get_xattr(request, &book, XattrName::new(b"name").unwrap()));
    assert!(matches!(found, Err(Error::NotSupported)));
    assert!(matches!(now(fs.allocate(request, &book, 0, 1)), Err(Error::NotSupported)));
    assert!(matches!(now(fs.read_link(request, &book)), Err(Error::Invalid)));
}

#[test]
fn access_follows_the_mode_by_default() {
    let fs = Library::new();
    let granted = now(fs.access(Request::new(&reader()), &book(&fs), Access::ALL)).unwrap();
    assert_eq!(granted, Access::READ);
    let granted = now(fs.access(Request::new(&reader()), &fs.root(), Access::ALL)).unwrap();
    assert_eq!(granted, Access(Access::READ.0 | Access::LOOKUP.0));
}

#[test]
fn commit_by_default_accepts_regular_files_only() {
    let fs = Library::new();
    assert_eq!(
        now(fs.commit(Request::new(&reader()), &book(&fs), 0, 0)).unwrap().verifier,
        fs.write_verifier()
    );
    assert!(matches!(now(fs.commit(Request::new(&reader()), &fs.root(), 0, 0)), Err(Error::IsDirectory)));
}

#[test]
fn create_by_default_opens_existing_files_only() {
    let (fs, reader, set) = (Library::new(), reader(), SetAttributes::default());
    let open = |text, mode: CreateMode| now(fs.create(Request::new(&reader), &fs.root(), name(text), &mode));
    let opened = open("README", CreateMode::Unchecked(set)).unwrap();
    assert!(!opened.created && fs.object_id(&opened.node) == fs.object_id(&book(&fs)));
    let cut = SetAttributes { size: Some(0), ..set };
    assert!(matches!(open("README", CreateMode::Unchecked(cut)), Err(Error::ReadOnly)));
    assert!(matches!(open("README", CreateMode::Guarded(set)), Err(Error::Exists)));
    assert!(matches!(open("poems", CreateMode::Unchecked(set)), Err(Error::IsDirectory)));
    assert!(matches!(open("missing", CreateMode::Unchecked(set)), Err(Error::ReadOnly)));
}
