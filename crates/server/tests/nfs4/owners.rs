//! Owners and groups as names of a domain and as numbers (RFC 8881 §5.9).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap, Principal};
use proto::nfs4::*;
use server::nfs4::{NameService, Nfs4Options, OwnerNames, PrincipalKind, Unavailable};
use server::runtime::BoxFuture;
use vfs::memory::{Memory, MemoryOptions};

use crate::peer::{Peer, Setup, TestServer, test_options};

/// Knows a few users and groups, and counts what it is asked.
#[derive(Default)]
struct Few {
    asked: AtomicUsize,
    down: AtomicBool,
}

const USERS: &[(u32, &str)] = &[(0, "root"), (1000, "ann"), (1001, "b@d")];
const GROUPS: &[(u32, &str)] = &[(0, "wheel"), (1000, "staff")];

impl Few {
    fn answer<T>(&self, found: Option<T>) -> Result<Option<T>, Unavailable> {
        self.asked.fetch_add(1, Relaxed);
        if self.down.load(Relaxed) { Err(Unavailable) } else { Ok(found) }
    }

    fn table(kind: PrincipalKind) -> &'static [(u32, &'static str)] {
        match kind {
            PrincipalKind::User => USERS,
            PrincipalKind::Group => GROUPS,
        }
    }
}

impl NameService for Few {
    fn name_of(&self, kind: PrincipalKind, id: u32) -> BoxFuture<Result<Option<Bytes>, Unavailable>> {
        let found = Self::table(kind).iter().find(|(known, _)| *known == id);
        let answer = self.answer(found.map(|(_, name)| Bytes::from_static(name.as_bytes())));
        Box::pin(std::future::ready(answer))
    }

    fn id_of(&self, kind: PrincipalKind, name: Bytes) -> BoxFuture<Result<Option<u32>, Unavailable>> {
        let found = Self::table(kind).iter().find(|(_, known)| known.as_bytes() == name);
        let answer = self.answer(found.map(|(id, _)| *id));
        Box::pin(std::future::ready(answer))
    }
}

fn set_up() -> (Arc<Few>, Peer, FileHandle) {
    let few = Arc::new(Few::default());
    let memory = Memory::new(MemoryOptions::default()).unwrap();
    let owner_names = OwnerNames::Domain("Example.org".into());
    let options = Nfs4Options { owner_names, ..test_options() };
    let names = Some(Arc::clone(&few) as Arc<dyn NameService>);
    let server = Arc::new(TestServer::over(memory, Setup { options, names, ..Setup::default() }));
    let mut peer = Peer::new(&server, 1);
    let (file, _) = peer.create("f");
    (few, peer, file)
}

fn principal(text: &str) -> Principal {
    xdr::from_bytes(xdr::to_bytes(&Bytes::copy_from_slice(text.as_bytes()))).unwrap()
}

fn values(owner: Option<&str>, group: Option<&str>) -> AttributeValues {
    let (owner, owner_group) = (owner.map(principal), group.map(principal));
    AttributeValues { owner, owner_group, ..AttributeValues::default() }
}

fn set(peer: &mut Peer, file: &FileHandle, values: AttributeValues) -> Status {
    peer.on(file, Operation::SetAttr, &(SetAttrArgs { state_id: StateId::ANONYMOUS }, values)).status
}

fn get(peer: &mut Peer, file: &FileHandle) -> AttributeValues {
    let wanted = GetAttrArgs { wanted: Bitmap::of(&[AttributeId::Owner, AttributeId::OwnerGroup]) };
    peer.on(file, Operation::GetAttr, &wanted).body(Operation::GetAttr)
}

