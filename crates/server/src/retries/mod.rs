//! Requests that are sent again: what a call did whose reply was lost is not done again, its reply is (RFC
//! 1813 §4.5).
//!
//! NFSv3 and the lock manager have no sessions: a client whose connection is lost sends its requests again,
//! under the same transaction ids, on another connection and perhaps from another port. A REMOVE that was
//! carried out would then fail, and a late copy of a WRITE or of an UNLOCK would undo what came after it.
//! [`Retries`] knows the last of the calls for which that matters, see `runs_once`; the others never come
//! here.

mod key;
mod table;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use event_listener::Event;
use parking_lot::Mutex;
use rpc::Call;

use crate::metrics::Events;
use crate::runtime::Runtime;
pub(crate) use key::runs_once;
use key::{Key, Keys};
use table::{CallStatus, Table};

/// How much is kept for retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryLimits {
    /// Calls that are known, those under way included. Beyond, the oldest reply of the client with the most
    /// is forgotten; when all are under way, one more waits.
    pub replies_max: usize,
    /// Bytes that replies take, with what it takes to find them. At the bound as with `replies_max`.
    pub bytes_max: usize,
    /// How long a reply is kept, in seconds. A client that begins its transaction ids anew, after it was
    /// started again, must not get the replies of its earlier life.
    pub seconds: u32,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self { replies_max: 1 << 15, bytes_max: 16 << 20, seconds: 900 }
    }
}

/// The most tables, so that calls seldom wait for each other.
const SHARDS_MAX: usize = 16;
/// A table of fewer replies than these is not worth being one of several.
const SHARD_REPLIES_MIN: usize = 256;

/// The calls that ran last, and those that run.
pub struct Retries {
    shards: Box<[Shard]>,
    keys: Keys,
    world: Arc<dyn Runtime>,
    events: Arc<Events>,
}

/// A part of the calls, by their digests.
struct Shard {
    table: Mutex<Table<Arc<Outcome>>>,
    /// A place in the table, which was full, may be free.
    freed: Event,
}

impl std::fmt::Debug for Retries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retries").finish_non_exhaustive()
    }
}

/// What a call answered.
type Results = Arc<[u8]>;

/// What becomes of a call, for the retries that wait for it.
#[derive(Debug, Default)]
struct Outcome {
    /// `None` when the call left nothing that may be repeated.
    results: OnceLock<Option<Results>>,
    decided: Event,
}

/// What to do with a call.
pub(crate) enum Turn<'a> {
    /// Run it, and [finish](Ticket::finish) the ticket.
    Run(Ticket<'a>),
    /// It has run: these are its results.
    Repeat(Results),
}

impl Retries {
    /// Knows nothing yet. What it answers is counted in `events`.
    pub fn new(limits: RetryLimits, world: Arc<dyn Runtime>, events: Arc<Events>) -> Self {
        let mut key = [0; 16];
        world.random(&mut key);
        let shards = (limits.replies_max / SHARD_REPLIES_MIN).clamp(1, SHARDS_MAX);
        let limits = RetryLimits {
            replies_max: limits.replies_max / shards,
            bytes_max: limits.bytes_max / shards,
            ..limits
        };
        let shard = || Shard { table: Mutex::new(Table::new(limits)), freed: Event::new() };
        Self { shards: (0..shards).map(|_| shard()).collect(), keys: Keys::new(key), world, events }
    }

    /// Decides about a call; waits while the same call is under way.
    pub(crate) async fn turn(&self, call: &Call<'_>) -> Turn<'_> {
        let key = self.keys.key(call);
        let shard = &self.shards[(key.digest % self.shards.len() as u64) as usize];
        loop {
            // Before the look, so that nothing that happens after it is missed.
            let mut freed = None;
            let begun = {
                let mut table = shard.table.lock();
                let begun = table.begin(key, self.world.now_ms());
                if matches!(begun, CallStatus::Full) {
                    freed = Some(shard.freed.listen());
                }
                begun
            };
            match begun {
                CallStatus::New => return Turn::Run(Ticket { world: &*self.world, shard, key, open: true }),
                CallStatus::Completed(results) => return self.repeat(results),
                CallStatus::Running(outcome) => {
                    if let Some(results) = outcome.decided().await {
                        return self.repeat(results);
                    }
                }
                CallStatus::Full => {
                    if let Some(freed) = freed {
                        freed.await;
                    }
                }
            }
        }
    }

    /// The memory of the replies, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.table.lock().bytes() as u64).sum()
    }

    fn repeat(&self, results: Results) -> Turn<'_> {
        self.events.retries_answered.add(1);
        Turn::Repeat(results)
    }
}

impl Outcome {
    async fn decided(&self) -> Option<Results> {
        loop {
            let decided = self.decided.listen();
            if let Some(results) = self.results.get() {
                return results.clone();
            }
            decided.await;
        }
    }
}

/// A call that runs. Dropped without an end, it is forgotten, and a retry runs.
pub(crate) struct Ticket<'a> {
    world: &'a dyn Runtime,
    shard: &'a Shard,
    key: Key,
    open: bool,
}

impl Ticket<'_> {
    /// The call has run, and its retries get `results`; `None` says that it has done nothing and may run
    /// again.
    pub(crate) fn finish(mut self, results: Option<&[u8]>) {
        self.end(results.map(Arc::from));
    }

    fn end(&mut self, results: Option<Results>) {
        self.open = false;
        let waiting = self.shard.table.lock().finish(self.key, results.clone(), self.world.now_ms());
        if let Some(outcome) = waiting {
            // This is its only end.
            let _ = outcome.results.set(results);
            outcome.decided.notify(usize::MAX);
        }
        self.shard.freed.notify(1);
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if self.open {
            self.end(None);
        }
    }
}
