//! Sends items as they become possible, many at a time within bounds, and hands their results out as they
//! come.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::error::{Error, Result};
use crate::items::{End, Entry, Ground, Item, ItemId, Order, Output};
use crate::nfs4::{self, Fit};

/// Items that are held at once: more are taken when some are done.
pub(super) const ITEMS_MAX: usize = 4096;
/// Data that are held at once, in bytes.
pub(super) const BYTES_MAX: usize = 32 << 20;
/// Calls that are under way at once, where each item is one.
const SINGLES_MAX: usize = 64;

/// Compounds that are under way at once.
const GROUPS_MAX: usize = 48;
/// While more than this is under way, a compound waits until it is full.
const PARTIAL_MAX: usize = 4;

type Sending = Pin<Box<dyn Future<Output = Vec<End>> + Send>>;

/// See the module.
pub(crate) struct Engine {
    ground: Arc<Ground>,
    stop_on_error: bool,
    stopped: bool,
    next_id: ItemId,
    order: Order,
    pending: BTreeMap<ItemId, Entry>,
    /// Who waits for an item.
    followers: HashMap<ItemId, Vec<ItemId>>,
    /// Bytes that each item holds.
    held: HashMap<ItemId, usize>,
    held_bytes: usize,
    under_way: FuturesUnordered<Sending>,
    finished: VecDeque<(ItemId, Result<Output>)>,
}

impl Engine {
    pub(crate) fn new(ground: Arc<Ground>, stop_on_error: bool) -> Self {
        Self {
            ground,
            stop_on_error,
            stopped: false,
            next_id: 0,
            order: Order::default(),
            pending: BTreeMap::new(),
            followers: HashMap::new(),
            held: HashMap::new(),
            held_bytes: 0,
            under_way: FuturesUnordered::new(),
            finished: VecDeque::new(),
        }
    }

    /// True while another item may be added without holding too much.
    pub(crate) fn has_room(&self) -> bool {
        self.held.len() < ITEMS_MAX && self.held_bytes < BYTES_MAX
    }

    /// True when nothing is left to be done or handed out.
    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.finished.is_empty()
    }

    /// Adds an item. Those that touch the same names are carried out in the order in which they were added.
    pub(crate) fn push(&mut self, item: Item) -> ItemId {
        let id = self.next_id;
        self.next_id += 1;
        if self.stopped {
            self.finished.push_back((id, Err(Error::Skipped)));
            return id;
        }
        let waits_for = self.order.add(id, item.touches());
        for before in &waits_for {
            self.followers.entry(*before).or_default().push(id);
        }
        let bytes = item.bytes();
        self.held.insert(id, bytes);
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        let since = Instant::now();
        self.pending.insert(id, Entry { id, item, alone: false, since, waits_for });
        id
    }

    /// The next item that is done, with its result; `None` when there is nothing left.
    pub(crate) async fn next(&mut self) -> Option<(ItemId, Result<Output>)> {
        loop {
            if let Some(done) = self.finished.pop_front() {
                return Some(done);
            }
            self.send();
            for end in self.under_way.next().await? {
                self.settle(end);
            }
        }
    }

    fn settle(&mut self, end: End) {
        match end {
            End::Done(id, result) => {
                if result.is_err() && self.stop_on_error {
                    self.stop();
                }
                self.finish(id, result);
            }
            End::Again(entry) if self.stopped => self.finish(entry.id, Err(Error::Skipped)),
            End::Again(mut entry) => {
                entry.waits_for.retain(|before| self.held.contains_key(before));
                self.pending.insert(entry.id, entry);
            }
        }
    }

    /// Sends nothing more: items that wait end with [`Error::Skipped`].
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        for (id, _) in std::mem::take(&mut self.pending) {
            self.finish(id, Err(Error::Skipped));
        }
    }

    fn finish(&mut self, id: ItemId, result: Result<Output>) {
        self.order.done(id);
        self.held_bytes -= self.held.remove(&id).unwrap_or(0).min(self.held_bytes);
        for follower in self.followers.remove(&id).unwrap_or_default() {
            if let Some(pending) = self.pending.get_mut(&follower) {
                pending.waits_for.retain(|before| *before != id);
            }
        }
        self.finished.push_back((id, result));
    }

    /// Sends what can be sent.
    fn send(&mut self) {
        let ground = Arc::clone(&self.ground);
        let mount = ground.shared.protocol().as_v4();
        if let Some(mount) = mount {
            while self.under_way.len() < GROUPS_MAX && self.send_group(mount) {}
        }
        let ready: Vec<ItemId> = self
            .pending
            .values()
            .filter(|entry| entry.waits_for.is_empty() && (entry.alone || mount.is_none()))
            .map(|entry| entry.id)
            .take(SINGLES_MAX.saturating_sub(self.under_way.len()))
            .collect();
        for entry in self.take(&ready) {
            self.under_way.push(Box::pin(single(Arc::clone(&self.ground), entry)));
        }
    }

    /// Sends a compound, of the items that came first. False when there is nothing to be sent now.
    fn send_group(&mut self, mount: &nfs4::Mount) -> bool {
        let mut group = mount.group();
        let mut chosen: Vec<ItemId> = Vec::new();
        let mut full = false;
        for (id, entry) in &mut self.pending {
            // Numbers go up, and so the list of those that were chosen is sorted.
            if entry.alone || !entry.waits_for.iter().all(|before| chosen.binary_search(before).is_ok()) {
                continue;
            }
            match group.offer(&self.ground, &entry.item) {
                Fit::Taken => chosen.push(*id),
                Fit::Alone => entry.alone = true,
                Fit::Later => {}
                Fit::Full => {
                    full = true;
                    break;
                }
            }
        }
        if chosen.is_empty() || !full && self.under_way.len() >= PARTIAL_MAX {
            return false;
        }
        let entries = self.take(&chosen);
        self.under_way.push(Box::pin(nfs4::send_group(Arc::clone(&self.ground), group, entries)));
        true
    }

    fn take(&mut self, ids: &[ItemId]) -> Vec<Entry> {
        ids.iter().filter_map(|id| self.pending.remove(id)).collect()
    }
}

async fn single(ground: Arc<Ground>, entry: Entry) -> Vec<End> {
    let result = Box::pin(ground.single(&entry.item)).await;
    vec![End::Done(entry.id, result)]
}
