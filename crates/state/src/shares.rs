//! Share reservations (RFC 8881 §9.7), NFSv4's and NLM's in one place.

use bytes::Bytes;
use proto::nfs4::{ClientId, Status};

use crate::file::FileState;
use crate::{FileId, State};

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

impl FileState {
    /// True when somebody other than the open-owner denies `access` or has what `deny` forbids.
    pub(crate) fn share_conflict(&self, except: Option<(ClientId, &[u8])>, access: u32, deny: u32) -> bool {
        let conflicts = |theirs: (u32, u32)| theirs.1 & access != 0 || theirs.0 & deny != 0;
        let open = self
            .opens
            .iter()
            .filter(|open| except.is_none_or(|(client, owner)| open.client != client || open.owner != owner))
            .any(|open| conflicts((open.access, open.deny)));
        open || self.shares.iter().any(|share| conflicts((share.access, share.deny)))
    }
}

/// Shares of one file through NLM; one more is refused.
const SHARES_MAX: usize = 4096;

impl State {
    /// Reserves a file for an NLM caller; its earlier share is replaced.
    ///
    /// # Errors
    /// SHARE_DENIED, or DELAY when the file has too many.
    pub fn share(&self, file: FileId, owner: ShareOwner, access: u32, deny: u32) -> Result<(), Status> {
        self.files.with(file, |state, _| {
            let mine = state.shares.iter().position(|share| share.owner == owner);
            let before = mine.map(|index| state.shares.swap_remove(index));
            if state.share_conflict(None, access, deny) {
                state.shares.extend(before);
                return Err(Status::ShareDenied);
            }
            if state.shares.len() >= SHARES_MAX {
                return Err(Status::Delay);
            }
            state.shares.push(Share { owner, access, deny });
            Ok(())
        })
    }

    /// Gives up an NLM caller's share; without one nothing happens.
    pub fn unshare(&self, file: FileId, owner: &ShareOwner) {
        self.files.with(file, |state, _| state.shares.retain(|share| share.owner != *owner));
    }
}
