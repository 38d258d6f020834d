//! The beginning of a file, read by the very request that opens it: a small file then takes one round trip.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use crate::node::Node;
use crate::open::OpenOptions;
use crate::protocol::FoundObject;
use crate::shared::Shared;

/// How much is read along, in bytes: whole small files, and little enough to be of no account with large
/// ones.
const BYTES: u32 = 32 << 10;

/// A READ that may ride along.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prefetch {
    pub(super) count: u32,
    /// Our own writes of the file up to now.
    writes: u64,
}

impl Prefetch {
    /// Worth while for a file that is opened for reading only, unless it is known to be large or its data are
    /// here.
    pub(super) fn plan(shared: &Shared, node: Option<&Arc<Node>>, options: &OpenOptions) -> Option<Self> {
        if options.write || options.create || !shared.options.data_cache {
            return None;
        }
        let count = BYTES.min(shared.limits().read_bytes_max);
        let Some(node) = node else { return Some(Self { count, writes: 0 }) };
        let (key, size, writes) = {
            let state = node.state.lock();
            if state.open_files().iter().any(|file| file.writable) {
                return None;
            }
            // What is uncertain is void as soon as it is open.
            let key = (!shared.is_uncertain(&state)).then(|| state.data_key(node.key));
            (key, state.known.last()?.size, state.writes)
        };
        let is_there = |key| shared.data.lock().missing(key, 0..size).is_empty();
        let wanted = size <= u64::from(count) && !key.is_some_and(is_there);
        wanted.then_some(Self { count, writes })
    }

    /// Keeps what came, if it is of the state of the file that is now known.
    pub(super) fn keep(
        self,
        shared: &Shared,
        node: &Node,
        found: &FoundObject,
        data: &Bytes,
        asked: Instant,
    ) {
        let key = {
            let mut state = node.state.lock();
            if !state.known.is_of(&found.attributes) || state.writes != self.writes {
                return;
            }
            shared.note_cached(&mut state, asked);
            state.data_key(node.key)
        };
        if data.len() <= self.count as usize {
            shared.data.lock().insert(key, 0, data);
        }
    }
}
