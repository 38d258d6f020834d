//! One tree of several exports: crossing, and what each client sees of it (RFC 8881 §7, RFC 7530 §7).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap, FsId};
use proto::nfs4::*;
use server::exports::{
    BackEnd, Clients, Export, ExportId, ExportPath, ExportSet, Exports, Flavor, InvalidExports, Network,
    Rule, Squash,
};
use state::{Limits, State};
use vfs::memory::{Memory, MemoryOptions};
use vfs::{FileSystem, Name, Request, SetAttributes, Timestamp};

use crate::peer::{Peer, TestServer, test_options};

const WANTED: Bitmap = Bitmap::of(&[
    AttributeId::FsId,
    AttributeId::FileId,
    AttributeId::MountedOnFileId,
    AttributeId::RdattrError,
    AttributeId::FileHandle,
]);

/// A memory file system with these directories in its root.
fn memory(directories: &[&str]) -> Memory {
    let memory = Memory::new(MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() }).unwrap();
    for name in directories {
        let name = Name::new(name.as_bytes()).unwrap();
        let set = SetAttributes { mode: Some(0o755), ..SetAttributes::default() };
        pollster::block_on(memory.make_dir(Request::of_server(), &memory.root(), name, &set)).unwrap();
    }
    memory
}

fn rule() -> Rule {
    Rule { squash: Squash::NONE, ..Rule::default() }
}

/// Only for clients whose address begins with this number.
fn only(first: u8) -> Rule {
    let network = Network { address: IpAddr::from([first, 0, 0, 0]), prefix_bits: 8 };
    Rule { clients: Clients::Networks(vec![network]), ..rule() }
}

fn export(id: u32, path: &str, directories: &[&str], rule: Rule) -> Export<Memory> {
    Export::new(ExportId(id), ExportPath::new(path.as_bytes()).unwrap(), memory(directories), rule)
}

fn joined(list: Vec<Export<Memory>>) -> Result<ExportSet<BackEnd<Memory>>, InvalidExports> {
    pollster::block_on(ExportSet::joined(list, Timestamp { seconds: 5, nanoseconds: 0 }))
}

fn server(list: Vec<Export<Memory>>) -> (Arc<TestServer>, Arc<Exports<BackEnd<Memory>>>) {
    let exports = Arc::new(Exports::from(joined(list).unwrap()));
    let state = State::new(Limits::default(), 77);
    let server = TestServer::serving(Arc::clone(&exports), test_options(), None, state);
    (Arc::new(server), exports)
}

/// A client with an address that begins with this number.
fn from(server: &Arc<TestServer>, first: u8) -> Peer {
    let mut peer = Peer::new(server, u64::from(first));
    peer.from = SocketAddr::from(([first, 0, 0, 1], 900));
    peer
}

fn lookups<'a>(path: &'a str) -> impl Iterator<Item = LookupArgs> + 'a {
    let names = path.split('/').filter(|name| !name.is_empty());
    names.map(|name| LookupArgs { name: Bytes::copy_from_slice(name.as_bytes()) })
}

/// Walks from the root; the attributes of what is there.
fn walk(peer: &mut Peer, path: &str) -> Result<AttributeValues, Status> {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &());
            for lookup in lookups(path) {
                c.push(Operation::Lookup, &lookup);
            }
            c.push(Operation::GetAttr, &GetAttrArgs { wanted: WANTED });
        })
        .sequenced();
    if results.status != Status::Ok {
        return Err(results.status);
    }
    results.ok(Operation::PutRootFh);
    for _ in lookups(path) {
        results.ok(Operation::Lookup);
    }
    Ok(AttributeValues::decode(results.ok(Operation::GetAttr)).unwrap())
}

fn handle(peer: &mut Peer, path: &str) -> FileHandle {
    walk(peer, path).unwrap().file_handle.unwrap()
}

