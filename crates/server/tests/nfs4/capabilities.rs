//! Protocols advertise the capabilities of a back end, and refuse the rest before it is reached.

use std::sync::Arc;

use proto::nfs3;
use proto::nfs4::attributes::{AttributeId, AttributeValues};
use proto::nfs4::*;
use vfs::memory::{Memory, MemoryOptions};
use vfs::{Capabilities, FileSystem, Layer, Result, Support};

use crate::peer::{Peer, Setup, TestServer, open};

/// A file system in memory without the optional operations: none of them may reach it.
struct Bare(Memory);

impl Layer for Bare {
    type Inner = Memory;

    fn inner(&self) -> &Memory {
        &self.0
    }

    async fn around<T: Send>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let is_absent =
            ["link", "make_symlink", "make_node", "allocate", "deallocate", "clone_range"].contains(&name);
        assert!(!is_absent && !name.ends_with("_xattr"), "`{name}` reaches the back end");
        call.await
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            changes: true,
            holes: Support::Present,
            persistent_handles: false,
            unique_handles: false,
            case_sensitive: false,
            case_preserving: false,
            ..Capabilities::default()
        }
    }
}

fn memory() -> Memory {
    Memory::new(MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() }).unwrap()
}

/// A client of the file system, and the handle of the root.
fn peer_of(file_system: impl FileSystem) -> (Peer, FileHandle) {
    let setup = Setup { minor_version: 2, ..Setup::default() };
    let mut peer = Peer::new(&Arc::new(TestServer::over(file_system, setup)), 1);
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let root = results.body::<GetFhResult>(Operation::GetFh).object;
    (peer, root)
}

fn of_nfs3(handle: &FileHandle) -> nfs3::FileHandle {
    nfs3::FileHandle::new(&handle.0).unwrap()
}

#[test]
fn nfs4_attributes_are_the_capabilities() {
    let wanted = [
        AttributeId::LinkSupport,
        AttributeId::SymlinkSupport,
        AttributeId::FhExpireType,
        AttributeId::UniqueHandles,
        AttributeId::CaseInsensitive,
        AttributeId::CasePreserving,
        AttributeId::XattrSupport,
        AttributeId::SupportedAttrs,
    ];
    for is_bare in [false, true] {
        let (mut peer, root) = if is_bare { peer_of(Bare(memory())) } else { peer_of(memory()) };
        let values = peer.attributes(&root, &wanted);
        assert_eq!(values.link_support, Some(!is_bare));
        assert_eq!(values.symlink_support, Some(!is_bare));
        assert_eq!(values.fh_expire_type, Some(if is_bare { 2 } else { 0 }));
        assert_eq!(values.unique_handles, Some(!is_bare));
        assert_eq!(values.case_insensitive, Some(is_bare));
        assert_eq!(values.case_preserving, Some(!is_bare));
        assert_eq!(values.xattr_support, Some(!is_bare));
        let supported = values.supported_attrs.unwrap();
        for id in [AttributeId::TimeCreate, AttributeId::CloneBlksize] {
            assert_eq!(supported.contains(id), !is_bare, "{id:?}");
        }
    }
}

#[test]
fn nfs3_properties_are_the_capabilities() {
    const LINKS: u32 = nfs3::FSINFO_LINK | nfs3::FSINFO_SYMLINK;
    for is_bare in [false, true] {
        let (peer, root) = if is_bare { peer_of(Bare(memory())) } else { peer_of(memory()) };
        let info = peer.nfs3(&nfs3::FsInfoArgs { root: of_nfs3(&root) });
        assert_eq!(info.properties & LINKS, if is_bare { 0 } else { LINKS });
        let conf = peer.nfs3(&nfs3::PathConfArgs { object: of_nfs3(&root) });
        assert_eq!((conf.case_insensitive, conf.case_preserving), (is_bare, !is_bare));
    }
}

#[test]
fn nfs4_refuses_absent_operations_before_the_back_end() {
    let (mut peer, root) = peer_of(Bare(memory()));
    let (file, state_id) = peer.create("file");
    let link = LinkArgs { new_name: "link".into() };
    assert_eq!(peer.between((&file, &root), Operation::Link, &link).status, Status::NotSupported);
    for kind in [CreateType::Symlink("target".into()), CreateType::Fifo, CreateType::Socket] {
        let arguments = (CreateArgs { kind, name: "node".into() }, AttributeValues::default());
        assert_eq!(peer.on(&root, Operation::Create, &arguments).status, Status::BadType);
    }
    let range = AllocateArgs { state_id, offset: 0, length: 10 };
    for operation in [Operation::Allocate, Operation::Deallocate] {
        assert_eq!(peer.on(&file, operation, &range).status, Status::NotSupported);
    }
    let clone = CloneArgs {
        source_state_id: state_id,
        target_state_id: state_id,
        source_offset: 0,
        target_offset: 0,
        count: 0,
    };
    assert_eq!(peer.between((&file, &file), Operation::Clone, &clone).status, Status::NotSupported);
    let how = CreateHow::Exclusive41(Verifier([1; 8]), AttributeValues::default());
    let exclusive = open("other", share::BOTH, Some(how));
    // RFC 8881 §15.2 does not list NOTSUPP for OPEN.
    assert_eq!(peer.on(&root, Operation::Open, &exclusive).status, Status::Invalid);
}

#[test]
fn nfs3_refuses_absent_operations_before_the_back_end() {
    let (mut peer, root) = peer_of(Bare(memory()));
    let (file, root) = (of_nfs3(&peer.create("file").0), of_nfs3(&root));
    let place = || nfs3::DirOpArgs { dir: root, name: "new".into() };
    let set = nfs3::SetAttributes::default();
    let refused = Some(nfs3::Status::NotSupported);
    assert_eq!(peer.try_nfs3(&nfs3::LinkArgs { file, link: place() }).err(), refused);
    let symlink = nfs3::SymlinkArgs { place: place(), attributes: set, target: "target".into() };
    assert_eq!(peer.try_nfs3(&symlink).err(), refused);
    let node = nfs3::MkNodArgs { place: place(), what: nfs3::MkNodData::Fifo(set) };
    assert_eq!(peer.try_nfs3(&node).err(), refused);
    let how = nfs3::CreateHow::Exclusive(nfs3::CreateVerifier([1; 8]));
    assert_eq!(peer.try_nfs3(&nfs3::CreateArgs { place: place(), how }).err(), refused);
}
