//! The opens of one file, found by stateid, by owner and by what they conflict with.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{ClientId, StateOther, Status, share};

use crate::share_counts::ShareCounts;
use crate::small_map::SmallMap;
use crate::steps::step;
use crate::{Client, ShareReservation};

/// An open-owner's opens of the file, as one (RFC 8881 §9.9).
#[derive(Debug)]
pub(crate) struct OpenState {
    pub(crate) other: StateOther,
    pub(crate) sequence: u32,
    pub(crate) client: Arc<Client>,
    pub(crate) owner: Bytes,
    pub(crate) access: u32,
    pub(crate) deny: u32,
    /// The reservations of the OPENs that it consists of. A downgrade goes to a union of them (RFC 8881
    /// §18.18.3).
    pub(crate) history: Vec<ShareReservation>,
}

impl OpenState {
    pub(crate) fn shares(&self) -> ShareReservation {
        ShareReservation { access: self.access, deny: self.deny }
    }
}

#[derive(Debug, Default)]
pub(crate) struct OpenTable {
    by_other: SmallMap<StateOther, Box<OpenState>>,
    by_owner: SmallMap<(ClientId, Bytes), StateOther>,
    by_shares: SmallMap<(ShareReservation, StateOther), ()>,
    counts: ShareCounts,
}

