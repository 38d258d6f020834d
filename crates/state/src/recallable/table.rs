//! The grants of one file: at most one of a class for each client.

use proto::nfs4::{ClientId, StateOther};

use super::grant::Grant;
use super::{Class, Usage};
use crate::Io;
use crate::small_map::SmallMap;

/// The class and the holder of a grant. Grants are listed in this order.
pub(crate) type Holder = (Class, ClientId);

#[derive(Debug, Default)]
pub(crate) struct GrantTable {
    by_holder: SmallMap<Holder, Box<Grant>>,
    holders: SmallMap<StateOther, Holder>,
    /// The number of grants that a read of the file recalls.
    recalled_by_reads: usize,
}

impl GrantTable {
    /// The holder that is listed first.
    pub(crate) const FIRST: Holder = (Class(0), ClientId(0));

    pub(crate) fn is_empty(&self) -> bool {
        self.by_holder.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_holder.len()
    }

    pub(crate) fn of_holder(&self, holder: Holder) -> Option<&Grant> {
        self.by_holder.get(&holder).map(|held| &**held)
    }

    fn of_holder_mut(&mut self, holder: Holder) -> Option<&mut Grant> {
        self.by_holder.get_mut(&holder).map(|held| &mut **held)
    }

    /// The delegation of a client.
    pub(crate) fn delegation_of(&self, client: ClientId) -> Option<&Grant> {
        self.of_holder((Class::DELEGATION, client))
    }

    pub(crate) fn delegation_of_mut(&mut self, client: ClientId) -> Option<&mut Grant> {
        self.of_holder_mut((Class::DELEGATION, client))
    }

    /// A grant of a client, of any class. Takes a few steps for each class that the file has grants of.
    pub(crate) fn of_client(&self, client: ClientId) -> Option<&Grant> {
        let mut class = Some(Class(0));
        while let Some(from) = class {
            let ((first, _), _) = self.by_holder.from(&(from, ClientId(0))).next()?;
            let found = self.of_holder((*first, client));
            if found.is_some() {
                return found;
            }
            class = first.0.checked_add(1).map(Class);
        }
        None
    }

    pub(crate) fn get(&self, other: &StateOther) -> Option<&Grant> {
        self.of_holder(*self.holders.get(other)?)
    }

    pub(crate) fn get_mut(&mut self, other: &StateOther) -> Option<&mut Grant> {
        self.of_holder_mut(*self.holders.get(other)?)
    }

    /// True while a client has a delegation of the file. Delegations are the first class.
    pub(crate) fn has_delegations(&self) -> bool {
        self.by_holder.first().is_some_and(|((class, _), _)| *class == Class::DELEGATION)
    }

    /// The write delegation: it excludes all other delegations.
    pub(crate) fn write_delegation(&self) -> Option<&Grant> {
        let first = self.by_holder.first().map(|(_, held)| &**held);
        first.filter(|held| held.is_write_delegation())
    }

    /// True while a use may recall a grant. Takes one step, however many grants are held: thousands of
    /// readers may share a file.
    pub(crate) fn may_conflict(&self, usage: &Usage) -> bool {
        match usage.io {
            Io::Read => self.recalled_by_reads > 0,
            Io::Write => !self.is_empty(),
        }
    }

    /// The grants of `from` and of the holders behind it.
    pub(crate) fn list(&self, from: Holder) -> impl Iterator<Item = (Holder, &Grant)> {
        self.by_holder.from(&from).map(|(holder, held)| (*holder, &**held))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.by_holder.iter().map(|(_, held)| &**held)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Grant> {
        self.by_holder.values_mut().map(|held| &mut **held)
    }

    /// Adds a grant of a client that has none of its class.
    pub(crate) fn insert(&mut self, grant: Grant) {
        let holder = (grant.kind.class, grant.client.id());
        self.holders.insert(grant.other, holder);
        self.recalled_by_reads += usize::from(is_recalled_by_reads(&grant));
        self.by_holder.insert(holder, Box::new(grant));
    }

    pub(crate) fn remove(&mut self, other: &StateOther) -> Option<Box<Grant>> {
        let ended = self.by_holder.remove(&self.holders.remove(other)?)?;
        self.recalled_by_reads -= usize::from(is_recalled_by_reads(&ended));
        Some(ended)
    }
}

fn is_recalled_by_reads(grant: &Grant) -> bool {
    (grant.kind.conflicts)(&Usage::READ)
}
