//! Many operations in few round trips.

mod engine;
mod single;

use std::sync::Arc;

use bytes::Bytes;

pub(crate) use engine::Engine;

use crate::attributes::SetAttributes;
use crate::error::{Error, Result};
use crate::items::{Existing, Ground, Item, Names, Output};
use crate::node::Node;
use crate::shared::Shared;

/// What a file is believed to have at most until it proves to have more, in bytes.
const READ_BYTES: u64 = 32 << 10;

/// Operations on many objects, to be carried out in as few round trips as the protocol allows: over NFSv4.1
/// many go in one COMPOUND, and many COMPOUNDs are under way at once; over NFSv3 each is a request of its
/// own, many at once.
///
/// Each method adds one item and returns its place among the results. Paths are relative to the root of the
/// client and have no `..`; symbolic links on the way are followed, one at the end only by reads and writes
/// of data.
///
/// **Order.** Items that touch the same names are carried out in the order in which they were added: a
/// directory is made before what is in it, a file is written before it is renamed or read, a list shows what
/// was made before. Others may be carried out at the same time, in any order. Different names of one object
/// (hard links, symbolic links on the way) are not seen to be the same.
///
/// **Results.** Every item has its own. One that fails does not keep others from being tried, those that need
/// it included, unless [`Batch::stop_on_error`] says so. [`Error::UncertainOutcome`] is told for each item
/// whose request may or may not have been carried out.
///
/// **Durability.** What was written is on the server's stable storage when the batch returns.
///
/// ```no_run
/// # async fn example(client: client::Client) -> client::Result<()> {
/// let mut batch = client::Batch::new();
/// batch.create_dir("/results", 0o755);
/// for run in 0..100 {
///     batch.write(format!("/results/{run}"), "data", client::Existing::Refuse, 0o644);
/// }
/// for result in client.run(batch).await {
///     result?;
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct Batch {
    items: Vec<Result<Item>>,
    stop_on_error: bool,
}

