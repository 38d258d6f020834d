//! CREATE_SESSION: its own little reply cache, confirmation, and the session itself (RFC 8881 §18.36.4).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use proto::nfs4::{ClientId, SequenceId, SessionId, Status};

use crate::clients::{ClientTable, Record};
use crate::{ChannelLimits, Client, Now, Principal, Session, State};

/// What CREATE_SESSION asks for, as far as state is concerned.
#[derive(Debug, Clone)]
pub struct CreateSession {
    /// The client.
    pub client: ClientId,
    /// The number of the request.
    pub sequence: SequenceId,
    /// Who asks.
    pub principal: Principal,
    /// What was negotiated for requests, or why not.
    pub fore_channel: Result<ChannelLimits, Status>,
    /// What was negotiated for callbacks.
    pub back_channel: ChannelLimits,
    /// The flags of the answer.
    pub flags: u32,
    /// Random bytes: the session's id if one is made.
    pub id: SessionId,
}

/// What CREATE_SESSION answers.
#[derive(Debug, Clone)]
pub struct SessionCreated {
    /// The session.
    pub session: Arc<Session>,
    /// The number of the request.
    pub sequence: SequenceId,
    /// The flags of the answer.
    pub flags: u32,
    /// True the first time, false for a retry.
    pub fresh: bool,
    /// The client before its restart, which has lost everything: its record is to be removed from stable storage.
    pub replaced: Option<Arc<Client>>,
}

impl State {
    /// Makes a session, or repeats the answer to the request before.
    ///
    /// # Errors
    /// STALE_CLIENTID, SEQ_MISORDERED, CLID_INUSE; NOSPC for too many sessions; what the negotiation failed with.
    pub fn create_session(&self, asked: &CreateSession, now: Now) -> Result<SessionCreated, Status> {
        let mut table = self.clients.table.lock();
        let record = table.records.get_mut(&asked.client).ok_or(Status::StaleClientId)?;
        if asked.sequence != record.next_sequence {
            return retry(record, asked);
        }
        if record.principal != asked.principal {
            // Somebody else's client id, confirmed or not: nothing is told or changed.
            return Err(Status::ClientIdInUse);
        }
        record.next_sequence = asked.sequence.next();
        self.clients.seen.store(true, Ordering::Relaxed);
        let replaced = confirm(&mut table, asked.client);
        let outcome = self.make_session(&table, asked, now);
        if let Some(record) = table.records.get_mut(&asked.client) {
            record.last_outcome = Some(outcome.clone());
        }
        drop(table);
        if let Some(record) = &replaced {
            self.discard_client(record);
        }
        outcome.map(|created| SessionCreated { replaced: replaced.map(|record| record.client), ..created })
    }

    fn make_session(
        &self,
        table: &ClientTable,
        asked: &CreateSession,
        now: Now,
    ) -> Result<SessionCreated, Status> {
        let fore = asked.fore_channel?;
        if self.sessions.count_of_client(asked.client) >= self.limits.sessions_per_client_max {
            return Err(Status::NoSpace);
        }
        let record = table.records.get(&asked.client).ok_or(Status::StaleClientId)?;
        record.client.renew(now);
        let session = Arc::new(Session::new(asked.id, Arc::clone(&record.client), fore, asked.back_channel));
        self.sessions.insert(Arc::clone(&session));
        Ok(SessionCreated {
            session,
            sequence: asked.sequence,
            flags: asked.flags,
            fresh: true,
            replaced: None,
        })
    }
}

fn retry(record: &Record, asked: &CreateSession) -> Result<SessionCreated, Status> {
    let is_last = asked.sequence.next() == record.next_sequence;
    match &record.last_outcome {
        Some(_) if record.principal != asked.principal => Err(Status::ClientIdInUse),
        Some(outcome) if is_last => outcome.clone().map(|created| SessionCreated { fresh: false, ..created }),
        _ => Err(Status::SequenceMisordered),
    }
}

/// Confirms a record. The one that it replaces, of the client before its restart, is returned to be discarded.
fn confirm(table: &mut ClientTable, id: ClientId) -> Option<Record> {
    let record = table.records.get_mut(&id)?;
    if std::mem::replace(&mut record.confirmed, true) {
        return None;
    }
    let owner = record.owner.clone();
    let before = table.owners.get(&owner).and_then(|owned| owned.confirmed);
    let replaced = before.and_then(|before| table.remove(before));
    let owned = table.owners.entry(owner).or_default();
    owned.confirmed = Some(id);
    owned.unconfirmed = None;
    replaced
}
