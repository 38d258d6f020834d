//! Write verifiers (RFC 8881 §18.32.4): a loss of unstable data between a WRITE and its COMMIT must show.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use proto::nfs4::*;

use vfs::memory::{Memory, MemoryOptions};
use vfs::{
    Access, Attributes, Committed, CreateMode, Created, DirPage, FileSystem, Handle, Identity, Name,
    NodeKind, ObjectId, ReadDone, RemoveKind, Result, SetAttributes, Stability, StatFs, Written,
};

use crate::peer::{Peer, Setup, TestServer};

/// Every write is followed by the failure of somebody's fsync, which loses it.
struct Losing {
    memory: Memory,
    verifier: AtomicU64,
}

type Node = <Memory as FileSystem>::Node;

/// The same as memory does it.
macro_rules! as_memory {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        fn $name(&self, $($argument: $type),*) -> impl Future<Output = Result<$result>> + Send {
            self.memory.$name($($argument),*)
        }
    )*};
}

impl FileSystem for Losing {
    type Node = Node;

    fn root(&self) -> Node {
        self.memory.root()
    }

    fn handle(&self, node: &Node) -> Handle {
        self.memory.handle(node)
    }

    fn object_id(&self, node: &Node) -> ObjectId {
        self.memory.object_id(node)
    }

    fn limits(&self) -> vfs::Limits {
        self.memory.limits()
    }

    as_memory! {
        fn resolve(handle: &[u8]) -> Node;
        fn attributes(node: &Node) -> Attributes;
        fn set_attributes(who: &Identity, node: &Node, set: &SetAttributes) -> Attributes;
        fn access(who: &Identity, node: &Node, wanted: Access) -> Access;
        fn lookup(who: &Identity, dir: &Node, name: Name<'_>) -> (Node, Attributes);
        fn lookup_parent(who: &Identity, dir: &Node) -> Node;
        fn read_link(who: &Identity, node: &Node) -> Bytes;
        fn read(who: &Identity, node: &Node, offset: u64, count: usize, out: &mut Vec<u8>) -> ReadDone;
        fn create(who: &Identity, dir: &Node, name: Name<'_>, mode: &CreateMode) -> Created<Node>;
        fn make_dir(who: &Identity, dir: &Node, name: Name<'_>, set: &SetAttributes) -> (Node, Attributes);
        fn make_symlink(who: &Identity, dir: &Node, name: Name<'_>, target: &[u8], set: &SetAttributes)
            -> (Node, Attributes);
        fn make_node(who: &Identity, dir: &Node, name: Name<'_>, kind: NodeKind, set: &SetAttributes)
            -> (Node, Attributes);
        fn link(who: &Identity, node: &Node, dir: &Node, name: Name<'_>) -> ();
        fn remove(who: &Identity, dir: &Node, name: Name<'_>, kind: RemoveKind) -> ();
        fn rename(who: &Identity, from_dir: &Node, from: Name<'_>, to_dir: &Node, to: Name<'_>) -> ();
        fn read_dir(who: &Identity, dir: &Node, cookie: u64, entries_max: usize, objects: bool) -> DirPage<Node>;
        fn stat_fs(node: &Node) -> StatFs;
    }

    async fn write(
        &self,
        who: &Identity,
        node: &Node,
        offset: u64,
        data: Bytes,
        _: Stability,
    ) -> Result<Written> {
        let written = self.memory.write(who, node, offset, data, Stability::Unstable).await?;
        self.verifier.fetch_add(1, Ordering::Relaxed);
        Ok(Written { stability: Stability::Unstable, ..written })
    }

    async fn commit(&self, who: &Identity, node: &Node, offset: u64, count: u64) -> Result<Committed> {
        self.memory.commit(who, node, offset, count).await?;
        Ok(Committed { verifier: self.write_verifier() })
    }

    fn write_verifier(&self) -> [u8; 8] {
        self.verifier.load(Ordering::Relaxed).to_be_bytes()
    }
}

#[test]
fn what_is_lost_while_it_is_written_has_another_verifier_than_its_commit() {
    let memory = Memory::new(MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() }).unwrap();
    let losing = Losing { memory, verifier: AtomicU64::new(1) };
    let server = Arc::new(TestServer::over(losing, Setup::default()));
    let mut peer = Peer::new(&server, 1);
    let (file, state_id) = peer.create("file");
    let write = WriteArgs { state_id, offset: 0, stable: StableHow::Unstable, data: "data".into() };
    let written: WriteResult = peer.on(&file, Operation::Write, &write).body(Operation::Write);
    let commit = CommitArgs { offset: 0, count: 0 };
    let committed: CommitResult = peer.on(&file, Operation::Commit, &commit).body(Operation::Commit);
    assert_ne!(written.verifier, committed.verifier);
}
