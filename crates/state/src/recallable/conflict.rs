//! Uses of a file that grants of others conflict with, and the recall of those grants.

use std::sync::atomic::{AtomicUsize, Ordering};

use proto::nfs4::{ClientId, Status};

use super::grant::Grant;
use crate::file::FileState;
use crate::steps::step;
use crate::{Blocked, FileId, Io, Now, Obstacles, Range, Recall, State};

/// A use of a file, before which conflicting grants of other clients are recalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// The access. Changes of names and attributes are writes.
    pub io: Io,
    /// The range of the file that is used.
    pub range: Range,
}

impl Usage {
    /// A use of the whole file that reads.
    pub const READ: Self = Self { io: Io::Read, range: Range::ALL };
    /// A use of the whole file that writes.
    pub const WRITE: Self = Self { io: Io::Write, range: Range::ALL };

    /// A use of the whole file that writes or only reads.
    pub(crate) fn of_all(writes: bool) -> Self {
        if writes { Self::WRITE } else { Self::READ }
    }
}

/// A change under way by a caller without an open. As long as it lives, nothing of the file is granted.
#[derive(Debug)]
pub struct Changing<'a>(&'a AtomicUsize);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl State {
    /// Begins a change of a file (data, attributes or names) by `client`; `None` for a caller that is no
    /// NFSv4 client.
    ///
    /// Costs two atomic operations where nothing is granted.
    ///
    /// # Errors
    /// GRACE, while a delegation of the file may not have been reclaimed yet; the state in conflict, without
    /// which the change may be tried again.
    pub fn begin_change(
        &self,
        file: FileId,
        client: Option<ClientId>,
        now: Now,
    ) -> Result<Changing<'_>, Blocked> {
        if self.awaits_clients() {
            return Err(Status::Grace.into());
        }
        self.begin_entry_change(file, client, now)
    }

    /// Begins a change of a directory's entries by `client`. Like [`State::begin_change`], but does not wait
    /// for a grace period: delegations of directories are not reclaimed.
    ///
    /// # Errors
    /// The state in conflict, without which the change may be tried again.
    pub fn begin_entry_change(
        &self,
        directory: FileId,
        client: Option<ClientId>,
        now: Now,
    ) -> Result<Changing<'_>, Blocked> {
        let shard = self.files.shard(directory);
        shard.changing.fetch_add(1, Ordering::SeqCst);
        let changing = Changing(&shard.changing);
        // A grant counts itself before it looks at `changing`, so one of the two sees the other.
        let obstacles = self.conflicts(directory, client, &Usage::WRITE, now);
        if obstacles.is_empty() { Ok(changing) } else { Err(Blocked::By(obstacles)) }
    }

    /// The grants of other clients that conflict with a read of the whole file by `client`; `None` for a
    /// caller that is no NFSv4 client.
    pub fn read_conflicts(&self, file: FileId, client: Option<ClientId>, now: Now) -> Obstacles {
        self.conflicts(file, client, &Usage::READ, now)
    }

    /// The grants of other clients that conflict with a use by `client`; `None` for a caller that is no NFSv4
    /// client. Costs one atomic operation where nothing is granted.
    pub fn conflicts(&self, file: FileId, client: Option<ClientId>, usage: &Usage, now: Now) -> Obstacles {
        if self.files.shard(file).granted.load(Ordering::SeqCst) == 0 {
            return Obstacles::default();
        }
        self.files.with(file, |state, _| self.conflicts_in(file, state, client, usage, now))
    }

    pub(crate) fn conflicts_in(
        &self,
        file: FileId,
        state: &mut FileState,
        client: Option<ClientId>,
        usage: &Usage,
        now: Now,
    ) -> Obstacles {
        if !state.grants.may_conflict(usage) {
            return Obstacles::default();
        }
        let conflicts = |held: &Grant| {
            Some(held.client.id()) != client
                && held.range.overlaps(&usage.range)
                && (held.kind.conflicts)(usage)
        };
        self.recalls(file, state, conflicts, now)
    }

    /// The grants of a file that `conflicts` selects. The time for their return begins with
    /// [`State::begin_recall`].
    pub(crate) fn recalls(
        &self,
        file: FileId,
        state: &mut FileState,
        conflicts: impl Fn(&Grant) -> bool,
        now: Now,
    ) -> Obstacles {
        let mut obstacles = Obstacles::default();
        for held in state.grants.iter().inspect(|_| step()).filter(|held| conflicts(held)) {
            if self.has_lapsed(&held.client, now) {
                obstacles.add_lapsed(&held.client);
                continue;
            }
            let (client, state_id) = (held.client.id(), held.state_id());
            obstacles.recalls.push(Recall { client, file, state_id, kind: held.kind, range: held.range });
        }
        if !obstacles.recalls.is_empty() {
            state.recalled = Some(now);
        }
        obstacles
    }

    /// Begins the recall of a grant: its holder has [`Limits::recall_ms`](crate::Limits::recall_ms) to return
    /// it. True the first time: the callback of its kind must be sent.
    pub fn begin_recall(&self, recall: &Recall, now: Now) -> bool {
        self.files.with(recall.file, |state, _| {
            let held = state.grants.get_mut(&recall.state_id.other);
            held.is_some_and(|held| held.begin_recall(now, self.limits.recall_ms))
        })
    }

    /// Counts a callback that is about to be sent for a recall. Returns the number of callbacks for this
    /// grant, or `None` once it has ended, when none is to be sent.
    pub fn begin_callback(&self, recall: &Recall) -> Option<u32> {
        let shard = self.files.shard(recall.file);
        if shard.granted.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let mut files = shard.files.lock();
        let held = files.get_mut(&recall.file)?.grants.get_mut(&recall.state_id.other)?;
        let recalled = held.recall.as_mut()?;
        recalled.callbacks = recalled.callbacks.saturating_add(1);
        Some(recalled.callbacks)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use proto::nfs4::{ChannelAttributes, SessionId, Verifier};

    use super::*;
    use crate::recallable::DelegationKind;
    use crate::steps::steps_of;
    use crate::{Client, ClientAddress, ConnectionId, CreateSession, ExchangeId, Limits, Principal};

    const FILE: FileId = FileId(7, 1);
    const NOW: Now = Now(1000);

    fn client(state: &State, number: u8) -> Arc<Client> {
        let (owner, address) = (Bytes::copy_from_slice(&[number]), ClientAddress::default());
        let (principal, verifier) = (Principal(owner.clone()), Verifier([1; 8]));
        let asked = ExchangeId {
            owner,
            verifier,
            principal: principal.clone(),
            address,
            update: false,
            minor_version: 1,
        };
        let exchanged = state.exchange_id(&asked, NOW).unwrap();
        let channel = ChannelAttributes {
            header_pad_bytes: 0,
            request_bytes_max: 4096,
            response_bytes_max: 4096,
            cached_response_bytes_max: 4096,
            operations_max: 16,
            requests_max: 1,
            rdma_ird: vec![],
        };
        let request = CreateSession {
            client: exchanged.client,
            sequence: exchanged.sequence,
            principal,
            channels: crate::negotiate_channels(&channel, &channel, false, state.limits()),
            flags: 0,
            id: SessionId([number; 16]),
            connection: ConnectionId(1),
        };
        let session = state.session(state.create_session(&request, NOW).unwrap().created().session).unwrap();
        session.client().set_recorded();
        state.reclaim_complete(session.client()).unwrap();
        Arc::clone(session.client())
    }

    #[test]
    fn reads_take_no_step_however_many_read_delegations_there_are() {
        let state = State::new(Limits::default(), 1);
        let holders: Vec<_> = (0..50).map(|number| client(&state, number)).collect();
        for holder in &holders {
            let granted = state.delegate_file(holder, FILE, DelegationKind::Read, false, NOW).unwrap();
            assert!(granted.is_some());
        }
        let reader = client(&state, 50);
        let read = || assert!(state.read_conflicts(FILE, Some(reader.id()), NOW).is_empty());
        assert_eq!(steps_of(read), 0);
        let write = || {
            let found = state.conflicts(FILE, Some(reader.id()), &Usage::WRITE, NOW);
            assert_eq!(found.recalls.len(), holders.len());
        };
        assert_eq!(steps_of(write), holders.len() as u64);
    }

    #[test]
    fn reads_recall_a_write_delegation_until_it_is_returned() {
        let state = State::new(Limits::default(), 1);
        let (holder, reader) = (client(&state, 0), client(&state, 1));
        let granted = state.delegate_file(&holder, FILE, DelegationKind::Write, false, NOW).unwrap();
        let found = || state.read_conflicts(FILE, Some(reader.id()), NOW).recalls.len();
        assert_eq!(found(), 1);
        state.return_delegation(&holder, &granted.unwrap()).unwrap();
        assert_eq!(found(), 0);
    }
}
