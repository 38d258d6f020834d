//! The slots of a session: made as they are used, and given up when memory is short (RFC 8881 §2.10.6.1).
//!
//! The client may use every slot that CREATE_SESSION granted. A request whose reply must be kept is charged
//! the longest reply before it begins, and what its reply really takes when it has ended. When memory is
//! short the *target* goes down, and replies in slots above it are given up once the client cannot want them
//! any more:
//!
//! ```text
//!                ┌────────────────────────── next request ─────────────────────────┐
//!                ▼                                                                  │
//!   idle ──▶ in progress: the longest reply is charged ──▶ idle: its reply is charged ──given up──▶ idle: nothing is
//! ```
//! The highest slot that is enforced stays what was granted, so the numbers of a slot that was given up go
//! on: a late duplicate of a request cannot be taken for a new one.

use std::mem::size_of;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};
use proto::nfs4::Status;

use crate::ConnectionId;
use crate::reply_memory::{ReplyShare, Supply};

/// Slots that are made together.
const BLOCK: usize = 16;
/// The target does not go below the first slots, as long as there is some memory.
const TARGET_MIN: u32 = 15;

#[derive(Debug, Default)]
pub(crate) struct Slot {
    /// Of the last request that was begun; 0 before the first.
    pub(crate) sequence: u32,
    pub(crate) used: bool,
    /// Bytes of memory that are taken for its reply; not counted in the first slot.
    pub(crate) taken: u64,
    pub(crate) in_progress: bool,
    /// Somebody waits for the end of the request that is in progress.
    pub(crate) awaited: bool,
    /// Of the last request: it is associated.
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) digest: u64,
    /// Of the last request; while one is in progress, of the one before.
    pub(crate) reply: Option<Vec<u8>>,
    /// When the last request was begun, on the clock that [`Slots::generation`] reads.
    pub(crate) begun: u64,
}

#[derive(Debug)]
struct Block([Mutex<Slot>; BLOCK]);

#[derive(Debug)]
pub(crate) struct Slots {
    memory: Arc<ReplyShare>,
    blocks: Box<[OnceLock<Box<Block>>]>,
    highest: u32,
    /// The longest reply that is kept, in bytes.
    reply_bytes_max: u32,
    target: AtomicU32,
    /// Moves on with every request while memory is short.
    generation: AtomicU64,
    /// No memory is taken for slots above.
    highest_taken: AtomicU32,
    /// Held while the target changes and slots are given up. No slot's lock is held by whoever takes it.
    adjusting: Mutex<()>,
}

impl Slots {
    /// With room for a reply in the first slot, so that every session can be used. `None` when there is no
    /// memory for that.
    pub(crate) fn new(memory: &Arc<ReplyShare>, count: u32, reply_bytes_max: u32) -> Option<Self> {
        let highest = count.saturating_sub(1);
        let count = highest as usize / BLOCK + 1;
        if !memory.take(session_bytes(count, reply_bytes_max)) {
            return None;
        }
        let slots = Self {
            memory: Arc::clone(memory),
            blocks: (0..count).map(|_| OnceLock::new()).collect(),
            highest,
            reply_bytes_max,
            target: AtomicU32::new(highest),
            generation: AtomicU64::new(0),
            highest_taken: AtomicU32::new(0),
            adjusting: Mutex::new(()),
        };
        let has_room = slots.lock(0).is_ok();
        has_room.then_some(slots)
    }

    pub(crate) fn highest(&self) -> u32 {
        self.highest
    }

    pub(crate) fn target(&self) -> u32 {
        self.target.load(Ordering::Relaxed)
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// The slot, for a request.
    ///
    /// # Errors
    /// BADSLOT; DELAY when there is no memory for it.
    pub(crate) fn lock(&self, index: u32) -> Result<MutexGuard<'_, Slot>, Status> {
        if index > self.highest {
            return Err(Status::BadSlot);
        }
        let cell = &self.blocks[index as usize / BLOCK];
        if cell.get().is_none() {
            if !self.memory.take(size_of::<Block>() as u64) {
                return Err(Status::Delay);
            }
            if cell.set(Box::new(Block(std::array::from_fn(|_| Mutex::default())))).is_err() {
                // Somebody else was faster.
                self.memory.give_back(size_of::<Block>() as u64);
            }
        }
        self.existing(index).ok_or(Status::BadSlot)
    }

