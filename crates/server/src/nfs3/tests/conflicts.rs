//! What others hold is asked about before it is touched.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs3::*;
use state::NameChange;
use vfs::{FileSystem, ObjectId};

use crate::conflicts::{Conflict, Conflicts};
use crate::delegations::TakenNames;
use crate::fixture::{Server, export, place, unsquashed, write_args};

/// Keeps what it was asked and answers with what it was told.
#[derive(Default)]
struct Asked {
    any: AtomicBool,
    answer: Mutex<Option<Conflict>>,
    questions: Mutex<Vec<(&'static str, u64)>>,
    known_better: Mutex<Option<u64>>,
}

impl Asked {
    fn ask(&self, what: &'static str, object: ObjectId) -> Result<(), Conflict> {
        self.questions.lock().push((what, object.fileid));
        self.answer.lock().map_or(Ok(()), Err)
    }

    fn take(&self) -> Vec<(&'static str, u64)> {
        std::mem::take(&mut *self.questions.lock())
    }
}

impl Conflicts for Asked {
    type Guard<'a> = ();

    fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    fn is_known_better(&self, object: ObjectId) -> bool {
        *self.known_better.lock() == Some(object.fileid)
    }

    async fn before_attributes(&self, object: ObjectId) -> Result<(), Conflict> {
        self.ask("attributes", object)
    }

    async fn before_read(&self, object: ObjectId) -> Result<(), Conflict> {
        self.ask("read", object)
    }

    async fn before_write(&self, object: ObjectId) -> Result<(), Conflict> {
        self.ask("write", object)
    }

    async fn before_entry_change(&self, directory: ObjectId) -> Result<(), Conflict> {
        self.ask("entry", directory)
    }

    async fn before_name_change(
        &self,
        _: &TakenNames,
        change: &NameChange<ObjectId>,
    ) -> Result<Vec<()>, Conflict> {
        let asked = change.directories.iter().map(|directory| self.ask("entry", *directory));
        let asked = asked.chain(change.objects.iter().map(|object| self.ask("name", *object)));
        asked.chain(change.removed.iter().map(|object| self.ask("share", *object))).collect()
    }

    async fn take_names(&self, names: Vec<(ObjectId, Bytes)>) -> Result<TakenNames, Conflict> {
        self.questions.lock().extend(names.iter().map(|(directory, _)| ("take", directory.fileid)));
        Ok(TakenNames::default())
    }

