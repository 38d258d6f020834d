//! A file system in memory, over a disk that loses what it was given.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use bytes::Bytes;
use parking_lot::Mutex;
use vfs::memory::{Memory, MemoryOptions};
use vfs::{
    Committed, CreateMode, Created, Error, FileSystem, Layer, Name, Request, Result, Settling, Stability,
    Written,
};

/// Every write is followed by the failure of somebody's fsync, which loses it.
pub struct Losing {
    memory: Memory,
    verifier: AtomicU64,
    /// How the disk takes new files.
    disk: Option<Arc<Disk>>,
}

/// A disk that puts new files on it when it is told to. Whoever waits for it must look again by itself.
#[derive(Default)]
pub struct Disk(Mutex<Vec<Option<bool>>>);

impl Disk {
    /// The new file with this number, counted from 0, is on the disk, or lost.
    pub fn end(&self, number: usize, is_good: bool) {
        self.0.lock()[number] = Some(is_good);
    }

    /// New files so far.
    pub fn count(&self) -> usize {
        self.0.lock().len()
    }

    fn begin(self: Arc<Self>) -> Settling {
        let number = self.count();
        self.0.lock().push(None);
        Settling::when(poll_fn(move |_| match self.0.lock()[number] {
            None => Poll::Pending,
            Some(true) => Poll::Ready(Ok(())),
            Some(false) => Poll::Ready(Err(Error::Io(std::io::Error::other("lost")))),
        }))
    }
}

impl Losing {
    pub fn new(disk: Option<Arc<Disk>>) -> Self {
        let options = MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() };
        Self { memory: Memory::new(options).unwrap(), verifier: AtomicU64::new(1), disk }
    }
}

type Node = <Memory as FileSystem>::Node;

impl Layer for Losing {
    type Inner = Memory;

    fn inner(&self) -> &Memory {
        &self.memory
    }

    async fn begin_create(
        &self,
        request: Request<'_>,
        dir: &Node,
        name: Name<'_>,
        mode: &CreateMode,
    ) -> Result<(Created<Node>, Settling)> {
        let made = self.memory.create(request, dir, name, mode).await?;
        Ok((made, self.disk.clone().map_or(Settling::DONE, Disk::begin)))
    }

    async fn write(
        &self,
        request: Request<'_>,
        node: &Node,
        offset: u64,
        data: Bytes,
        _: Stability,
    ) -> Result<Written> {
        let written = self.memory.write(request, node, offset, data, Stability::Unstable).await?;
        self.verifier.fetch_add(1, Ordering::Relaxed);
        Ok(Written { stability: Stability::Unstable, ..written })
    }

    async fn commit(&self, request: Request<'_>, node: &Node, offset: u64, count: u64) -> Result<Committed> {
        self.memory.commit(request, node, offset, count).await?;
        Ok(Committed { verifier: Layer::write_verifier(self) })
    }

    fn write_verifier(&self) -> [u8; 8] {
        self.verifier.load(Ordering::Relaxed).to_be_bytes()
    }
}
