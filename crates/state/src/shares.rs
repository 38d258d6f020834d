//! Share reservations (RFC 8881 §9.7), NFSv4's and NLM's in one place.

use std::collections::BTreeMap;

use bytes::Bytes;
use proto::nfs4::{StateOther, Status, share};

use crate::file::FileState;
use crate::obstacles::CONFLICTS_MAX;
use crate::recallable::Usage;
use crate::share_counts::ShareCounts;
use crate::{Blocked, FileId, Now, Obstacles, ShareReservation, State};

/// An NLM share and its owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareOwner {
    /// The caller's host.
    pub host: Bytes,
    /// Its opaque owner handle.
    pub handle: Bytes,
}

/// The NLM shares of one file.
#[derive(Debug, Default)]
pub(crate) struct ShareTable {
    /// The shares of one host are neighbours.
    by_owner: BTreeMap<ShareOwner, ShareReservation>,
    counts: ShareCounts,
}

impl ShareTable {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_owner.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_owner.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ShareOwner, &ShareReservation)> {
        self.by_owner.iter()
    }

    /// True when one of the shares has access to write.
    pub(crate) fn any_writes(&self) -> bool {
        self.counts.any_writes()
    }

    fn insert(&mut self, owner: ShareOwner, shares: ShareReservation) {
        self.counts.add(shares);
        self.by_owner.insert(owner, shares);
    }

    fn remove(&mut self, owner: &ShareOwner) -> Option<ShareReservation> {
        let shares = self.by_owner.remove(owner)?;
        self.counts.remove(shares);
        Some(shares)
    }

    /// Removes the shares of a host, or, with `None`, of all. There are at most [`SHARES_MAX`].
    pub(crate) fn remove_of_host(&mut self, host: Option<&Bytes>) -> Vec<ShareOwner> {
        let first = ShareOwner { host: host.cloned().unwrap_or_default(), handle: Bytes::new() };
        let from = self.by_owner.range(first..).map(|(owner, _)| owner);
        let owners = from.take_while(|owner| host.is_none_or(|host| owner.host == *host)).cloned();
        let owners: Vec<_> = owners.collect();
        for owner in &owners {
            self.remove(owner);
        }
        owners
    }
}

impl State {
    /// Checks `wanted` against the reservations of all opens and shares but `except`. Those of the same
    /// open-owner count: a share reservation excludes its owner's later opens as well (RFC 8881 §9.7).
    ///
    /// # Errors
    /// SHARE_DENIED; the clients that hold conflicting reservations and whose lease has expired.
    pub(crate) fn check_shares(
        &self,
        state: &FileState,
        wanted: ShareReservation,
        except: Option<StateOther>,
        now: Now,
    ) -> Result<(), Blocked> {
        if state.shares.counts.conflict(wanted) {
            return Err(Status::ShareDenied.into());
        }
        let mut obstacles = Obstacles::default();
        for client in state.opens.conflicts(wanted, except, CONFLICTS_MAX) {
            if !self.has_lapsed(client, now) {
                return Err(Status::ShareDenied.into());
            }
            obstacles.add_lapsed(client);
        }
        if obstacles.is_empty() { Ok(()) } else { Err(Blocked::By(obstacles)) }
    }
}

impl State {
    /// Checks that no open of a file denies others to write it, which keeps its name from being removed
    /// (RFC 8881 §18.25.4).
    ///
    /// # Errors
    /// FILE_OPEN; the clients that hold such opens and whose lease has expired.
    pub fn check_removal(&self, file: FileId, now: Now) -> Result<(), Blocked> {
        let wanted = ShareReservation::of_access(share::WRITE);
        self.files.with(file, |state, _| match self.check_shares(state, wanted, None, now) {
            Err(Blocked::Status(_)) => Err(Status::FileOpen.into()),
            checked => checked,
        })
    }
}

/// Shares of one file through NLM; one more is refused.
const SHARES_MAX: usize = 4096;

impl State {
    /// Reserves a file for an NLM caller, in the place of its earlier share.
    ///
    /// # Errors
    /// SHARE_DENIED, or DELAY when the file or the host has too many shares; conflicting delegations, and the
    /// clients with conflicting reservations whose lease has expired.
    pub fn share(
        &self,
        file: FileId,
        owner: ShareOwner,
        wanted: ShareReservation,
        now: Now,
    ) -> Result<(), Blocked> {
        self.files.with(file, |state, _| {
            let usage = Usage::of_all(wanted.is_exclusive());
            let obstacles = self.conflicts_in(file, state, None, &usage, now);
            if !obstacles.is_empty() {
                return Err(Blocked::By(obstacles));
            }
            let before = state.shares.remove(&owner);
            if let Err(blocked) = self.check_shares(state, wanted, None, now) {
                if let Some(before) = before {
                    state.shares.insert(owner, before);
                }
                return Err(blocked);
            }
            let is_new = before.is_none();
            if is_new && (state.shares.len() >= SHARES_MAX || !self.holdings.has_room(&owner.host)) {
                return Err(Status::Delay.into());
            }
            self.holdings.change(&owner.host, file, usize::from(!is_new), 1);
            state.shares.insert(owner, wanted);
            Ok(())
        })
    }

    /// Gives up an NLM caller's share; without one nothing happens.
    pub fn unshare(&self, file: FileId, owner: &ShareOwner) {
        self.files.with(file, |state, _| {
            if state.shares.remove(owner).is_some() {
                self.holdings.change(&owner.host, file, 1, 0);
            }
        });
    }
}