    async fn after_remove<F: FileSystem>(&self, fs: &F, node: &F::Node) {
        let links = fs.attributes(vfs::Request::of_server(), node).await.unwrap().links;
        let what = if links == 0 { "gone" } else { "removed" };
        self.questions.lock().push((what, fs.object_id(node).fileid));
    }
}

fn server() -> (Server<Arc<Asked>>, Arc<Asked>, FileHandle, u64) {
    let asked = Arc::new(Asked::default());
    let server = Server::with(vec![export(1, "/", unsquashed())], Arc::clone(&asked));
    let file = server.file(server.root, "f", 0o644);
    let fileid = server.attributes(file).fileid;
    asked.any.store(true, Ordering::Relaxed);
    (server, asked, file, fileid)
}

#[test]
fn every_conflicting_operation_asks_about_the_right_object() {
    let (server, asked, file, f) = server();
    let root = server.root;
    let r = server.attributes(root).fileid;
    asked.take();
    server.ok(&GetAttrArgs { object: file });
    assert_eq!(asked.take(), [("attributes", f)]);
    server.read(file, 0, 1);
    assert_eq!(asked.take(), [("read", f)]);
    server.write(file, 0, b"x");
    assert_eq!(asked.take(), [("write", f)]);
    server.ok(&SetAttrArgs { object: file, attributes: SetAttributes::default(), guard: None });
    assert_eq!(asked.take(), [("write", f)]);
    let truncate = SetAttributes { size: Some(0), ..SetAttributes::default() };
    server.ok(&CreateArgs { place: place(root, "f"), how: CreateHow::Unchecked(truncate) });
    assert_eq!(asked.take(), [("write", f), ("take", r), ("entry", r)], "an open that truncates");
    server.ok(&CreateArgs { place: place(root, "f"), how: CreateHow::Unchecked(SetAttributes::default()) });
    assert_eq!(asked.take(), [("take", r), ("entry", r)], "an open that does not");
    server.ok(&LinkArgs { file, link: place(root, "g") });
    assert_eq!(asked.take(), [("take", r), ("entry", r), ("name", f)]);
    let h = server.attributes(server.file(root, "h", 0o644)).fileid;
    asked.take();
    server.ok(&RenameArgs { from: place(root, "f"), to: place(root, "h") });
    let moved = [
        ("take", r),
        ("take", r),
        ("entry", r),
        ("entry", r),
        ("name", f),
        ("name", h),
        ("share", h),
        ("gone", h),
    ];
    assert_eq!(asked.take(), moved, "both directories, what moves and what is replaced");
    server.ok(&RemoveArgs { object: place(root, "h") });
    assert_eq!(
        asked.take(),
        [("take", r), ("entry", r), ("name", f), ("share", f), ("removed", f)],
        "it has another name"
    );
    server.ok(&RemoveArgs { object: place(root, "g") });
    assert_eq!(asked.take(), [("take", r), ("entry", r), ("name", f), ("share", f), ("gone", f)]);
    let attributes = SetAttributes::default();
    server.ok(&MkDirArgs { place: place(root, "d"), attributes });
    server.ok(&SymlinkArgs { place: place(root, "s"), attributes, target: "t".into() });
    assert_eq!(asked.take(), [("entry", r), ("entry", r)]);
    server.ok(&LookupArgs { what: place(root, "d") });
    assert_eq!(asked.take(), []);
}

#[test]
fn optional_attributes_of_a_write_delegation_are_left_out() {
    let (server, asked, file, f) = server();
    let other = server.file(server.root, "g", 0o644);
    *asked.known_better.lock() = Some(f);
    let found = server.ok(&LookupArgs { what: place(server.root, "f") });
    assert_eq!((found.object, found.attributes), (file, None));
    let list = ReadDirPlusArgs {
        dir: server.root,
        cookie: 0,
        verifier: CookieVerifier::default(),
        dir_count: 1000,
        max_count: 4000,
    };
    let told = |name: &[u8]| {
        let entries = server.ok(&list).entries;
        let entry = entries.0.into_iter().find(|entry| &entry.name[..] == name).unwrap();
        (entry.object, entry.attributes)
    };
    assert_eq!(told(b"f"), (Some(file), None));
    let now = server.attributes(other);
    assert_eq!(told(b"g"), (Some(other), Some(now)));
    *asked.known_better.lock() = None;
    assert!(server.ok(&LookupArgs { what: place(server.root, "f") }).attributes.is_some());
}

#[test]
fn no_conflict_check_without_holders() {
    let (server, asked, file, _) = server();
    asked.any.store(false, Ordering::Relaxed);
    server.write(file, 0, b"x");
    server.read(file, 0, 1);
    server.ok(&RemoveArgs { object: place(server.root, "f") });
    assert_eq!(asked.take(), []);
}

#[test]
fn a_recall_under_way_is_jukebox_and_changes_nothing() {
    let (server, asked, file, _) = server();
    let root = server.root;
    let before = server.attributes(file);
    for (answer, status) in [(Conflict::Later, Status::Jukebox), (Conflict::Denied, Status::AccessDenied)] {
        *asked.answer.lock() = Some(answer);
        let (read, fail) = server.fail(&ReadArgs { file, offset: 0, count: 1 });
        assert_eq!((read, fail.attributes), (status, Some(before)));
        assert_eq!(server.fail(&write_args(file, 0, b"x")).0, status);
        let attributes = SetAttributes { size: Some(9), ..SetAttributes::default() };
        assert_eq!(server.fail(&SetAttrArgs { object: file, attributes, guard: None }).0, status);
        assert_eq!(server.fail(&RemoveArgs { object: place(root, "f") }).0, status);
        assert_eq!(server.fail(&RenameArgs { from: place(root, "f"), to: place(root, "g") }).0, status);
        assert_eq!(server.fail(&LinkArgs { file, link: place(root, "g") }).0, status);
        assert_eq!(server.fail(&GetAttrArgs { object: file }).0, status);
        *asked.answer.lock() = None;
        assert_eq!(server.attributes(file), before);
    }
}
