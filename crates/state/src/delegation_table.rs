//! The delegations of one file: at most one for each client.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use proto::nfs4::{ClientId, StateOther};

use crate::small_map::SmallMap;
use crate::{Client, DelegationKind, Now};

#[derive(Debug)]
pub(crate) struct Delegation {
    pub(crate) other: StateOther,
    pub(crate) client: Arc<Client>,
    pub(crate) kind: DelegationKind,
    /// Its holder keeps the times.
    pub(crate) timestamps: bool,
    /// Set when it was recalled.
    pub(crate) recall: Option<Deadline>,
    /// Operations under way that use it.
    pub(crate) uses: Arc<AtomicUsize>,
}

/// When a recalled delegation is revoked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    /// Then, if its holder is not seen to use it until then.
    pub(crate) at: Now,
    /// Then at the latest.
    pub(crate) last: Now,
}

#[derive(Debug, Default)]
pub(crate) struct DelegationTable {
    by_client: SmallMap<ClientId, Box<Delegation>>,
    holders: SmallMap<StateOther, ClientId>,
}

impl DelegationTable {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_client.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_client.len()
    }

    pub(crate) fn of_client(&self, client: ClientId) -> Option<&Delegation> {
        self.by_client.get(&client).map(|held| &**held)
    }

    pub(crate) fn of_client_mut(&mut self, client: ClientId) -> Option<&mut Delegation> {
        self.by_client.get_mut(&client).map(|held| &mut **held)
    }

    pub(crate) fn get(&self, other: &StateOther) -> Option<&Delegation> {
        self.of_client(*self.holders.get(other)?)
    }

    pub(crate) fn get_mut(&mut self, other: &StateOther) -> Option<&mut Delegation> {
        self.of_client_mut(*self.holders.get(other)?)
    }

    /// The write delegation: it excludes all others.
    pub(crate) fn write(&self) -> Option<&Delegation> {
        self.by_client.first().map(|(_, held)| &**held).filter(|held| held.kind == DelegationKind::Write)
    }

    /// The delegations of `from` and of clients with greater numbers.
    pub(crate) fn list(&self, from: ClientId) -> impl Iterator<Item = &Delegation> {
        self.by_client.from(&from).map(|(_, held)| &**held)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Delegation> {
        self.by_client.iter().map(|(_, held)| &**held)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Delegation> {
        self.by_client.values_mut().map(|held| &mut **held)
    }

    /// Adds a delegation of a client that has none.
    pub(crate) fn insert(&mut self, delegation: Delegation) {
        self.holders.insert(delegation.other, delegation.client.id());
        self.by_client.insert(delegation.client.id(), Box::new(delegation));
    }

    pub(crate) fn remove(&mut self, other: &StateOther) -> Option<Box<Delegation>> {
        self.by_client.remove(&self.holders.remove(other)?)
    }
}