/// The names in a directory, with the attributes of each.
fn list(peer: &mut Peer, path: &str) -> Vec<(String, AttributeValues)> {
    let directory = handle(peer, path);
    let arguments = ReadDirArgs {
        cookie: 0,
        verifier: Verifier([0; 8]),
        directory_count: 4096,
        count_max: 8192,
        wanted: WANTED,
    };
    let mut results = peer.on(&directory, Operation::ReadDir, &arguments);
    let from = results.ok(Operation::ReadDir);
    let _: Verifier = from.get().unwrap();
    let mut entries = Vec::new();
    while from.bool().unwrap() {
        from.u64().unwrap();
        let name = String::from_utf8(from.opaque(255).unwrap().to_vec()).unwrap();
        entries.push((name, AttributeValues::decode(from).unwrap()));
    }
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    entries
}

fn names(peer: &mut Peer, path: &str) -> Vec<String> {
    list(peer, path).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_tree_leads_to_exports_where_there_is_no_root_export() {
    let (server, _) = server(vec![export(1, "/a/b", &["x"], rule()), export(2, "/c", &["y"], rule())]);
    let mut peer = Peer::new(&server, 1);
    assert_eq!(names(&mut peer, "/"), ["a", "c"]);
    assert_eq!(names(&mut peer, "/a"), ["b"]);
    assert_eq!(names(&mut peer, "/a/b"), ["x"]);
    assert_eq!(names(&mut peer, "/c"), ["y"]);
    assert_eq!(walk(&mut peer, "/d"), Err(Status::NoEntry));
    let (root, a) = (walk(&mut peer, "/").unwrap(), walk(&mut peer, "/a").unwrap());
    assert_eq!((root.fs_id(), a.fs_id()), (FsId { major: 0, minor: 0 }, FsId { major: 0, minor: 0 }));
    assert_eq!(a.mounted_on_fileid, a.fileid);
}

trait Ids {
    fn fs_id(&self) -> FsId;
}

impl Ids for AttributeValues {
    fn fs_id(&self) -> FsId {
        self.fsid.unwrap()
    }
}

#[test]
fn crossing_changes_the_file_system_and_says_what_is_covered() {
    let (server, _) = server(vec![export(1, "/", &["data"], rule()), export(2, "/data", &["x"], rule())]);
    let mut peer = Peer::new(&server, 1);
    let (root, data) = (walk(&mut peer, "/").unwrap(), walk(&mut peer, "/data").unwrap());
    assert_ne!(root.fs_id(), data.fs_id());
    assert_ne!(data.mounted_on_fileid, data.fileid);
    let listed = list(&mut peer, "/");
    assert_eq!(listed, [("data".to_owned(), data.clone())], "READDIR and GETATTR say the same");
    assert_eq!(names(&mut peer, "/data"), ["x"]);
    let x = walk(&mut peer, "/data/x").unwrap();
    assert_eq!(x.mounted_on_fileid, x.fileid);
    let covering = list(&mut peer, "/");
    assert_eq!(covering[0].1.file_handle, data.file_handle);
}

#[test]
fn lookupp_leads_back_over_the_root_of_an_export() {
    let (server, _) = server(vec![
        export(1, "/a/b", &["x"], rule()),
        export(2, "/c", &["d"], rule()),
        export(3, "/c/d", &[], rule()),
    ]);
    let mut peer = Peer::new(&server, 1);
    for (path, above) in [("/a/b/x", "/a/b"), ("/a/b", "/a"), ("/a", "/"), ("/c/d", "/c"), ("/c", "/")] {
        let (object, above) = (handle(&mut peer, path), handle(&mut peer, above));
        let mut results = peer
            .compound(|c| {
                c.push(Operation::PutFh, &PutFhArgs { object: object.clone() })
                    .push(Operation::LookupParent, &())
                    .push(Operation::GetFh, &());
            })
            .sequenced();
        results.ok(Operation::PutFh);
        results.ok(Operation::LookupParent);
        assert_eq!(results.body::<GetFhResult>(Operation::GetFh).object, above, "{path}");
    }
    let root = handle(&mut peer, "/");
    assert_eq!(peer.on(&root, Operation::LookupParent, &()).status, Status::NoEntry);
}

#[test]
fn a_client_sees_only_what_leads_to_what_it_may_use() {
    let (server, _) = server(vec![
        export(1, "/a/b", &[], only(10)),
        export(2, "/a/c", &[], only(11)),
        export(3, "/d", &["e"], only(10)),
        export(4, "/d/e", &[], only(11)),
    ]);
    let (mut ten, mut eleven, mut other) = (from(&server, 10), from(&server, 11), from(&server, 12));
    assert_eq!(
        (names(&mut ten, "/"), names(&mut ten, "/a")),
        (vec!["a".into(), "d".into()], vec!["b".into()])
    );
    assert_eq!(names(&mut eleven, "/a"), ["c"]);
    assert_eq!(names(&mut other, "/"), [""; 0]);
    for path in ["/a", "/a/b", "/d"] {
        assert_eq!(walk(&mut other, path), Err(Status::NoEntry), "{path}");
    }
    assert_eq!(walk(&mut ten, "/a/c"), Err(Status::NoEntry));
    assert_eq!(names(&mut ten, "/d"), [""; 0], "the directory that another export covers is not there");
    assert_eq!(names(&mut eleven, "/d"), ["e"], "there is a way past an export that is for others");
    let secret = handle(&mut eleven, "/a/c");
    assert_eq!(ten.on_status(&secret), Status::Stale);
}

impl Peer {
    /// What PUTFH says.
    fn on_status(&mut self, object: &FileHandle) -> Status {
        self.compound(|c| {
            c.push(Operation::PutFh, &PutFhArgs { object: object.clone() });
        })
        .status
    }
}

#[test]
fn client_without_the_root_export_reaches_the_others() {
    let (server, _) = server(vec![export(1, "/", &["c"], only(10)), export(2, "/c", &["x"], rule())]);
    assert_eq!(names(&mut from(&server, 10), "/"), ["c"]);
    let mut other = from(&server, 11);
    assert_eq!(names(&mut other, "/"), ["c"]);
    assert_eq!(names(&mut other, "/c"), ["x"]);
    assert_eq!(walk(&mut other, "/").unwrap().fs_id(), FsId { major: 0, minor: 0 });
}

#[test]
fn covered_directory_cannot_be_moved_or_removed() {
    let (server, _) = server(vec![export(1, "/", &["c", "z"], rule()), export(2, "/c", &[], rule())]);
    let mut peer = Peer::new(&server, 1);
    let root = handle(&mut peer, "/");
    let remove = RemoveArgs { target: Bytes::from_static(b"c") };
    assert_eq!(peer.on(&root, Operation::Remove, &remove).status, Status::AccessDenied);
    for (old, new) in [("c", "y"), ("z", "c")] {
        let arguments = RenameArgs { old_name: old.into(), new_name: new.into() };
        let results = peer.compound(|c| {
            c.push(Operation::PutRootFh, &())
                .push(Operation::SaveFh, &())
                .push(Operation::Rename, &arguments);
        });
        assert_eq!(results.status, Status::AccessDenied, "{old} to {new}");
    }
    assert_eq!(names(&mut peer, "/"), ["c", "z"]);
}

#[test]
fn nothing_on_the_way_can_be_changed() {
    let (server, _) = server(vec![export(1, "/a/b", &[], rule())]);
    let mut peer = Peer::new(&server, 1);
    let root = handle(&mut peer, "/");
    let create = CreateArgs { kind: CreateType::Directory, name: Bytes::from_static(b"new") };
    let made = peer.on(&root, Operation::Create, &(create, AttributeValues::default()));
    assert_eq!(made.status, Status::ReadOnly);
    let remove = RemoveArgs { target: Bytes::from_static(b"new") };
    assert_eq!(peer.on(&root, Operation::Remove, &remove).status, Status::NoEntry);
    let access = peer.on(&root, Operation::Access, &AccessArgs { access: 0x3f });
    assert_eq!({ access }.body::<AccessResult>(Operation::Access).access, 0x03);
}

#[test]
fn handles_of_the_way_stay_the_same_when_the_exports_change() {
    let first = || export(1, "/a/b", &[], rule());
    let (server, exports) = server(vec![first()]);
    let mut peer = Peer::new(&server, 1);
    let (root, a) = (handle(&mut peer, "/"), handle(&mut peer, "/a"));
    let b = handle(&mut peer, "/a/b");
    exports.replace(joined(vec![export(2, "/a/c", &[], rule())]).unwrap().with_former(true));
    assert_eq!((handle(&mut peer, "/"), handle(&mut peer, "/a")), (root, a));
    assert_eq!(names(&mut peer, "/a"), ["c"]);
    assert_eq!(peer.on_status(&b), Status::Stale);
}

#[test]
fn a_flavor_that_is_wrong_below_is_told_at_the_crossing_and_by_secinfo() {
    let strict = Rule { flavors: vec![Flavor::Sys], ..rule() };
    let (server, _) = server(vec![export(1, "/", &["c"], rule()), export(2, "/c", &["x"], strict)]);
    let mut peer = Peer::new(&server, 1);
    let (c, x) = (handle(&mut peer, "/c"), handle(&mut peer, "/c/x"));
    peer.anonymous = true;
    assert_eq!(walk(&mut peer, "/c"), Err(Status::WrongSecurity));
    let listed = list(&mut peer, "/");
    assert_eq!(listed[0].1.rdattr_error, Some(Status::WrongSecurity));
    let root = handle(&mut peer, "/");
    let mut told = peer.on(&root, Operation::SecInfo, &SecInfoArgs { name: "c".into() });
    let flavors: SecInfoResult = told.body(Operation::SecInfo);
    assert_eq!(flavors.flavors, [SecurityFlavor::Plain(1)]);
    let style = SecInfoStyle::CurrentHandle;
    let mut told = peer.on(&c, Operation::SecInfoNoName, &SecInfoNoNameArgs { style });
    assert_eq!(told.body::<SecInfoResult>(Operation::SecInfoNoName).flavors, [SecurityFlavor::Plain(1)]);
    // RFC 8881 §2.6.3.1.1: PUTFH says it, unless what follows leads elsewhere.
    assert_eq!(peer.on_status(&c), Status::Ok, "and nothing follows");
    let after = |peer: &mut Peer, object: &FileHandle, operation: Operation, arguments: &[u8]| {
        let results = peer.compound(|c| {
            c.push(Operation::PutFh, &PutFhArgs { object: object.clone() }).push(operation, &Raw(arguments));
        });
        let mut results = results.sequenced();
        let first = results.next();
        (first.1, results.status)
    };
    let wrong = Status::WrongSecurity;
    let wanted = xdr::to_bytes(&GetAttrArgs { wanted: WANTED });
    assert_eq!(after(&mut peer, &c, Operation::GetAttr, &wanted), (wrong, wrong));
    assert_eq!(after(&mut peer, &c, Operation::GetFh, &[]), (wrong, wrong));
    assert_eq!(after(&mut peer, &c, Operation::LookupParent, &[]), (Status::Ok, Status::Ok));
    assert_eq!(after(&mut peer, &x, Operation::LookupParent, &[]), (Status::Ok, wrong));
    let name = xdr::to_bytes(&LookupArgs { name: "x".into() });
    assert_eq!(after(&mut peer, &c, Operation::Lookup, &name), (Status::Ok, wrong));
    assert_eq!(after(&mut peer, &c, Operation::PutRootFh, &[]), (Status::Ok, Status::Ok));
}

/// Bytes that are encoded already.
struct Raw<'a>(&'a [u8]);

impl xdr::Encode for Raw<'_> {
    fn encode(&self, to: &mut xdr::Encoder) {
        to.buffer_mut().extend_from_slice(self.0);
    }
}

#[test]
fn an_export_needs_a_place_in_the_one_that_its_path_leads_through() {
    let error = joined(vec![export(1, "/", &["a"], rule()), export(2, "/b", &[], rule())]).unwrap_err();
    assert!(error.to_string().contains("/b"), "{error}");
    assert!(joined(vec![export(1, "/x", &[], rule()), export(2, "/x/y", &[], rule())]).is_err());
}
