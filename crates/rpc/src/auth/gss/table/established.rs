//! The established contexts, of which the one that was used least recently makes room for a new one.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::auth::gss::context::Context;
use crate::auth::gss::handle::{Nonce, NonceHasher};

/// The bounds of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EstablishedBounds {
    /// The most contexts.
    pub(crate) contexts_max: usize,
    /// The most memory of all contexts, in bytes.
    pub(crate) bytes_max: usize,
}

/// One principal may have 1/`SHARE` of the contexts. Beyond, its own make room for its new ones.
const SHARE: usize = 4;

/// The established contexts.
#[derive(Debug)]
pub(crate) struct EstablishedContexts {
    bounds: EstablishedBounds,
    places: HashMap<Nonce, usize, BuildHasherDefault<NonceHasher>>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    principals: BTreeMap<Bytes, PrincipalShare>,
    /// The number of the next principal.
    next_principal: u64,
    bytes: usize,
}

/// A context, with what the search for a victim reads: that visits all slots and no context.
#[derive(Debug)]
struct Slot {
    nonce: Nonce,
    used_ms: AtomicU64,
    expires_ms: u64,
    principal: u64,
    bytes: usize,
    context: Arc<Context>,
}

#[derive(Debug)]
struct PrincipalShare {
    number: u64,
    contexts: usize,
}

impl EstablishedContexts {
    pub(crate) fn new(bounds: EstablishedBounds) -> Self {
        Self {
            bounds,
            places: HashMap::default(),
            slots: Vec::new(),
            free: Vec::new(),
            principals: BTreeMap::new(),
            next_principal: 0,
            bytes: 0,
        }
    }

    pub(crate) fn get(&self, nonce: Nonce) -> Option<&Arc<Context>> {
        self.slot(nonce).map(|slot| &slot.context)
    }

