//! A server with some objects, and a ledger of how its procedures end.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it tests real files")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs3::{self, *};
use rpc::{AuthSys, Call, CallHeader, Connection, Refusal};
use server::conflicts::{Conflict, Conflicts};
use server::delegations::TakenNames;
use server::exports::{Clients, Export, ExportId, ExportOptions, ExportPath, Exports, Rule, Squash};
use server::nfs3::Nfs3;
use state::NameChange;
use testkit::connection::{LOCAL_PEER, TestConnection};
use vfs::local::{Durability, Local, LocalOptions};
use vfs::memory::{Memory, MemoryOptions};
use vfs::{FileSystem, ObjectId};
use xdr::{Decode, Decoder, Encoder};

use super::fault::{Faulty, Trigger};

/// How to set up a [`Lab`].
#[derive(Default)]
pub struct Options {
    pub read_only: bool,
    /// No address may use it.
    pub closed: bool,
    /// The most objects and bytes of the file system.
    pub objects_max: Option<u64>,
    pub bytes_max: Option<u64>,
    /// What stands in the way of everything.
    pub conflict: Option<Conflict>,
}

/// How often a procedure ended how, and with which arguments first.
pub type Ledger = Mutex<BTreeMap<(Procedure, u32), String>>;

/// A server and its objects. The root has the files `f` and `g`, the directories `d` and `full`, which is not
/// empty, the symbolic link `l` and the pipe `p`.
pub struct Lab<'a> {
    ledger: &'a Ledger,
    server: Box<dyn Answers>,
    pub trigger: Arc<Trigger>,
    pub root: FileHandle,
    pub file: FileHandle,
    pub directory: FileHandle,
    pub link: FileHandle,
    pub pipe: FileHandle,
    /// An object of another file system.
    pub elsewhere: FileHandle,
    /// A file that was removed.
    pub gone: FileHandle,
    /// Failures say how the objects are now: all do, but where attributes cannot be read.
    pub tells: bool,
}

trait Answers {
    fn answer(&self, call: Call<'_>, reply: &mut Encoder) -> Result<(), Refusal>;
}

impl<F: FileSystem, C: Conflicts> Answers for Nfs3<F, C> {
    fn answer(&self, call: Call<'_>, reply: &mut Encoder) -> Result<(), Refusal> {
        pollster::block_on(self.call(&call, reply)).map(drop)
    }
}

/// Stands in the way, or not.
struct Obstacle(Option<Conflict>);

impl Obstacle {
    fn answer(&self) -> Result<(), Conflict> {
        self.0.map_or(Ok(()), Err)
    }
}

impl Conflicts for Obstacle {
    type Guard<'a> = ();

    fn any(&self) -> bool {
        self.0.is_some()
    }

    fn is_known_better(&self, _: ObjectId) -> bool {
        false
    }

    async fn before_attributes(&self, _: ObjectId) -> Result<(), Conflict> {
        // Locks hide no attributes.
        self.answer().or_else(|conflict| if conflict == Conflict::Later { Err(conflict) } else { Ok(()) })
    }

    async fn before_read(&self, _: ObjectId) -> Result<(), Conflict> {
        self.answer()
    }

    async fn before_write(&self, _: ObjectId) -> Result<(), Conflict> {
        self.answer()
    }

    async fn before_entry_change(&self, _: ObjectId) -> Result<(), Conflict> {
        self.answer()
    }

    async fn before_name_change(
        &self,
        _: &TakenNames,
        _: &NameChange<ObjectId>,
    ) -> Result<Vec<()>, Conflict> {
        self.answer().map(|()| Vec::new())
    }

    async fn take_names(&self, _: Vec<(ObjectId, Bytes)>) -> Result<TakenNames, Conflict> {
        Ok(TakenNames::default())
    }

    async fn after_remove<F: FileSystem>(&self, _: &F, _: &F::Node) {}
}

fn exports<F: FileSystem>(fs: F, other: F, options: &Options) -> Arc<Exports<F>> {
    let clients = if options.closed { Clients::Networks(vec![]) } else { Clients::All };
    let rule = Rule { clients, read_only: options.read_only, squash: Squash::NONE, ..Rule::default() };
    let export = ExportOptions::from(rule);
    let path = ExportPath::new(b"/elsewhere").unwrap();
    let list = vec![
        Export::new(ExportId(1), ExportPath::root(), fs, export.clone()),
        Export::new(ExportId(2), path, other, export),
    ];
    Arc::new(Exports::new(list).unwrap())
}

fn root_of<F: FileSystem>(fs: &F) -> FileHandle {
    FileHandle::new(fs.handle(&fs.root()).as_bytes()).unwrap()
}

impl<'a> Lab<'a> {
    pub fn new(ledger: &'a Ledger) -> Self {
        Self::with(ledger, &Options::default())
    }

