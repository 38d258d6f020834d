//! EXCHANGE_ID's cases (RFC 8881 §18.35.4–5).

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{ClientId, SequenceId, Status, Verifier, exchange_flags};

use crate::clients::{ClientTable, Record};
use crate::kept::own;
use crate::{Client, ClientAddress, Now, State};

/// Who sends requests: whatever the server tells callers apart by, as bytes. Only its owner may touch a
/// client's record; the requests inside a session may come from anybody on that client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal(pub Bytes);

/// What EXCHANGE_ID asks for.
#[derive(Debug, Clone)]
pub struct ExchangeId {
    /// The client's own, lasting name.
    pub owner: Bytes,
    /// Changes when the client restarts.
    pub verifier: Verifier,
    /// Who asks.
    pub principal: Principal,
    /// Where the request came from: tables are shared by address.
    pub address: ClientAddress,
    /// UPDATE_CONFIRMED_RECORD_A is set.
    pub update: bool,
    /// Of the COMPOUND that asks. A client keeps to one (RFC 8178 §8.1): who comes again with another has
    /// begun anew.
    pub minor_version: u32,
}

/// What EXCHANGE_ID answers.
#[derive(Debug, Clone)]
pub struct ExchangedId {
    /// The client's number.
    pub client: ClientId,
    /// For its next CREATE_SESSION.
    pub sequence: SequenceId,
    /// The record is confirmed.
    pub confirmed: bool,
    /// Who had the name before and has lost it. What it held stands until [`State::finish_expel`], which is
    /// due when it is written down that nobody may reclaim it.
    pub replaced: Option<Arc<Client>>,
}

impl ExchangedId {
    /// The flag for the reply.
    pub fn flags(&self) -> u32 {
        if self.confirmed { exchange_flags::CONFIRMED } else { 0 }
    }
}

impl State {
    /// Finds or makes the record of a client.
    ///
    /// # Errors
    /// INVAL for an empty name: it cannot tell two clients apart (RFC 8881 §2.4). CLID_INUSE, NOENT,
    /// NOT_SAME, PERM as the cases have it; DELAY when there are too many clients, in all or of the address.
    pub fn exchange_id(&self, asked: &ExchangeId, now: Now) -> Result<ExchangedId, Status> {
        if asked.owner.is_empty() {
            return Err(Status::Invalid);
        }
        let mut table = self.clients.table.lock();
        let owned = table.owners.get(&asked.owner).copied().unwrap_or_default();
        let confirmed = owned.confirmed.and_then(|id| table.records.get(&id));
        if asked.update {
            return update(confirmed, asked);
        }
        let mut loser = None;
        if let Some(record) = confirmed {
            if *record.client.principal() != asked.principal {
                // Case 3: a collision.
                if self.is_in_use(&record.client, now) {
                    return Err(Status::ClientIdInUse);
                }
                loser = Some(record.client.id());
            } else if is_same(record, asked) {
                // Case 2: the client lost our reply, or asks again, or looks for trunks.
                return Ok(exchanged(record));
            }
            // Case 5, a restart of the client: the confirmed record stays until the new one is confirmed.
        }
        // Case 4: an unconfirmed record is replaced. Nothing can hang on it, for it never had a session.
        if let Some(id) = owned.unconfirmed {
            table.remove(id);
        }
        let replaced = loser.and_then(|id| self.replace(&mut table, id));
        let restarts = loser.is_none() && owned.confirmed.is_some();
        let exchanged = self.add_record(&mut table, asked, restarts, now)?;
        Ok(ExchangedId { replaced, ..exchanged })
    }

    /// True while a client's name is not to be had by another principal: it has state, of which its sessions
    /// are a part, and a lease.
    fn is_in_use(&self, client: &Client, now: Now) -> bool {
        let has_state = client.has_state() || self.sessions.count_of_client(client.id()) > 0;
        has_state && !self.has_lapsed(client, now)
    }

    fn add_record(
        &self,
        table: &mut ClientTable,
        asked: &ExchangeId,
        restarts: bool,
        now: Now,
    ) -> Result<ExchangedId, Status> {
        let max = self.limits.clients_max;
        // A client that has restarted will have one record, as before.
        if !restarts && !table.shares.has_room(&asked.address, max) {
            return Err(Status::Delay);
        }
        while table.records.len() >= max {
            // No state depends on an unconfirmed record; its client gets STALE_CLIENTID and asks again.
            let yielding = table.shares.yielding().ok_or(Status::Delay)?;
            table.remove(yielding);
        }
        table.next = table.next.wrapping_add(1);
        let id = ClientId(u64::from(self.boot) << 32 | u64::from(table.next));
        let (owner, principal) = (own(&asked.owner), asked.principal.clone());
        let may_reclaim = self.is_known(&owner, &principal);
        let record = Record {
            owner: owner.clone(),
            address: ClientAddress(own(&asked.address.0)),
            verifier: asked.verifier,
            confirmed: false,
            next_sequence: SequenceId(1),
            last_outcome: None,
            client: Arc::new(Client::new(
                id,
                owner,
                principal,
                self.accounts.of(&asked.address),
                asked.minor_version,
                may_reclaim,
                now,
            )),
        };
        let answer = exchanged(&record);
        table.shares.add_unconfirmed(&record.address, id);
        table.records.insert(id, record);
        table.owners.entry(own(&asked.owner)).or_default().unconfirmed = Some(id);
        Ok(answer)
    }
}

/// True for the incarnation of the client that made the record.
fn is_same(record: &Record, asked: &ExchangeId) -> bool {
    record.verifier == asked.verifier && record.client.minor_version() == asked.minor_version
}

/// Cases 6 to 9.
fn update(confirmed: Option<&Record>, asked: &ExchangeId) -> Result<ExchangedId, Status> {
    let record = confirmed.ok_or(Status::NoEntry)?;
    if !is_same(record, asked) {
        return Err(Status::NotSame);
    }
    if *record.client.principal() != asked.principal {
        return Err(Status::NotPermitted);
    }
    Ok(exchanged(record))
}

fn exchanged(record: &Record) -> ExchangedId {
    ExchangedId {
        client: record.client.id(),
        sequence: record.next_sequence,
        confirmed: record.confirmed,
        replaced: None,
    }
}
