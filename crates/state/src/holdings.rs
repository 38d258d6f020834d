//! How much hosts hold that lock through NLM: no lease ends what they hold, so it is counted and bounded.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::FileId;
use crate::kept::own;

/// Ranges and shares of all hosts of one address.
const PER_ADDRESS_MAX: usize = 1 << 17;
/// Ranges and shares of all hosts.
const TOTAL_MAX: usize = 1 << 19;

/// Ranges and shares by host. A host is its address, a space and its name, so that those of one address stand together.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    hosts: BTreeMap<Bytes, BTreeMap<FileId, usize>>,
    addresses: BTreeMap<Bytes, usize>,
    total: usize,
}

/// What stands before the first space.
fn address_of(host: &Bytes) -> Bytes {
    let end = host.iter().position(|byte| *byte == b' ').unwrap_or(host.len());
    host.slice(..end)
}

fn set<K: Ord>(map: &mut BTreeMap<K, usize>, key: K, before: usize, after: usize) {
    let now = map.get(&key).copied().unwrap_or(0) + after - before;
    if now == 0 {
        map.remove(&key);
    } else {
        map.insert(key, now);
    }
}

impl Holdings {
    /// True when the host may hold one thing more.
    pub(crate) fn has_room(&self, host: &Bytes) -> bool {
        let inner = self.inner.lock();
        let of_address = inner.addresses.get(&address_of(host)).copied().unwrap_or(0);
        of_address < PER_ADDRESS_MAX && inner.total < TOTAL_MAX
    }

    /// What a host holds of one file has changed from so many things to so many.
    pub(crate) fn change(&self, host: &Bytes, file: FileId, before: usize, after: usize) {
        if before == after {
            return;
        }
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let files = inner.hosts.entry(own(host)).or_default();
        set(files, file, before, after);
        if files.is_empty() {
            inner.hosts.remove(host);
        }
        set(&mut inner.addresses, own(&address_of(host)), before, after);
        inner.total = inner.total + after - before;
    }

    /// The first file after `after` that the host holds anything of.
    pub(crate) fn next_file(&self, host: &Bytes, after: Option<FileId>) -> Option<FileId> {
        let inner = self.inner.lock();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        inner.hosts.get(host)?.range((from, Bound::Unbounded)).next().map(|(file, _)| *file)
    }

    pub(crate) fn holds(&self, host: &[u8]) -> bool {
        self.inner.lock().hosts.contains_key(host)
    }

    /// The hosts that hold anything and whose names begin so.
    pub(crate) fn beginning_with(&self, prefix: &[u8]) -> Vec<Bytes> {
        let inner = self.inner.lock();
        let from = inner.hosts.range(Bytes::copy_from_slice(prefix)..).map(|(host, _)| host);
        from.take_while(|host| host.starts_with(prefix)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(1, 1);

    #[test]
    fn hosts_are_counted_together_with_those_of_their_address() {
        let holdings = Holdings::default();
        let (ann, bob, eve) =
            (Bytes::from("10.0.0.1 ann"), Bytes::from("10.0.0.1 bob"), Bytes::from("10.0.0.10 eve"));
        holdings.change(&ann, FILE, 0, PER_ADDRESS_MAX - 1);
        assert!(holdings.has_room(&bob));
        holdings.change(&bob, FILE, 0, 1);
        assert!(!holdings.has_room(&ann) && !holdings.has_room(&bob) && holdings.has_room(&eve));
        assert_eq!(holdings.beginning_with(b"10.0.0.1 "), [ann.clone(), bob.clone()]);
        holdings.change(&ann, FILE, PER_ADDRESS_MAX - 1, 0);
        assert!(!holdings.holds(&ann) && holdings.holds(&bob) && holdings.has_room(&ann));
        holdings.change(&bob, FILE, 1, 0);
        let inner = holdings.inner.lock();
        assert_eq!((inner.hosts.len(), inner.addresses.len(), inner.total), (0, 0, 0), "nothing is left");
    }

    #[test]
    fn all_hosts_together_have_a_bound() {
        let holdings = Holdings::default();
        for number in 0..TOTAL_MAX / PER_ADDRESS_MAX {
            assert!(holdings.has_room(&Bytes::from_static(b"new")));
            holdings.change(&Bytes::from(format!("{number} host")), FILE, 0, PER_ADDRESS_MAX);
        }
        assert!(!holdings.has_room(&Bytes::from_static(b"new")));
    }
}
