//! The locks that callers of this process wait for at servers, and which GRANTED is accepted. No I/O.
//!
//! GRANTED only wakes the callers: they ask for the lock once more, and hold it when the server's reply says
//! so. A forged call therefore costs a request, and grants nothing.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nlm4::{Response, Status, TestArgs};

use crate::lock::from_wire;

/// Requests that are remembered; a caller beyond them polls.
const REQUESTS_MAX: usize = 65_536;
/// Requests from which on those of the past are looked for.
const SWEEP_MIN: usize = 64;

/// Sends the answer to GRANTED_MSG, which is a call of its own (GRANTED_RES).
pub(crate) type Responder = Arc<dyn Fn(Response) + Send + Sync>;

/// A lock that a server was asked for, as it stands in LOCK and comes back in GRANTED.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LockRequest {
    pub(crate) file: Bytes,
    /// Holds random bits, so that only the server and its network know it.
    pub(crate) owner: Bytes,
    pub(crate) offset: u64,
    /// 0 to the end of the file.
    pub(crate) length: u64,
    pub(crate) exclusive: bool,
}

impl From<&TestArgs> for LockRequest {
    /// A copy that does not keep the whole record.
    fn from(arguments: &TestArgs) -> Self {
        Self {
            file: Bytes::copy_from_slice(&arguments.lock.file.0),
            owner: Bytes::copy_from_slice(&arguments.lock.owner.0),
            offset: arguments.lock.offset,
            length: arguments.lock.length,
            exclusive: arguments.exclusive,
        }
    }
}

impl LockRequest {
    fn range(&self) -> Range<u64> {
        from_wire(self.offset, if self.length == 0 { u64::MAX } else { self.length })
    }
}

/// The owner of locks at the server: an open file.
pub(crate) trait LockHolder: Send + Sync {
    /// Wakes the callers that wait.
    fn wake(&self);

    /// True when it holds a lock on a part of the range.
    fn holds_part_of(&self, range: &Range<u64>) -> bool;
}

/// Tells the attachments of one server apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerId(u64);

/// What servers are asked for.
#[derive(Default)]
pub(super) struct Waits {
    requests: Mutex<Requests>,
    servers: Mutex<BTreeMap<IpAddr, Vec<(ServerId, Responder)>>>,
    next_server: AtomicU64,
}

#[derive(Default)]
struct Requests {
    by_server: HashMap<(IpAddr, LockRequest), Request>,
    /// The count from which on requests of the past are looked for.
    sweep_at: usize,
}

struct Request {
    /// Callers that wait. Without any, the request is remembered while its owner may hold the lock: a server
    /// that has lost our answer sends GRANTED again, and Linux's would take the lock back when it is denied.
    callers: usize,
    is_granted: bool,
    holder: Weak<dyn LockHolder>,
}

impl Request {
    fn is_past(&self, request: &LockRequest) -> bool {
        self.callers == 0
            && !self.holder.upgrade().is_some_and(|holder| holder.holds_part_of(&request.range()))
    }
}

impl Waits {
    pub(super) fn add_server(&self, server: IpAddr, respond: Responder) -> ServerId {
        let id = ServerId(self.next_server.fetch_add(1, Ordering::Relaxed));
        self.servers.lock().entry(server).or_default().push((id, respond));
        id
    }

    pub(super) fn remove_server(&self, server: IpAddr, id: ServerId) {
        let mut servers = self.servers.lock();
        if let Some(attached) = servers.get_mut(&server) {
            attached.retain(|(of, _)| *of != id);
            if attached.is_empty() {
                servers.remove(&server);
            }
        }
    }

    /// How answers get to a host; `None` when no mount talks to it.
    pub(super) fn responder(&self, server: IpAddr) -> Option<Responder> {
        self.servers.lock().get(&server)?.first().map(|(_, respond)| Arc::clone(respond))
    }

    /// Answers GRANTED.
    pub(super) fn granted(&self, server: IpAddr, request: LockRequest) -> Status {
        if self.responder(server).is_none() {
            return Status::Denied;
        }
        let key = (server, request);
        let holder = {
            let mut requests = self.requests.lock();
            let Some(known) = requests.by_server.get_mut(&key) else { return Status::Denied };
            if known.callers == 0 {
                let is_past = known.is_past(&key.1);
                if is_past {
                    requests.by_server.remove(&key);
                }
                return if is_past { Status::Denied } else { Status::Granted };
            }
            known.is_granted = true;
            known.holder.upgrade()
        };
        let Some(holder) = holder else { return Status::Denied };
        holder.wake();
        Status::Granted
    }
}

/// A caller that waits for a lock at a server, until it is dropped. The owner has the lock in its table by
/// then, or its UNLOCK follows.
pub(crate) struct LockWait {
    waits: Arc<Waits>,
    key: (IpAddr, LockRequest),
}

impl LockWait {
    pub(super) fn begin(
        waits: &Arc<Waits>,
        server: IpAddr,
        request: LockRequest,
        holder: Weak<dyn LockHolder>,
    ) -> Option<Self> {
        let key = (server, request);
        let mut requests = waits.requests.lock();
        let Requests { by_server, sweep_at } = &mut *requests;
        if by_server.len() >= (*sweep_at).max(SWEEP_MIN) {
            by_server.retain(|(_, request), of| !of.is_past(request));
            *sweep_at = by_server.len() * 2;
        }
        if by_server.len() >= REQUESTS_MAX && !by_server.contains_key(&key) {
            return None;
        }
        let request = by_server.entry(key.clone()).or_insert_with(|| Request {
            callers: 0,
            is_granted: false,
            holder: Weak::clone(&holder),
        });
        if request.callers == 0 {
            request.is_granted = false;
            request.holder = holder;
        }
        request.callers += 1;
        Some(Self { waits: Arc::clone(waits), key })
    }

    /// True when the server has called since the wait began.
    pub(crate) fn is_granted(&self) -> bool {
        self.waits.requests.lock().by_server.get(&self.key).is_some_and(|request| request.is_granted)
    }
}

impl Drop for LockWait {
    fn drop(&mut self) {
        let mut requests = self.waits.requests.lock();
        if let Some(request) = requests.by_server.get_mut(&self.key) {
            request.callers = request.callers.saturating_sub(1);
        }
    }
}

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waits")
            .field("requests", &self.requests.lock().by_server.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
