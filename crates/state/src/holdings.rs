//! How much hosts hold that lock through NLM: no lease ends what they hold, so it is counted and bounded.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Bound;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::FileId;
use crate::kept::own;

/// Ranges and shares of all hosts of one address.
const PER_ADDRESS_MAX: usize = 1 << 17;
/// Ranges and shares of all hosts.
const TOTAL_MAX: usize = 1 << 19;

/// Ranges and shares by host. A host is its address, a space and its name, so that those of one address stand
/// together.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    hosts: BTreeMap<Bytes, BTreeMap<FileId, usize>>,
    addresses: BTreeMap<IpAddr, usize>,
    total: usize,
}

/// The address by which the shares of tables are counted. Of an IPv6 address it has the first 64 bits: a
/// host may choose the others.
pub fn share_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

/// True when one more entry fits a share: an address has at most as much as it leaves free for all others,
/// and at most `share_max`. So no number of addresses fills a table for the next one, short of as many as
/// it has entries.
pub fn fits_share(of_address: usize, share_max: usize, total: usize, total_max: usize) -> bool {
    of_address < share_max.min(total_max.saturating_sub(total))
}

/// The address before the first space, as shares are counted.
fn address_of(host: &[u8]) -> IpAddr {
    let text = host.split(|byte| *byte == b' ').next().unwrap_or_default();
    let address = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    address.map_or(Ipv4Addr::UNSPECIFIED.into(), share_address)
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
        fits_share(of_address, PER_ADDRESS_MAX, inner.total, TOTAL_MAX)
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
        set(&mut inner.addresses, address_of(host), before, after);
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
    fn an_address_leaves_as_much_free_as_it_holds() {
        let holdings = Holdings::default();
        let fill = |host: &'static str, step: usize| {
            let host = Bytes::from_static(host.as_bytes());
            while holdings.has_room(&host) {
                holdings.change(&host, FILE, 0, step);
            }
            holdings.inner.lock().addresses[&address_of(&host)]
        };
        for host in ["10.0.0.1 h", "10.0.0.2 h", "10.0.0.3 h"] {
            assert!(fill(host, 1 << 12) >= PER_ADDRESS_MAX / 2);
        }
        let left = TOTAL_MAX - holdings.inner.lock().total;
        assert_eq!(fill("10.0.0.4 h", 1), left / 2);
        assert_eq!(fill("10.0.0.5 h", 1), left / 4);
        assert!(holdings.has_room(&Bytes::from_static(b"10.0.0.6 h")));
    }

    #[test]
    fn the_addresses_of_one_ipv6_network_have_one_share() {
        let holdings = Holdings::default();
        holdings.change(&Bytes::from_static(b"2001:db8::1 h"), FILE, 0, PER_ADDRESS_MAX);
        assert!(!holdings.has_room(&Bytes::from_static(b"2001:db8::2:1 h")));
        assert!(holdings.has_room(&Bytes::from_static(b"2001:db8:0:1::1 h")));
    }
}