    /// Notes that a request whose MIC was verified has used the context.
    pub(crate) fn touch(&self, nonce: Nonce, now_ms: u64) {
        let Some(slot) = self.slot(nonce) else { return };
        // Threads that share the context write once in a millisecond.
        if slot.used_ms.load(Ordering::Relaxed) != now_ms {
            slot.used_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    /// Adds a context. Where there is no room, contexts of its principal go first if that has its share,
    /// expired ones before others, and the one that was used least recently before the rest. False when the
    /// context alone is larger than the table, or its nonce is in use.
    pub(crate) fn insert(&mut self, nonce: Nonce, context: Arc<Context>, now_ms: u64) -> bool {
        let bytes = context.memory_bytes();
        if bytes > self.bounds.bytes_max || self.bounds.contexts_max == 0 || self.slot(nonce).is_some() {
            return false;
        }
        let share = (self.bounds.contexts_max / SHARE).max(1);
        let own = self.principals.get(context.principal()).filter(|own| own.contexts >= share);
        if let Some(number) = own.map(|own| own.number) {
            self.evict(now_ms, Some(number));
        }
        while self.places.len() >= self.bounds.contexts_max || self.bytes + bytes > self.bounds.bytes_max {
            self.evict(now_ms, None);
        }
        let principal = self.add_to_share(context.principal());
        let expires_ms = context.expires_ms();
        let slot = Slot { nonce, used_ms: AtomicU64::new(now_ms), expires_ms, principal, bytes, context };
        let place = self.free.pop().unwrap_or(self.slots.len());
        if place == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[place] = Some(slot);
        self.places.insert(nonce, place);
        self.bytes += bytes;
        true
    }

    /// Removes a context. Requests that are under way keep it until they end. False when it is not there.
    pub(crate) fn remove(&mut self, nonce: Nonce) -> bool {
        let Some(place) = self.places.remove(&nonce) else { return false };
        let Some(slot) = self.slots[place].take() else { return false };
        self.free.push(place);
        self.bytes -= slot.bytes;
        let principal = slot.context.principal();
        if let Some(own) = self.principals.get_mut(principal) {
            own.contexts -= 1;
            if own.contexts == 0 {
                self.principals.remove(principal);
            }
        }
        true
    }

    /// Returns how many contexts there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    fn slot(&self, nonce: Nonce) -> Option<&Slot> {
        self.slots[*self.places.get(&nonce)?].as_ref()
    }

    /// Counts a context of a principal, and returns the principal's number.
    fn add_to_share(&mut self, principal: &Bytes) -> u64 {
        if let Some(own) = self.principals.get_mut(principal) {
            own.contexts += 1;
            return own.number;
        }
        let number = self.next_principal;
        self.next_principal += 1;
        self.principals.insert(principal.clone(), PrincipalShare { number, contexts: 1 });
        number
    }

    /// Removes one context, of this principal or of any: an expired one, or the one that was used least
    /// recently.
    fn evict(&mut self, now_ms: u64, principal: Option<u64>) {
        let slots = self.slots.iter().flatten();
        let victim = slots
            .filter(|slot| principal.is_none_or(|principal| principal == slot.principal))
            .min_by_key(|slot| (slot.expires_ms > now_ms, slot.used_ms.load(Ordering::Relaxed)))
            .map(|slot| slot.nonce);
        if let Some(nonce) = victim {
            self.remove(nonce);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::auth::gss::mechanism::{BadToken, SecurityContext};

    /// A context that is never used.
    struct Unused(Option<Duration>);

    impl SecurityContext for Unused {
        fn mic(&self, _: &[u8]) -> Result<Vec<u8>, BadToken> {
            Err(BadToken)
        }

        fn verify_mic(&self, _: &[u8], _: &[u8]) -> Result<(), BadToken> {
            Err(BadToken)
        }

        fn wrap(&self, _: &mut Vec<u8>, _: usize) -> Result<(), BadToken> {
            Err(BadToken)
        }

        fn unwrap(&self, _: &Bytes) -> Result<Bytes, BadToken> {
            Err(BadToken)
        }

        fn principal(&self) -> &[u8] {
            b""
        }

        fn lifetime(&self) -> Option<Duration> {
            self.0
        }
    }

    fn context(principal: u64, lifetime_ms: Option<u64>) -> Arc<Context> {
        let principal = Bytes::copy_from_slice(&principal.to_be_bytes());
        let security = Box::new(Unused(lifetime_ms.map(Duration::from_millis)));
        Arc::new(Context::new(security, principal, None, 0))
    }

    fn table(contexts_max: usize) -> EstablishedContexts {
        EstablishedContexts::new(EstablishedBounds { contexts_max, bytes_max: 1 << 20 })
    }

    /// The numbers of the contexts that are there, below ten.
    fn present(table: &EstablishedContexts) -> Vec<u128> {
        (0..10).filter(|number| table.get(Nonce::from(*number)).is_some()).collect()
    }

    #[test]
    fn least_recently_used_context_makes_room() {
        let mut table = table(3);
        for number in 0..3_u64 {
            assert!(table.insert(Nonce::from(u128::from(number)), context(number, None), number));
        }
        table.touch(Nonce::from(0), 3);
        assert!(table.insert(Nonce::from(3), context(3, None), 4));
        assert_eq!(present(&table), [0, 2, 3]);
        assert!(table.insert(Nonce::from(4), context(4, None), 5));
        assert_eq!(present(&table), [0, 3, 4]);
    }

    #[test]
    fn expired_context_makes_room_before_one_in_use() {
        let mut table = table(2);
        assert!(table.insert(Nonce::from(0), context(0, None), 1));
        assert!(table.insert(Nonce::from(1), context(1, Some(50)), 2));
        table.touch(Nonce::from(1), 49);
        assert!(table.insert(Nonce::from(2), context(2, None), 50));
        assert_eq!(present(&table), [0, 2]);
    }

    #[test]
    fn principal_above_its_share_loses_its_own_contexts() {
        let mut table = table(8);
        assert!(table.insert(Nonce::from(9), context(9, None), 0));
        for number in 0..8_u64 {
            assert!(table.insert(Nonce::from(u128::from(number)), context(1, None), 1 + number));
        }
        assert_eq!(present(&table), [6, 7, 9]);
    }

    #[test]
    fn bytes_are_bounded_and_given_back() {
        let one = context(0, None).memory_bytes();
        let bounds = EstablishedBounds { contexts_max: 100, bytes_max: 2 * one };
        let mut table = EstablishedContexts::new(bounds);
        for number in 0..5_u64 {
            assert!(table.insert(Nonce::from(u128::from(number)), context(number, None), number));
        }
        assert_eq!((present(&table), table.bytes), (vec![3, 4], 2 * one));
        assert!(table.remove(Nonce::from(3)) && !table.remove(Nonce::from(3)));
        assert!(table.remove(Nonce::from(4)));
        assert_eq!((table.bytes, table.len(), table.principals.len()), (0, 0, 0));
        let bounds = EstablishedBounds { contexts_max: 100, bytes_max: one - 1 };
        assert!(!EstablishedContexts::new(bounds).insert(Nonce::from(1), context(1, None), 0));
    }

    #[test]
    fn nonce_in_use_is_refused() {
        let mut table = table(8);
        assert!(table.insert(Nonce::from(1), context(1, None), 0));
        assert!(!table.insert(Nonce::from(1), context(2, None), 0));
    }
}
