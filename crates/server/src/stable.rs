//! What a server has on stable storage: the names of clients that hold state (RFC 8881 §8.4.3), who may
//! reclaim after a restart, the hosts that hold locks through NLM and must be told of it, and the reply
//! caches of persistent sessions (§2.10.6.5).
//!
//! The order is what matters: a name is added before its client is given anything, removed before what it
//! held is given to others, and the grace period is written down as over before anything new is given. Of a
//! request on a persistent session, what it is about to do is written before it is done, and its reply before
//! what any later request is about to do.

use std::io;

use bytes::Bytes;
use proto::nfs4::{ClientId, SessionId, SlotId};
use state::Lost;

use crate::hosts::HostRoute;
use crate::runtime::BoxFuture;

/// A persistent session as a server finds it that starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// Its id.
    pub id: SessionId,
    /// How many servers have started since it was made, this one included.
    pub restarts: u32,
    /// What it was added with.
    pub record: Bytes,
    /// What its slots were last set to.
    pub slots: Vec<(SlotId, Bytes)>,
}

/// A host that locks through NLM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredHost {
    /// Its address, a space, and what it calls itself: as the table of locks has it.
    pub name: Bytes,
    /// How it is reached.
    pub route: HostRoute,
}

/// Keeps names and sessions. Every change is on stable storage when its future ends, and changes take effect
/// in the order in which they were asked for.
///
/// A change whose future fails has no effect, and may be asked for again. The exceptions are changes of
/// facts, [`forget`], [`remove_host`], [`host_told`], [`set_slot_soon`] and [`remove_session`]: where one
/// fails, it is on stable storage before any later change is.
///
/// [`forget`]: StableRecords::forget
/// [`remove_host`]: StableRecords::remove_host
/// [`host_told`]: StableRecords::host_told
/// [`set_slot_soon`]: StableRecords::set_slot_soon
/// [`remove_session`]: StableRecords::remove_session
pub trait StableRecords: Send + Sync + 'static {
    /// Adds a client, in place of an earlier one of the same owner: that is gone, and must not come back by
    /// its name when this one is removed. With it is kept what the client has lost: after a restart it may
    /// not take that back, for it may not know (RFC 8881 §8.4.3).
    fn add(&self, client: ClientId, owner: Bytes, lost: Lost) -> BoxFuture<io::Result<()>>;

    /// Removes a client, if its owner's record is not that of a later one; one that is not there is no error.
    fn remove(&self, client: ClientId, owner: Bytes) -> BoxFuture<io::Result<()>>;

    /// As [`StableRecords::remove`], for a client that holds nothing. Where that fails the client is
    /// removed as soon as records can be written again.
    fn forget(&self, client: ClientId, owner: Bytes) -> BoxFuture<io::Result<()>> {
        self.remove(client, owner)
    }

    /// Forgets those who could have reclaimed and did not.
    fn end_grace(&self) -> BoxFuture<io::Result<()>>;

    /// True when hosts can be kept. Otherwise none is told of a restart, and the methods about hosts do
    /// nothing.
    fn keeps_hosts(&self) -> bool {
        false
    }

    /// Adds a host that is about to hold locks, or replaces what was kept of it.
    fn add_host(&self, _host: StoredHost) -> BoxFuture<io::Result<()>> {
        nothing()
    }

    /// Removes a host that holds nothing; one that is not there is no error.
    fn remove_host(&self, _name: Bytes) -> BoxFuture<io::Result<()>> {
        nothing()
    }

    /// A host has been told of the restart, or cannot be.
    fn host_told(&self, _name: Bytes) -> BoxFuture<io::Result<()>> {
        nothing()
    }

    /// True when sessions can be kept. Otherwise no session is persistent, and the methods below do nothing.
    fn keeps_sessions(&self) -> bool {
        false
    }

    /// Adds a session without slots.
    fn add_session(&self, _id: SessionId, _record: Bytes) -> BoxFuture<io::Result<()>> {
        nothing()
    }

    /// Sets what is kept of a slot, in place of what was. A session that is not there has no slots.
    fn set_slot(&self, _session: SessionId, _slot: SlotId, _record: Bytes) -> BoxFuture<io::Result<()>> {
        nothing()
    }

    /// As [`StableRecords::set_slot`]; when nobody asks for anything else, it may take a moment longer.
    fn set_slot_soon(&self, session: SessionId, slot: SlotId, record: Bytes) -> BoxFuture<io::Result<()>> {
        self.set_slot(session, slot, record)
    }

    /// Removes a session with its slots; one that is not there is no error.
    fn remove_session(&self, _id: SessionId) -> BoxFuture<io::Result<()>> {
        nothing()
    }
}

fn nothing() -> BoxFuture<io::Result<()>> {
    Box::pin(std::future::ready(Ok(())))
}

/// Remembers nothing: after a restart nobody may reclaim.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forgetful;

impl StableRecords for Forgetful {
    fn add(&self, _: ClientId, _: Bytes, _: Lost) -> BoxFuture<io::Result<()>> {
        nothing()
    }

    fn remove(&self, _: ClientId, _: Bytes) -> BoxFuture<io::Result<()>> {
        nothing()
    }

    fn end_grace(&self) -> BoxFuture<io::Result<()>> {
        nothing()
    }
}