impl OpenTable {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_other.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_other.len()
    }

    pub(crate) fn get(&self, other: &StateOther) -> Option<&OpenState> {
        self.by_other.get(other).map(|open| &**open)
    }

    /// The open of an open-owner.
    pub(crate) fn of_owner(&self, client: ClientId, owner: &Bytes) -> Option<StateOther> {
        self.by_owner.get(&(client, owner.clone())).copied()
    }

    /// An open of a client.
    pub(crate) fn of_client(&self, client: ClientId) -> Option<&OpenState> {
        let (key, other) = self.by_owner.from(&(client, Bytes::new())).next()?;
        if key.0 == client { self.get(other) } else { None }
    }

    /// The clients with opens, each once.
    pub(crate) fn clients(&self) -> impl Iterator<Item = &Arc<Client>> {
        let mut next = Some(ClientId(0));
        std::iter::from_fn(move || {
            let (_, other) = self.by_owner.from(&(next?, Bytes::new())).next()?;
            let client = &self.get(other)?.client;
            next = client.id().0.checked_add(1).map(ClientId);
            Some(client)
        })
    }

    /// True when another client has the file open.
    pub(crate) fn any_of_other(&self, mine: ClientId) -> bool {
        // The opens of one client are neighbours.
        [self.by_owner.first(), self.by_owner.last()].into_iter().flatten().any(|((id, _), _)| *id != mine)
    }

    /// True when one of the opens has access to write.
    pub(crate) fn any_writes(&self) -> bool {
        self.counts.any_writes()
    }

    /// The opens from `from` on.
    pub(crate) fn list(&self, from: StateOther) -> impl Iterator<Item = &OpenState> {
        self.by_other.from(&from).map(|(_, open)| &**open)
    }

    pub(crate) fn insert(&mut self, open: OpenState) {
        self.index(open.shares(), open.other);
        self.by_owner.insert((open.client.id(), open.owner.clone()), open.other);
        self.by_other.insert(open.other, Box::new(open));
    }

    pub(crate) fn remove(&mut self, other: &StateOther) -> Option<Box<OpenState>> {
        let open = self.by_other.remove(other)?;
        self.by_owner.remove(&(open.client.id(), open.owner.clone()));
        self.unindex(open.shares(), open.other);
        Some(open)
    }

    /// Changes an open.
    ///
    /// # Errors
    /// BAD_STATEID when there is none; what `change` fails with.
    pub(crate) fn change<R>(
        &mut self,
        other: &StateOther,
        change: impl FnOnce(&mut OpenState) -> Result<R, Status>,
    ) -> Result<R, Status> {
        let open = self.by_other.get_mut(other).ok_or(Status::BadStateId)?;
        let before = open.shares();
        let result = change(open);
        let after = open.shares();
        if before != after {
            self.unindex(before, *other);
            self.index(after, *other);
        }
        result
    }

    /// The clients of at most `most` opens that conflict with `wanted`, `except` not among them.
    pub(crate) fn conflicts(
        &self,
        wanted: ShareReservation,
        except: Option<StateOther>,
        most: usize,
    ) -> Vec<&Arc<Client>> {
        let mut found = Vec::new();
        if !self.counts.conflict(wanted) {
            return found;
        }
        let kinds = (0..=share::BOTH)
            .flat_map(|access| (0..=share::BOTH).map(move |deny| ShareReservation { access, deny }));
        for kind in kinds.filter(|kind| kind.conflicts_with(wanted)) {
            step();
            let of_kind =
                self.by_shares.from(&(kind, StateOther::ZEROS)).take_while(|((found, _), ())| *found == kind);
            let others = of_kind.map(|((_, other), ())| other).filter(|other| Some(**other) != except);
            let clients = others.filter_map(|other| self.get(other)).map(|open| &open.client);
            found.extend(clients.inspect(|_| step()).take(most - found.len()));
        }
        found
    }

    fn index(&mut self, shares: ShareReservation, other: StateOther) {
        self.counts.add(shares);
        self.by_shares.insert((shares, other), ());
    }

    fn unindex(&mut self, shares: ShareReservation, other: StateOther) {
        self.counts.remove(shares);
        self.by_shares.remove(&(shares, other));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::steps::steps_of;
    use crate::{Now, Principal};

    fn client(number: u64) -> Arc<Client> {
        let (owner, principal) = (Bytes::new(), Principal(Bytes::new()));
        Arc::new(Client::new(ClientId(number), owner, principal, Arc::default(), 1, false, Now(0)))
    }

    fn open(client: &Arc<Client>, number: u64, shares: ShareReservation) -> OpenState {
        OpenState {
            other: other(number),
            sequence: 1,
            client: Arc::clone(client),
            owner: Bytes::copy_from_slice(&number.to_be_bytes()),
            access: shares.access,
            deny: shares.deny,
            history: vec![shares],
        }
    }

    fn other(number: u64) -> StateOther {
        let mut other = StateOther::ZEROS;
        other.0[4..].copy_from_slice(&number.to_be_bytes());
        other
    }

    /// The most steps of one operation on a table with `count` opens.
    fn steps_with(count: u64) -> u64 {
        let mut table = OpenTable::default();
        let holder = client(1);
        for number in 0..count {
            let is_last = number + 1 == count;
            let (access, deny) = if is_last { (share::WRITE, share::READ) } else { (share::READ, 0) };
            table.insert(open(&holder, number, ShareReservation { access, deny }));
        }
        let checks =
            [(share::READ, 0), (share::WRITE, 0), (share::READ, share::BOTH), (share::BOTH, share::WRITE)];
        let checks = checks.map(|(access, deny)| ShareReservation { access, deny });
        let steps = checks.map(|check| steps_of(|| drop(table.conflicts(check, Some(other(3)), 64))));
        steps.into_iter().max().unwrap()
    }

    #[test]
    fn steps_of_a_check_do_not_grow_with_the_opens() {
        let (few, many) = (steps_with(1000), steps_with(100_000));
        assert!(many <= few && few <= 100, "{many} steps with 100,000 opens, {few} with 1,000");
    }

    proptest! {
        #[test]
        fn the_table_agrees_with_a_list_of_opens(
            actions in prop::collection::vec((0u8..4, 0u64..16, 0u64..4, 1u32..4, 0u32..4), 1..80),
        ) {
            let clients: Vec<_> = (0..4).map(client).collect();
            let (mut table, mut list) = (OpenTable::default(), Vec::<(u64, u64, u32, u32)>::new());
            for (action, number, of, access, deny) in actions {
                let known = list.iter().position(|(known, ..)| *known == number);
                match (action, known) {
                    (0, Some(index)) => {
                        list.remove(index);
                        prop_assert!(table.remove(&other(number)).is_some());
                    }
                    (1, Some(index)) => {
                        (list[index].2, list[index].3) = (access, deny);
                        let changed = table.change(&other(number), |open| {
                            (open.access, open.deny) = (access, deny);
                            Ok(())
                        });
                        prop_assert_eq!(changed, Ok(()));
                    }
                    (2.., None) => {
                        list.push((number, of, access, deny));
                        table.insert(open(&clients[of as usize], number, ShareReservation { access, deny }));
                    }
                    _ => {}
                }
                let conflicts = |(known, _, a, d): &&(u64, u64, u32, u32)| {
                    *known != 3 && (a & deny != 0 || d & access != 0)
                };
                let holder = |open: &(_, u64, _, _)| ClientId(open.1);
                let mut expected: Vec<_> = list.iter().filter(conflicts).map(holder).collect();
                let shares = ShareReservation { access, deny };
                let found = table.conflicts(shares, Some(other(3)), usize::MAX);
                let mut found: Vec<_> = found.iter().map(|client| client.id()).collect();
                expected.sort_unstable();
                found.sort_unstable();
                prop_assert_eq!(found, expected);
                prop_assert!(table.conflicts(shares, None, 2).len() <= 2);
                let mut holders: Vec<_> = list.iter().map(|(_, of, ..)| ClientId(*of)).collect();
                holders.sort_unstable();
                holders.dedup();
                prop_assert!(table.clients().map(|client| client.id()).eq(holders.iter().copied()));
                let others = holders.iter().any(|id| *id != ClientId(of));
                prop_assert_eq!(table.any_of_other(ClientId(of)), others);
                prop_assert_eq!(table.of_client(ClientId(of)).is_some(), holders.contains(&ClientId(of)));
                prop_assert_eq!(table.any_writes(), list.iter().any(|(_, _, a, _)| a & share::WRITE != 0));
                prop_assert_eq!(table.len(), list.len());
                for (number, of, access, deny) in &list {
                    let name = Bytes::copy_from_slice(&number.to_be_bytes());
                    let found = table.of_owner(ClientId(*of), &name).and_then(|other| table.get(&other));
                    let shares = ShareReservation { access: *access, deny: *deny };
                    prop_assert_eq!(found.map(OpenState::shares), Some(shares));
                }
            }
        }
    }
}
