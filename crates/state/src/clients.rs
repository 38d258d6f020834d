//! The records of clients by owner and by number (RFC 8881 §18.35).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::{ClientId, SequenceId, Status, Verifier};

use crate::accounts::RecordShares;
use crate::{Client, ClientAddress, Principal, SessionCreated, State};

#[derive(Debug, Default)]
pub(crate) struct Clients {
    pub(crate) table: Mutex<ClientTable>,
    /// Some client was here at some time: others must look out for state.
    pub(crate) seen: AtomicBool,
}

/// At most one confirmed and one unconfirmed record for each owner.
#[derive(Debug, Default)]
pub(crate) struct ClientTable {
    pub(crate) records: BTreeMap<ClientId, Record>,
    pub(crate) owners: BTreeMap<Bytes, Owned>,
    pub(crate) shares: RecordShares,
    pub(crate) next: u32,
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Owned {
    pub(crate) confirmed: Option<ClientId>,
    pub(crate) unconfirmed: Option<ClientId>,
}

/// A client as EXCHANGE_ID and CREATE_SESSION know it.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) owner: Bytes,
    /// Where the first request for it came from.
    pub(crate) address: ClientAddress,
    pub(crate) verifier: Verifier,
    pub(crate) confirmed: bool,
    /// The next CREATE_SESSION has this number.
    pub(crate) next_sequence: SequenceId,
    /// The outcome of the last CREATE_SESSION, for its retry.
    pub(crate) last_outcome: Option<Result<SessionCreated, Status>>,
    pub(crate) client: Arc<Client>,
}

impl ClientTable {
    pub(crate) fn remove(&mut self, id: ClientId) -> Option<Record> {
        let record = self.records.remove(&id)?;
        self.shares.remove(&record.address, id);
        if let Some(owned) = self.owners.get_mut(&record.owner) {
            for slot in [&mut owned.confirmed, &mut owned.unconfirmed] {
                if *slot == Some(id) {
                    *slot = None;
                }
            }
            if owned.confirmed.is_none() && owned.unconfirmed.is_none() {
                self.owners.remove(&record.owner);
            }
        }
        Some(record)
    }
}

impl State {
    /// Forgets a client that has nothing left (RFC 8881 §18.50). Client ids can be guessed: nobody else may
    /// end one, not even before it is confirmed.
    ///
    /// # Errors
    /// STALE_CLIENTID; WRONG_CRED for another principal; CLIENTID_BUSY while it has a session or state.
    pub fn destroy_client(&self, id: ClientId, principal: &Principal) -> Result<Arc<Client>, Status> {
        let mut table = self.clients.table.lock();
        let record = table.records.get(&id).ok_or(Status::StaleClientId)?;
        if record.client.principal() != principal {
            return Err(Status::WrongCredential);
        }
        if record.client.has_state() || self.sessions.count_of_client(id) > 0 {
            return Err(Status::ClientIdBusy);
        }
        let client = Arc::clone(&record.client);
        table.remove(id);
        client.leave();
        Ok(client)
    }

    /// Under what name a client is kept on stable storage, for its own principal.
    pub fn record_name_for(&self, id: ClientId, principal: &Principal) -> Option<Bytes> {
        let table = self.clients.table.lock();
        let client = &table.records.get(&id)?.client;
        (client.principal() == principal).then(|| client.record_name())
    }

    /// The minor version that a client was made in.
    ///
    /// # Errors
    /// STALE_CLIENTID.
    pub fn minor_version_of(&self, id: ClientId) -> Result<u32, Status> {
        let table = self.clients.table.lock();
        table.records.get(&id).map(|record| record.client.minor_version()).ok_or(Status::StaleClientId)
    }

    /// False until the first NFSv4 client comes: nobody can have an open or a delegation.
    pub fn has_seen_clients(&self) -> bool {
        self.clients.seen.load(Ordering::Relaxed)
    }

    /// Takes a client's number and sessions away. What it held stands until [`State::finish_expel`].
    pub(crate) fn replace(&self, table: &mut ClientTable, id: ClientId) -> Option<Arc<Client>> {
        let record = table.remove(id)?;
        record.client.leave();
        self.sessions.remove_of_client(id);
        Some(record.client)
    }
}
