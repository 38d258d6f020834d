//! The users that a client acts for, as far as they decide which files it may be delegated for writing.

use std::sync::atomic::{AtomicU64, Ordering};

use proto::nfs4::ClientId;

use crate::recallable::Grant;
use crate::{Blocked, FileId, Now, State};

/// The unprivileged users of one client that have opened files or asked for access to them.
#[derive(Debug, Default)]
pub struct Users(AtomicU64);

/// Which users a client has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownUsers {
    /// None but the superuser.
    None,
    /// One.
    One(u32),
    /// More than one.
    Several,
}

const SEVERAL: u64 = u64::MAX;

impl Users {
    /// Notes a user. The superuser does not count: it may write to every file.
    pub fn note(&self, uid: u32) {
        if !self.knows(uid) {
            let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |known| match known {
                0 => Some(mark(uid)),
                SEVERAL => None,
                one => (one != mark(uid)).then_some(SEVERAL),
            });
        }
    }

    /// True when to note the user would change nothing.
    pub fn knows(&self, uid: u32) -> bool {
        uid == 0 || [mark(uid), SEVERAL].contains(&self.0.load(Ordering::SeqCst))
    }

    /// Those that were noted.
    pub fn known(&self) -> KnownUsers {
        match self.0.load(Ordering::SeqCst) {
            0 => KnownUsers::None,
            SEVERAL => KnownUsers::Several,
            one => KnownUsers::One((one - 1) as u32),
        }
    }
}

fn mark(uid: u32) -> u64 {
    u64::from(uid) + 1
}

impl State {
    /// True when the client itself holds a write delegation of the file.
    pub fn holds_write_delegation(&self, client: ClientId, file: FileId) -> bool {
        let shard = self.files.shard(file);
        shard.granted.load(Ordering::SeqCst) > 0
            && shard.files.lock().get(&file).is_some_and(|state| {
                state.grants.delegation_of(client).is_some_and(Grant::is_write_delegation)
            })
    }

    /// Checks that the client holds no write delegation of a file that one of its users may not write: it
    /// would send that user's truncation with the holder's credential.
    ///
    /// # Errors
    /// The delegation, to be tried again when it is gone.
    pub fn check_no_own_write_delegation(
        &self,
        client: ClientId,
        file: FileId,
        now: Now,
    ) -> Result<(), Blocked> {
        let obstacles = self.files.with(file, |state, _| {
            let is_own = |held: &Grant| held.client.id() == client && held.is_write_delegation();
            self.recalls(file, state, is_own, now)
        });
        if obstacles.is_empty() { Ok(()) } else { Err(Blocked::By(obstacles)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_superuser_is_not_counted_and_more_than_one_are_several() {
        let users = Users::default();
        users.note(0);
        assert_eq!(users.known(), KnownUsers::None);
        assert!(users.knows(0) && !users.knows(7));
        users.note(7);
        users.note(7);
        assert_eq!(users.known(), KnownUsers::One(7));
        assert!(users.knows(7) && !users.knows(u32::MAX));
        users.note(u32::MAX);
        users.note(7);
        assert_eq!(users.known(), KnownUsers::Several);
        assert!(users.knows(8));
    }
}