impl Batch {
    /// Nothing to be done yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// After the first item that fails nothing more is sent: what was not has the result [`Error::Skipped`].
    /// What is under way at that moment still is carried out and has its own result.
    #[must_use]
    pub fn stop_on_error(mut self) -> Self {
        self.stop_on_error = true;
        self
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True without any item.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Reads a whole file, of at most 1 GiB: [`Output::Data`].
    pub fn read(&mut self, path: impl AsRef<[u8]>) -> usize {
        self.read_range(path, 0, u64::MAX)
    }

    /// Reads up to `length` bytes at `offset`, fewer only at the end of the file: [`Output::Data`].
    pub fn read_range(&mut self, path: impl AsRef<[u8]>, offset: u64, length: u64) -> usize {
        let expected = length.min(READ_BYTES);
        self.add(path, |at| Item::Read { at, offset, length, expected })
    }

    /// Writes a whole file. `mode` holds the permission bits of a file that is made.
    pub fn write(
        &mut self,
        path: impl AsRef<[u8]>,
        data: impl Into<Bytes>,
        existing: Existing,
        mode: u32,
    ) -> usize {
        self.write_with(path, data, existing, mode, SetAttributes::default())
    }

    /// As [`Batch::write`]; then sets attributes, e.g. times.
    pub fn write_with(
        &mut self,
        path: impl AsRef<[u8]>,
        data: impl Into<Bytes>,
        existing: Existing,
        mode: u32,
        set: SetAttributes,
    ) -> usize {
        let data = data.into();
        self.add(path, |at| Item::Write { at, data, existing, mode, set })
    }

    /// Writes at `offset` of a file that exists.
    pub fn write_range(&mut self, path: impl AsRef<[u8]>, offset: u64, data: impl Into<Bytes>) -> usize {
        let data = data.into();
        self.add(path, |at| Item::WriteRange { at, offset, data })
    }

    /// Asks for the attributes of an object; of a symbolic link, its own: [`Output::Attributes`].
    pub fn symlink_metadata(&mut self, path: impl AsRef<[u8]>) -> usize {
        self.add(path, |at| Item::Attributes { at })
    }

    /// Sets attributes of an object; of a symbolic link, its own.
    pub fn set_metadata(&mut self, path: impl AsRef<[u8]>, set: SetAttributes) -> usize {
        self.add(path, |at| Item::SetAttributes { at, set })
    }

    /// Makes a directory.
    pub fn create_dir(&mut self, path: impl AsRef<[u8]>, mode: u32) -> usize {
        self.add(path, |at| Item::MakeDirectory { at, mode })
    }

    /// Makes a symbolic link to `target`.
    pub fn symlink(&mut self, target: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> usize {
        let target = Bytes::copy_from_slice(target.as_ref());
        self.add(path, |at| Item::Symlink { at, target, existing: Existing::Refuse })
    }

    /// The target of a symbolic link: [`Output::Data`].
    pub fn read_link(&mut self, path: impl AsRef<[u8]>) -> usize {
        self.add(path, |at| Item::ReadLink { at })
    }

    /// Removes a name. NFSv4.1 has one operation for all of them, which removes an empty directory, too.
    pub fn remove_file(&mut self, path: impl AsRef<[u8]>) -> usize {
        self.add(path, |at| Item::Remove { at, directory: false })
    }

    /// Removes an empty directory.
    pub fn remove_dir(&mut self, path: impl AsRef<[u8]>) -> usize {
        self.add(path, |at| Item::Remove { at, directory: true })
    }

    /// Gives an object another name; what had that name before is gone.
    pub fn rename(&mut self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> usize {
        let from = Names::parse(from.as_ref());
        self.add(to, |to| Ok(Item::Rename { from: from?, to }))
    }

    /// Gives a file one more name.
    pub fn hard_link(&mut self, existing: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> usize {
        let source = Names::parse(existing.as_ref());
        self.add(path, |at| Ok(Item::Link { source: source?, at, existing: Existing::Refuse }))
    }

    /// All entries of a directory but `.` and `..`, with attributes: [`Output::Entries`].
    pub fn read_dir(&mut self, path: impl AsRef<[u8]>) -> usize {
        self.add(path, |at| Item::List { at })
    }

    /// Copies the data of a file to another.
    pub fn copy(
        &mut self,
        from: impl AsRef<[u8]>,
        to: impl AsRef<[u8]>,
        existing: Existing,
        mode: u32,
    ) -> usize {
        let from = Names::parse(from.as_ref());
        self.add(to, |to| Ok(Item::Copy { from: from?, to, existing, mode, set: SetAttributes::default() }))
    }

    fn add<T: IntoItem>(&mut self, path: impl AsRef<[u8]>, make: impl FnOnce(Names) -> T) -> usize {
        self.items.push(Names::parse(path.as_ref()).and_then(|names| make(names).into_item()));
        self.items.len() - 1
    }
}

/// What a method of [`Batch`] may make of a path.
trait IntoItem {
    fn into_item(self) -> Result<Item>;
}

impl IntoItem for Item {
    fn into_item(self) -> Result<Item> {
        Ok(self)
    }
}

impl IntoItem for Result<Item> {
    fn into_item(self) -> Result<Item> {
        self
    }
}

impl Shared {
    /// Carries a batch out. The results are in the order of the items.
    pub(crate) async fn run_batch(self: &Arc<Self>, start: &Arc<Node>, batch: Batch) -> Vec<Result<Output>> {
        let ground = Arc::new(Ground::new(Arc::clone(self), Arc::clone(start), true));
        let mut engine = Engine::new(ground, batch.stop_on_error);
        let mut results: Vec<Result<Output>> = batch.items.iter().map(|_| Err(Error::Skipped)).collect();
        let mut places = Vec::new();
        let mut stopped = false;
        for (place, item) in batch.items.into_iter().enumerate() {
            match item {
                Ok(_) if stopped => break,
                Ok(item) => {
                    // Numbers of items count up from 0.
                    engine.push(item);
                    places.push(place);
                }
                Err(error) => {
                    results[place] = Err(error);
                    stopped |= batch.stop_on_error;
                }
            }
            while !engine.has_room() {
                take(&mut engine, &places, &mut results).await;
            }
        }
        while !engine.is_idle() {
            take(&mut engine, &places, &mut results).await;
        }
        results
    }
}

async fn take(engine: &mut Engine, places: &[usize], results: &mut [Result<Output>]) {
    if let Some((id, result)) = engine.next().await {
        results[places[id as usize]] = result;
    }
}
