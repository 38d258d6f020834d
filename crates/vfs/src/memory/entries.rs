//! The entries of a directory, in the order of their making.

use std::collections::BTreeMap;

use bytes::Bytes;

/// Cookie of `.`.
pub(super) const SELF_COOKIE: u64 = 1;
/// Cookie of `..`.
pub(super) const PARENT_COOKIE: u64 = 2;
/// What an entry costs beside its name, in bytes.
const ENTRY_BYTES: u64 = 64;

/// Names and the file ids behind them. An entry keeps its cookie for life and no cookie comes again.
pub(super) struct Entries {
    pub(super) parent: u64,
    by_name: BTreeMap<Bytes, (u64, u64)>,
    by_cookie: BTreeMap<u64, (Bytes, u64)>,
    last_cookie: u64,
}

impl Entries {
    pub(super) fn new(parent: u64) -> Self {
        Self { parent, by_name: BTreeMap::new(), by_cookie: BTreeMap::new(), last_cookie: PARENT_COOKIE }
    }

    /// What an entry of this name takes from the budget.
    pub(super) fn cost_bytes(name: &[u8]) -> u64 {
        ENTRY_BYTES + name.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<u64> {
        self.by_name.get(name).map(|(fileid, _)| *fileid)
    }

    /// Adds a name, or gives it to another object in place.
    pub(super) fn insert(&mut self, name: &[u8], fileid: u64) {
        if let Some((old, cookie)) = self.by_name.get_mut(name) {
            *old = fileid;
            let entry = self.by_cookie.get_mut(cookie).expect("both maps hold every entry");
            entry.1 = fileid;
            return;
        }
        self.last_cookie += 1;
        let name = Bytes::copy_from_slice(name);
        self.by_name.insert(name.clone(), (fileid, self.last_cookie));
        self.by_cookie.insert(self.last_cookie, (name, fileid));
    }

    pub(super) fn remove(&mut self, name: &[u8]) {
        if let Some((_, cookie)) = self.by_name.remove(name) {
            self.by_cookie.remove(&cookie);
        }
    }

    /// Cookie, name and file id of the entries after `cookie`, without `.` and `..`.
    pub(super) fn after(&self, cookie: u64) -> impl Iterator<Item = (u64, &Bytes, u64)> {
        let from = cookie.saturating_add(1);
        self.by_cookie.range(from..).map(|(cookie, (name, fileid))| (*cookie, name, *fileid))
    }
}