    /// The slot, if its block was made.
    pub(crate) fn existing(&self, index: u32) -> Option<MutexGuard<'_, Slot>> {
        self.blocks.get(index as usize / BLOCK)?.get().map(|block| block.0[index as usize % BLOCK].lock())
    }

    /// Makes sure that there is room for the next reply of `slot`, which is the one with this number, if it
    /// is to be kept.
    ///
    /// # Errors
    /// DELAY, and nothing has changed but the target: a client may wait for long before it comes again, and
    /// should not take another slot in the meantime.
    pub(crate) fn reserve(&self, index: u32, slot: &mut Slot, is_kept: bool) -> Result<(), Status> {
        let needed = if is_kept && index > 0 { u64::from(self.reply_bytes_max) } else { 0 };
        if needed > slot.taken && !self.memory.take(needed - slot.taken) {
            self.target.fetch_min(index - 1, Ordering::Relaxed);
            return Err(Status::Delay);
        }
        self.memory.give_back(slot.taken.saturating_sub(needed));
        slot.taken = needed;
        if needed > 0 {
            self.highest_taken.fetch_max(index, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Ends the request of `slot`: only what its reply takes stays charged. True when somebody waits for
    /// that.
    pub(crate) fn keep(&self, slot: &mut Slot, reply: Option<&[u8]>) -> bool {
        // A reply that ends with "too big to cache" may be a few bytes longer than the longest.
        let length = reply.map_or(0, |reply| reply.len() as u64).min(slot.taken);
        self.memory.give_back(slot.taken - length);
        slot.taken = length;
        slot.reply = reply.map(|reply| in_room_of(slot.reply.take(), reply));
        slot.in_progress = false;
        std::mem::take(&mut slot.awaited)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Mutex<Slot>)> {
        (0..)
            .step_by(BLOCK)
            .zip(&self.blocks)
            .flat_map(|(first, cell)| cell.get().into_iter().flat_map(move |block| (first..).zip(&block.0)))
    }

    /// Moves the target, for a client that had no request under way in a slot above `in_use` when it sent
    /// this one. The request before, in the same slot, was begun at `answered`: the client has the reply to
    /// it.
    pub(crate) fn adjust(&self, in_use: u32, answered: Option<u64>) {
        let supply = self.memory.supply();
        let target = self.target();
        if matches!(supply, Supply::Fair | Supply::Ample) && target == self.highest {
            return;
        }
        let _adjusting = self.adjusting.lock();
        if let Some(answered) = answered {
            self.give_up_above(in_use.max(target), answered);
        }
        self.generation.fetch_add(1, Ordering::Relaxed);
        let floor = if supply == Supply::Spent { 0 } else { TARGET_MIN.min(target) };
        let next = match supply {
            Supply::Spent | Supply::Short if in_use < target / 2 => in_use.max(floor),
            // Halved again only when the client has followed.
            Supply::Spent | Supply::Short if in_use <= target => (target / 2).max(floor),
            Supply::Spent | Supply::Short | Supply::Fair => target,
            Supply::Ample => target.saturating_mul(2).saturating_add(1).min(self.highest),
        };
        self.target.store(next, Ordering::Relaxed);
    }

    /// Gives up slots above `keep` whose last request was begun before `answered`. The client had sent that
    /// request before it sent the present one, and it is not under way any more, or `keep` would not be
    /// below: so the client has the reply, and never asks for it again. A later one may have passed the
    /// present request on its way, and its reply is kept.
    fn give_up_above(&self, keep: u32, answered: u64) {
        if self.highest_taken.load(Ordering::Relaxed) <= keep {
            return;
        }
        let top = self.highest_taken.swap(keep, Ordering::Relaxed);
        for index in keep.saturating_add(1)..=top {
            let Some(mut slot) = self.existing(index).filter(|slot| slot.taken > 0) else { continue };
            if slot.in_progress || slot.begun >= answered {
                self.highest_taken.fetch_max(index, Ordering::Relaxed);
                continue;
            }
            slot.reply = None;
            self.memory.give_back(std::mem::take(&mut slot.taken));
        }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        let blocks = self.blocks.iter().filter(|cell| cell.get().is_some()).count();
        let taken: u64 = self.iter().map(|(_, slot)| slot.lock().taken).sum();
        let session = session_bytes(self.blocks.len(), self.reply_bytes_max);
        self.memory.give_back((blocks * size_of::<Block>()) as u64 + taken + session);
    }
}

/// What a session takes with its first reply.
fn session_bytes(blocks: usize, reply_bytes_max: u32) -> u64 {
    let table = size_of::<crate::Session>() + blocks * size_of::<OnceLock<Box<Block>>>();
    table as u64 + u64::from(reply_bytes_max)
}
/// A copy of `reply`, in the room of the one before where that is of use: most requests in a slot have
/// replies of like length.
fn in_room_of(before: Option<Vec<u8>>, reply: &[u8]) -> Vec<u8> {
    match before {
        Some(mut room) if room.capacity() >= reply.len() && room.capacity() <= reply.len() * 2 => {
            room.clear();
            room.extend_from_slice(reply);
            room
        }
        _ => reply.to_vec(),
    }
}