    /// In memory. The objects are made by a server without options.
    pub fn with(ledger: &'a Ledger, options: &Options) -> Self {
        let defaults = MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() };
        let limited = MemoryOptions {
            objects_max: options.objects_max.unwrap_or(defaults.objects_max),
            bytes_max: options.bytes_max.unwrap_or(defaults.bytes_max),
            ..defaults.clone()
        };
        let memory = Arc::new(Memory::new(limited).unwrap());
        let other = Arc::new(Memory::new(defaults).unwrap());
        let trigger = Arc::new(Trigger::default());
        let roots = (root_of(&*memory), root_of(&*other));
        let faulty =
            |memory: &Arc<Memory>| Faulty { memory: Arc::clone(memory), trigger: Arc::clone(&trigger) };
        let serve = |options: &Options| {
            Nfs3::new(exports(faulty(&memory), faulty(&other), options), Obstacle(options.conflict))
        };
        let servers: [Box<dyn Answers>; 2] = [Box::new(serve(&Options::default())), Box::new(serve(options))];
        Self::over(ledger, servers, Arc::clone(&trigger), roots)
    }

    /// Over a directory, where the errors are those of a kernel.
    pub fn local(ledger: &'a Ledger, directory: &Path) -> Self {
        let open = |name: &str| {
            let place = directory.join(name);
            std::fs::create_dir(&place).unwrap();
            std::fs::set_permissions(&place, PermissionsExt::from_mode(0o777)).unwrap();
            let options = LocalOptions { durability: Durability::Async, ..LocalOptions::default() };
            Local::open(&place, &options).unwrap()
        };
        let (local, other) = (open("export"), open("elsewhere"));
        let roots = (root_of(&local), root_of(&other));
        let exports = exports(local, other, &Options::default());
        let serve = || -> Box<dyn Answers> { Box::new(Nfs3::new(Arc::clone(&exports), Obstacle(None))) };
        Self::over(ledger, [serve(), serve()], Arc::default(), roots)
    }

    /// The first server makes the objects, and the second serves them.
    fn over(
        ledger: &'a Ledger,
        [maker, server]: [Box<dyn Answers>; 2],
        trigger: Arc<Trigger>,
        (root, elsewhere): (FileHandle, FileHandle),
    ) -> Self {
        let mut lab = Self {
            ledger,
            server: maker,
            trigger,
            root,
            file: root,
            directory: root,
            link: root,
            pipe: root,
            elsewhere,
            gone: root,
            tells: true,
        };
        lab.file = lab.make_file("f");
        lab.make_file("g");
        lab.gone = lab.make_file("gone");
        lab.directory = lab.make_dir(root, "d");
        let full = lab.make_dir(root, "full");
        lab.make_dir(full, "inside");
        let attributes = SetAttributes::default();
        let target = Bytes::from_static(b"f");
        let made = lab.ok(&SymlinkArgs { place: place(root, "l"), attributes, target });
        lab.link = made.object.unwrap();
        let what = MkNodData::Fifo(SetAttributes { mode: Some(0o644), ..attributes });
        lab.pipe = lab.ok(&MkNodArgs { place: place(root, "p"), what }).object.unwrap();
        lab.ok(&RemoveArgs { object: place(root, "gone") });
        lab.server = server;
        lab
    }

    fn make_file(&self, name: &str) -> FileHandle {
        let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
        let how = CreateHow::Guarded(set);
        let file = self.ok(&CreateArgs { place: place(self.root, name), how }).object.unwrap();
        self.ok(&write(file, b"data"));
        file
    }

    fn make_dir(&self, dir: FileHandle, name: &str) -> FileHandle {
        let attributes = SetAttributes { mode: Some(0o755), ..SetAttributes::default() };
        self.ok(&MkDirArgs { place: place(dir, name), attributes }).object.unwrap()
    }

    fn ok<R: Request>(&self, arguments: &R) -> R::Ok {
        let results = self.results(R::PROCEDURE, 0, xdr::to_bytes(arguments)).unwrap();
        match xdr::from_bytes::<Reply<R::Ok, R::Fail>>(results).unwrap() {
            Reply::Ok(ok) => ok,
            Reply::Err(status, _) => panic!("{} answers {status}", R::PROCEDURE),
        }
    }

    fn results(&self, procedure: Procedure, uid: u32, arguments: Bytes) -> Result<Bytes, Refusal> {
        let caller = AuthSys { stamp: 0, machine_name: Bytes::new(), uid, gid: uid, gids: vec![] }.into();
        let (program, version, procedure) = (nfs3::PROGRAM, nfs3::VERSION, procedure.number());
        let header = CallHeader { xid: 1, program, version, procedure };
        let connection: Arc<dyn Connection> = Arc::new(TestConnection::new(LOCAL_PEER));
        let call = Call {
            header: &header,
            caller: &caller,
            peer: connection.peer(),
            connection: &connection,
            arguments: Decoder::new(arguments),
        };
        let mut reply = Encoder::new();
        self.server.answer(call, &mut reply)?;
        Ok(reply.into_inner().into())
    }

