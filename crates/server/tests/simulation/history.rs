//! What happened in a run, in order: what checkers look at.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use proto::nfs4::{ClientId, StateId};

use crate::action::{Cell, Life, Outcome, Owner, Request};
use crate::host::Clock;
use crate::plan::Fault;

/// Something that a client believes to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holding {
    Share {
        file: String,
        owner: Owner,
        access: u32,
        deny: u32,
    },
    /// For as long as one request takes.
    Attributes {
        file: String,
    },
    /// Of a machine as a whole.
    Delegation {
        file: String,
        write: bool,
    },
    Lock {
        file: String,
        owner: Owner,
        offset: u64,
        length: u64,
        exclusive: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// The server starts.
    Boot {
        remembers: bool,
    },
    /// A request is sent, or sent again.
    Sent {
        tag: u64,
    },
    Arrived {
        tag: u64,
    },
    /// The server has answered, whether or not that gets through.
    Answered {
        tag: u64,
        reply: Bytes,
        outcome: Outcome,
    },
    /// A client has the reply and believes it.
    Received {
        tag: u64,
    },
    /// A client learns that it has something; `client` is whose lease it hangs on.
    Held {
        life: Life,
        client: ClientId,
        hold: u64,
        state_id: StateId,
        holding: Holding,
    },
    /// A client gives up something, or learns that it has lost it.
    Released {
        hold: u64,
    },
    /// A client is told to give back a delegation.
    Recalled {
        hold: u64,
    },
    /// A client uses what it has read under a delegation.
    ReadMemory {
        hold: u64,
        cell: Cell,
        value: u64,
    },
    /// Something that no rule allows.
    Unexpected(String),
    Fault(Fault),
    /// From now on everything works.
    Calm,
    /// GRANTED has come to a host, which has accepted it or not.
    Granted {
        accepted: bool,
    },
    /// GRANTED, or its only copy so far, was lost.
    GrantedLost,
    /// When all clients are done: the hosts that hold locks at the server.
    Left(Vec<Bytes>),
    /// A client has done one of its jobs.
    Finished {
        life: Life,
        job: u64,
    },
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub at_ms: u64,
    /// The same on the server's clock.
    pub server_ms: u64,
    pub what: What,
}

#[derive(Debug, Clone, Default)]
pub struct History {
    pub entries: Vec<Entry>,
    /// The requests by their tags; one that is sent again keeps its tag.
    pub requests: BTreeMap<u64, (Life, Request)>,
}

impl History {
    pub fn log(&mut self, clock: &Clock, what: What) {
        self.entries.push(Entry { at_ms: clock.now(), server_ms: clock.server(), what });
    }
}

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            write!(f, "{:>8} ms ", entry.at_ms)?;
            match &entry.what {
                What::Sent { tag } => {
                    let (life, request) = &self.requests[tag];
                    writeln!(f, "{}.{} sends #{tag} {request:?}", life.machine, life.life)?;
                }
                What::Answered { tag, outcome, .. } => {
                    writeln!(f, "server answers #{tag} {outcome:?}")?;
                }
                other => writeln!(f, "{other:?}")?,
            }
        }
        Ok(())
    }
}