#[test]
fn names_and_numbers_are_taken_and_names_are_told() {
    let (_, mut peer, file) = set_up();
    assert_eq!(get(&mut peer, &file), values(Some("root@Example.org"), Some("wheel@Example.org")));
    for (given, told) in [
        ("ann@Example.org", "ann@Example.org"),
        ("1000", "ann@Example.org"),
        ("root@EXAMPLE.ORG", "root@Example.org"),
        ("b@d@example.org", "b@d@Example.org"),
        ("77", "77"),
    ] {
        assert_eq!(set(&mut peer, &file, values(Some(given), None)), Status::Ok, "{given}");
        assert_eq!(get(&mut peer, &file), values(Some(told), Some("wheel@Example.org")));
    }
    assert_eq!(set(&mut peer, &file, values(None, Some("staff@example.org"))), Status::Ok);
    assert_eq!(get(&mut peer, &file), values(Some("77"), Some("staff@Example.org")));
}

#[test]
fn unknown_owner_or_domain_is_badowner() {
    let (_, mut peer, file) = set_up();
    let long = format!("{}@example.org", "x".repeat(256));
    for wrong in
        ["nobody", "ann", "eve@example.org", "ann@example.com", "@example.org", "007", "", "\0@x", &long]
    {
        assert_eq!(set(&mut peer, &file, values(Some(wrong), None)), Status::BadOwner, "{wrong:?}");
        assert_eq!(set(&mut peer, &file, values(None, Some(wrong))), Status::BadOwner, "{wrong:?}");
    }
    assert_eq!(set(&mut peer, &file, values(None, Some("ann@example.org"))), Status::BadOwner, "no group");
    assert_eq!(get(&mut peer, &file), values(Some("root@Example.org"), Some("wheel@Example.org")));
}

#[test]
fn the_name_service_is_asked_once() {
    let (few, mut peer, file) = set_up();
    for _ in 0..10 {
        get(&mut peer, &file);
        assert_eq!(set(&mut peer, &file, values(Some("eve@example.org"), None)), Status::BadOwner);
        assert_eq!(set(&mut peer, &file, values(Some("root@example.org"), None)), Status::Ok);
    }
    assert_eq!(few.asked.load(Relaxed), 4, "two names, one number, and one that is not there");
}

#[test]
fn without_the_name_service_numbers_do_and_names_must_wait() {
    let (few, mut peer, file) = set_up();
    few.down.store(true, Relaxed);
    assert_eq!(get(&mut peer, &file), values(Some("0"), Some("0")));
    assert_eq!(set(&mut peer, &file, values(Some("1000"), None)), Status::Ok);
    assert_eq!(set(&mut peer, &file, values(Some("ann@example.org"), None)), Status::Delay);
    let asked = few.asked.load(Relaxed);
    assert_eq!(get(&mut peer, &file), values(Some("1000"), Some("0")));
    assert_eq!(set(&mut peer, &file, values(Some("ann@example.org"), None)), Status::Delay);
    assert_eq!(few.asked.load(Relaxed), asked + 1, "only for the name of the new owner");
    few.down.store(false, Relaxed);
    peer.server.world.advance(5000);
    assert_eq!(get(&mut peer, &file), values(Some("ann@Example.org"), Some("wheel@Example.org")));
    assert_eq!(set(&mut peer, &file, values(Some("ann@example.org"), None)), Status::Ok);
}

#[test]
fn every_spelling_of_an_owner_is_the_same_to_verify() {
    let (_, mut peer, file) = set_up();
    for (given, status) in [
        ("root@Example.org", Status::Ok),
        ("root@example.org", Status::Ok),
        ("0", Status::Ok),
        ("1000", Status::NotSame),
        ("ann@example.org", Status::NotSame),
        ("eve@example.org", Status::NotSame),
    ] {
        let results = peer.on(&file, Operation::Verify, &values(Some(given), None));
        assert_eq!(results.status, status, "{given}");
    }
}

#[test]
fn new_files_and_directories_take_names_too() {
    let (_, mut peer, _) = set_up();
    let directory = CreateArgs { kind: CreateType::Directory, name: "d".into() };
    let mut make = |values: AttributeValues| {
        peer.compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Create, &(directory.clone(), values));
        })
        .status
    };
    assert_eq!(make(values(Some("eve@example.org"), None)), Status::BadOwner);
    assert_eq!(make(values(Some("ann@example.org"), Some("staff@example.org"))), Status::Ok);
}
