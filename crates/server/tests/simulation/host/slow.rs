//! A file system that takes its time, before it does something and after: requests overtake each other
//! between any two steps.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use server::runtime::Runtime;
use vfs::memory::Memory;
use vfs::{
    Access, Attributes, Committed, CreateMode, Created, DirPage, FileSystem, Handle, Identity, Limits, Name,
    NodeKind, ObjectId, ReadDone, RemoveKind, Result, SetAttributes, Stability, StatFs, Written,
};

use super::world::World;
use crate::random::Random;

/// Where the time comes from: the server that runs now.
#[derive(Clone)]
pub struct Pace(Arc<Mutex<Inner>>);

struct Inner {
    world: Weak<World>,
    random: Random,
    /// Of a thousand steps so many wait.
    slow: u64,
}

impl Pace {
    pub fn new(mut random: Random) -> Self {
        let slow = [0, 0, 100, 400][random.below(4) as usize];
        Self(Arc::new(Mutex::new(Inner { world: Weak::new(), random, slow })))
    }

    pub fn set_world(&self, world: &Arc<World>) {
        self.0.lock().world = Arc::downgrade(world);
    }

    fn pause(&self) -> impl Future<Output = ()> + Send + use<> {
        let inner = &mut *self.0.lock();
        let waits = inner.random.chance(inner.slow);
        let sleeping = inner.world.upgrade().filter(|_| waits).map(|world| {
            let longest = if inner.random.chance(50) { 2000 } else { 30 };
            world.sleep(Duration::from_millis(inner.random.between(1, longest)))
        });
        async move {
            if let Some(sleeping) = sleeping {
                sleeping.await;
            }
        }
    }
}

pub struct Slow {
    memory: Memory,
    pace: Pace,
}

impl Slow {
    pub fn new(memory: Memory, pace: Pace) -> Self {
        Self { memory, pace }
    }
}

/// The methods that take time.
macro_rules! slowly {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(async fn $name(&self, $($argument: $type),*) -> Result<$result> {
            self.pace.pause().await;
            let outcome = self.memory.$name($($argument),*).await;
            self.pace.pause().await;
            outcome
        })*
    };
}

type Node = <Memory as FileSystem>::Node;

impl FileSystem for Slow {
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

    fn write_verifier(&self) -> [u8; 8] {
        self.memory.write_verifier()
    }

    fn limits(&self) -> Limits {
        self.memory.limits()
    }

    slowly! {
        fn resolve(handle: &[u8]) -> Node;
        fn attributes(node: &Node) -> Attributes;
        fn set_attributes(who: &Identity, node: &Node, set: &SetAttributes) -> Attributes;
        fn access(who: &Identity, node: &Node, wanted: Access) -> Access;
        fn lookup(who: &Identity, dir: &Node, name: Name<'_>) -> (Node, Attributes);
        fn lookup_parent(who: &Identity, dir: &Node) -> Node;
        fn read_link(who: &Identity, node: &Node) -> Bytes;
        fn read(who: &Identity, node: &Node, offset: u64, count: usize, out: &mut Vec<u8>) -> ReadDone;
        fn write(who: &Identity, node: &Node, offset: u64, data: Bytes, stability: Stability) -> Written;
        fn commit(who: &Identity, node: &Node, offset: u64, count: u64) -> Committed;
        fn create(who: &Identity, dir: &Node, name: Name<'_>, mode: &CreateMode) -> Created<Node>;
        fn make_dir(who: &Identity, dir: &Node, name: Name<'_>, set: &SetAttributes) -> (Node, Attributes);
        fn make_symlink(
            who: &Identity, dir: &Node, name: Name<'_>, target: &[u8], set: &SetAttributes
        ) -> (Node, Attributes);
        fn make_node(
            who: &Identity, dir: &Node, name: Name<'_>, kind: NodeKind, set: &SetAttributes
        ) -> (Node, Attributes);
        fn link(who: &Identity, node: &Node, dir: &Node, name: Name<'_>) -> ();
        fn remove(who: &Identity, dir: &Node, name: Name<'_>, kind: RemoveKind) -> ();
        fn rename(who: &Identity, from_dir: &Node, from: Name<'_>, to_dir: &Node, to: Name<'_>) -> ();
        fn read_dir(
            who: &Identity, dir: &Node, cookie: u64, entries_max: usize, objects: bool
        ) -> DirPage<Node>;
        fn stat_fs(node: &Node) -> StatFs;
    }
}
