//! Share reservations (RFC 8881 §9.7), NFSv4's and NLM's in one place.

use bytes::Bytes;
use proto::nfs4::{ClientId, Status, share};

use crate::file::{FileState, OpenState};
use crate::{Blocked, FileId, Now, Obstacles, State};

/// An NLM share and its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareOwner {
    /// The caller's host.
    pub host: Bytes,
    /// Its opaque owner handle.
    pub handle: Bytes,
}

#[derive(Debug)]
pub(crate) struct Share {
    pub(crate) owner: ShareOwner,
    pub(crate) access: u32,
    pub(crate) deny: u32,
}

impl State {
    /// Checks access and denial against those of everybody but the open-owner.
    ///
    /// # Errors
    /// SHARE_DENIED; clients in the way whose lease is over.
    pub(crate) fn check_shares(
        &self,
        state: &FileState,
        except: Option<(ClientId, &[u8])>,
        (access, deny): (u32, u32),
        now: Now,
    ) -> Result<(), Blocked> {
        let conflicts = |theirs: (u32, u32)| theirs.1 & access != 0 || theirs.0 & deny != 0;
        if state.shares.iter().any(|share| conflicts((share.access, share.deny))) {
            return Err(Status::ShareDenied.into());
        }
        let mut obstacles = Obstacles::default();
        let is_other = |open: &&OpenState| {
            except.is_none_or(|(client, owner)| open.client.id() != client || open.owner != owner)
        };
        for open in state.opens.iter().filter(is_other).filter(|open| conflicts((open.access, open.deny))) {
            if !self.has_lapsed(&open.client, now) {
                return Err(Status::ShareDenied.into());
            }
            obstacles.add_lapsed(&open.client);
        }
        if obstacles.is_empty() { Ok(()) } else { Err(Blocked::By(obstacles)) }
    }
}

impl State {
    /// Checks that nobody who has a file open denies that it is written: then its name stays (RFC 8881 §18.25.4).
    ///
    /// # Errors
    /// FILE_OPEN; clients in the way whose lease is over.
    pub fn check_removal(&self, file: FileId, now: Now) -> Result<(), Blocked> {
        self.files.with(file, |state, _| match self.check_shares(state, None, (share::WRITE, 0), now) {
            Err(Blocked::Status(_)) => Err(Status::FileOpen.into()),
            checked => checked,
        })
    }
}

/// Shares of one file through NLM; one more is refused.
const SHARES_MAX: usize = 4096;

impl State {
    /// Reserves a file for an NLM caller; its earlier share is replaced.
    ///
    /// # Errors
    /// SHARE_DENIED, or DELAY when the file has too many; delegations in the way, and clients whose lease is over.
    pub fn share(
        &self,
        file: FileId,
        owner: ShareOwner,
        (access, deny): (u32, u32),
        now: Now,
    ) -> Result<(), Blocked> {
        self.files.with(file, |state, _| {
            let writes = access & share::WRITE != 0 || deny & share::READ != 0;
            let obstacles = self.recall_conflicts((file, state), None, writes, now);
            if !obstacles.is_empty() {
                return Err(Blocked::By(obstacles));
            }
            let mine = state.shares.iter().position(|share| share.owner == owner);
            let before = mine.map(|index| state.shares.swap_remove(index));
            if let Err(blocked) = self.check_shares(state, None, (access, deny), now) {
                state.shares.extend(before);
                return Err(blocked);
            }
            let is_new = before.is_none();
            if is_new && (state.shares.len() >= SHARES_MAX || !self.holdings.has_room(&owner.host)) {
                return Err(Status::Delay.into());
            }
            self.holdings.change(&owner.host, usize::from(!is_new), 1);
            state.shares.push(Share { owner, access, deny });
            Ok(())
        })
    }

    /// Gives up an NLM caller's share; without one nothing happens.
    pub fn unshare(&self, file: FileId, owner: &ShareOwner) {
        self.files.with(file, |state, _| {
            let before = state.shares.len();
            state.shares.retain(|share| share.owner != *owner);
            self.holdings.change(&owner.host, before - state.shares.len(), 0);
        });
    }
}
