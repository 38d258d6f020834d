//! CREATE_SESSION: its own little reply cache, confirmation, and the session itself (RFC 8881 §18.36.4).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use proto::nfs4::{ClientId, SequenceId, SessionId, Status, session_flags};

use crate::clients::{ClientTable, Record};
use crate::slots::Slots;
use crate::{ChannelLimits, Channels, Client, ConnectionId, Now, Principal, Session, State};

/// What CREATE_SESSION asks for, as far as state is concerned.
#[derive(Debug, Clone)]
pub struct CreateSession {
    /// The client.
    pub client: ClientId,
    /// The number of the request.
    pub sequence: SequenceId,
    /// Who asks.
    pub principal: Principal,
    /// The result of [`negotiate_channels`](crate::negotiate_channels).
    pub channels: Result<Channels, Status>,
    /// The flags of the answer.
    pub flags: u32,
    /// Random bytes: the session's id if one is made.
    pub id: SessionId,
    /// The connection of the request: it is associated with the session.
    pub connection: ConnectionId,
}

/// What CREATE_SESSION answers: the same for every retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionCreated {
    /// The session.
    pub session: SessionId,
    /// The number of the request.
    pub sequence: SequenceId,
    /// The flags of the answer.
    pub flags: u32,
    /// Limits of requests.
    pub fore_channel: ChannelLimits,
    /// Limits of callbacks.
    pub back_channel: ChannelLimits,
}

/// What a CREATE_SESSION has done.
#[derive(Debug)]
pub enum Creation {
    /// A session was made.
    New {
        /// The answer.
        created: SessionCreated,
        /// The client before its restart. What it held stands until [`State::finish_expel`], which is due
        /// when it is written down that nobody may reclaim it.
        replaced: Option<Arc<Client>>,
    },
    /// Nothing: it is a retry, and this was the answer.
    Replay(SessionCreated),
}

impl Creation {
    /// The answer.
    pub fn created(&self) -> &SessionCreated {
        match self {
            Self::New { created, .. } | Self::Replay(created) => created,
        }
    }
}

impl State {
    /// Makes a session, or repeats the answer to the request before. The first session of a client confirms
    /// it.
    ///
    /// # Errors
    /// STALE_CLIENTID, SEQ_MISORDERED, CLID_INUSE, TOOSMALL, and DELAY when the address has too many
    /// confirmed clients, none of which changes anything; NOSPC for too many sessions or no memory for one
    /// more, or what the negotiation failed with: these are answers that a retry gets again.
    pub fn create_session(&self, asked: &CreateSession, now: Now) -> Result<Creation, Status> {
        let mut locked = self.clients.table.lock();
        let table = &mut *locked;
        let record = table.records.get_mut(&asked.client).ok_or(Status::StaleClientId)?;
        if asked.sequence != record.next_sequence {
            return replay(record, asked).map(Creation::Replay);
        }
        if *record.client.principal() != asked.principal {
            // Somebody else's client id, confirmed or not: nothing is told or changed.
            return Err(Status::ClientIdInUse);
        }
        let restarts = table.owners.get(&record.owner).is_some_and(|owned| owned.confirmed.is_some());
        if !record.confirmed && !restarts && !table.shares.has_room(&record.address, self.limits.clients_max)
        {
            return Err(Status::Delay);
        }
        // Found from the arguments alone, before anything changes: the slot of the client id does not move.
        if let Err(Status::TooSmall) = asked.channels {
            return Err(Status::TooSmall);
        }
        record.next_sequence = asked.sequence.next();
        let outcome = self.make_session(record, asked, now);
        record.last_outcome = Some(outcome);
        let created = outcome?;
        self.clients.seen.store(true, Ordering::Relaxed);
        // Only a session that was made confirms its client.
        let replaced = confirm(table, asked.client).and_then(|before| self.replace(table, before));
        Ok(Creation::New { created, replaced })
    }

    fn make_session(
        &self,
        record: &Record,
        asked: &CreateSession,
        now: Now,
    ) -> Result<SessionCreated, Status> {
        let channels = asked.channels?;
        if self.sessions.count_of_client(asked.client) >= self.limits.sessions_per_client_max {
            return Err(Status::NoSpace);
        }
        let (count, reply_bytes_max) = (channels.fore.requests_max, channels.fore.cached_response_bytes_max);
        let slots = Slots::new(record.client.reply_share(), count, reply_bytes_max).ok_or(Status::NoSpace)?;
        record.client.renew(now);
        let persistent = asked.flags & session_flags::PERSIST != 0;
        let session = Session::new(asked.id, Arc::clone(&record.client), channels, slots, persistent);
        session.associate(asked.connection);
        self.sessions.insert(Arc::new(session));
        let (session, sequence, flags) = (asked.id, asked.sequence, asked.flags);
        let Channels { fore: fore_channel, back: back_channel } = channels;
        Ok(SessionCreated { session, sequence, flags, fore_channel, back_channel })
    }
}

/// The slot of the client id (RFC 8881 §18.36.4, phase 2).
fn replay(record: &Record, asked: &CreateSession) -> Result<SessionCreated, Status> {
    let is_last = asked.sequence.next() == record.next_sequence;
    match record.last_outcome {
        Some(_) if *record.client.principal() != asked.principal => Err(Status::ClientIdInUse),
        Some(outcome) if is_last => outcome,
        _ => Err(Status::SequenceMisordered),
    }
}

/// Confirms a record. Returns the one that it replaces, of the client before its restart.
fn confirm(table: &mut ClientTable, id: ClientId) -> Option<ClientId> {
    let record = table.records.get_mut(&id)?;
    if std::mem::replace(&mut record.confirmed, true) {
        return None;
    }
    table.shares.confirm(&record.address, id);
    let owned = table.owners.entry(record.owner.clone()).or_default();
    owned.unconfirmed = None;
    owned.confirmed.replace(id)
}