    /// Calls a procedure with encoded arguments, and notes how it ends. `None` when the arguments do not
    /// decode.
    pub fn try_call(&self, procedure: Procedure, uid: u32, arguments: &Bytes) -> Option<(Status, Bytes)> {
        let results = match self.results(procedure, uid, arguments.clone()) {
            Ok(results) => results,
            Err(refusal) => {
                assert_eq!(refusal, Refusal::GarbageArguments, "{procedure}");
                return None;
            }
        };
        let status = check(procedure, results.clone());
        if status != Status::Ok {
            let found = !matches!(status, Status::Stale | Status::BadHandle);
            let told = results.len() - 4 == failure_bytes(procedure);
            assert!(told || !found || !self.tells, "{procedure} {status} does not tell all");
            self.ledger
                .lock()
                .entry((procedure, status.code()))
                .or_insert_with(|| format!("user {uid}, {arguments:?}"));
        }
        Some((status, results.slice(4..)))
    }

    /// Calls a procedure as a user; yields the status, and the body behind it.
    pub fn call_as<R: Request>(&self, uid: u32, arguments: &R) -> (Status, Bytes) {
        self.try_call(R::PROCEDURE, uid, &xdr::to_bytes(arguments)).expect("what was encoded decodes")
    }

    /// Calls a procedure as root; it must end like this.
    #[track_caller]
    pub fn expect<R: Request>(&self, arguments: &R, status: Status) {
        self.expect_as(0, arguments, status);
    }

    #[track_caller]
    pub fn expect_as<R: Request>(&self, uid: u32, arguments: &R, status: Status) {
        assert_eq!(self.call_as(uid, arguments).0, status, "{}", R::PROCEDURE);
    }
}

/// What a failure tells, in bytes: attributes are 84 and a flag, what they were before is 24 and a flag.
fn failure_bytes(procedure: Procedure) -> usize {
    match procedure {
        Procedure::Null | Procedure::GetAttr => 0,
        Procedure::Rename => 2 * (88 + 28),
        Procedure::Link => 88 + 88 + 28,
        // Not sure of what was before, it does not tell (`nfs3::tests::wcc`).
        Procedure::Write => 88 + 4,
        Procedure::SetAttr
        | Procedure::Create
        | Procedure::MkDir
        | Procedure::Symlink
        | Procedure::MkNod
        | Procedure::Remove
        | Procedure::RmDir
        | Procedure::Commit => 88 + 28,
        Procedure::Lookup
        | Procedure::Access
        | Procedure::ReadLink
        | Procedure::Read
        | Procedure::ReadDir
        | Procedure::ReadDirPlus
        | Procedure::FsStat
        | Procedure::FsInfo
        | Procedure::PathConf => 88,
    }
}

/// Decodes results to the last byte.
fn check(procedure: Procedure, results: Bytes) -> Status {
    fn of<R: Request>(results: Bytes) -> Status {
        let mut from = Decoder::new(results);
        let reply = Reply::<R::Ok, R::Fail>::decode(&mut from).unwrap();
        from.finish().unwrap();
        reply.status()
    }
    match procedure {
        Procedure::Null => Status::Ok,
        Procedure::GetAttr => of::<GetAttrArgs>(results),
        Procedure::SetAttr => of::<SetAttrArgs>(results),
        Procedure::Lookup => of::<LookupArgs>(results),
        Procedure::Access => of::<AccessArgs>(results),
        Procedure::ReadLink => of::<ReadLinkArgs>(results),
        Procedure::Read => of::<ReadArgs>(results),
        Procedure::Write => of::<WriteArgs>(results),
        Procedure::Create => of::<CreateArgs>(results),
        Procedure::MkDir => of::<MkDirArgs>(results),
        Procedure::Symlink => of::<SymlinkArgs>(results),
        Procedure::MkNod => of::<MkNodArgs>(results),
        Procedure::Remove => of::<RemoveArgs>(results),
        Procedure::RmDir => of::<RmDirArgs>(results),
        Procedure::Rename => of::<RenameArgs>(results),
        Procedure::Link => of::<LinkArgs>(results),
        Procedure::ReadDir => of::<ReadDirArgs>(results),
        Procedure::ReadDirPlus => of::<ReadDirPlusArgs>(results),
        Procedure::FsStat => of::<FsStatArgs>(results),
        Procedure::FsInfo => of::<FsInfoArgs>(results),
        Procedure::PathConf => of::<PathConfArgs>(results),
        Procedure::Commit => of::<CommitArgs>(results),
    }
}

pub fn place(dir: FileHandle, name: &str) -> DirOpArgs {
    DirOpArgs { dir, name: Bytes::copy_from_slice(name.as_bytes()) }
}

pub fn write(file: FileHandle, data: &'static [u8]) -> WriteArgs {
    let count = data.len() as u32;
    WriteArgs { file, offset: 0, count, stable: StableHow::FileSync, data: Bytes::from_static(data) }
}
