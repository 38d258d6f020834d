//! What clients ask for, in the terms that the checkers think in; [`crate::wire`] turns it into bytes.

use proto::nfs4::{ClientId, DelegationType, FileHandle, SequenceId, SessionId, StateId, Status};

/// A machine, and which of its lives: it may die and come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Life {
    pub machine: usize,
    pub life: u32,
}

/// Who opens and locks within a machine.
pub type Owner = u32;

/// A number that is kept in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    pub file: String,
    pub offset: u64,
}

/// Bytes of a [`Cell`].
pub const CELL_BYTES: u64 = 8;

/// The session of clients that speak NFSv3 and NLM: their slot is the machine's, and no request is sent
/// twice.
pub const STATELESS: SessionId = SessionId([0xff; 16]);

/// The way of a request into a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub session: SessionId,
    pub slot: u32,
    pub sequence: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    ExchangeId {
        owner: String,
        verifier: u32,
    },
    CreateSession {
        client: ClientId,
        sequence: SequenceId,
    },
    /// Callbacks may use this connection.
    Bind {
        session: SessionId,
    },
    InSession {
        place: Place,
        cache_this: bool,
        action: Action,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Create {
    Unchecked,
    Guarded,
    /// With the verifier.
    Exclusive(u64),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Only renews the lease.
    Nothing,
    ReclaimComplete,
    /// Of a client without state.
    Lookup {
        file: String,
    },
    Open {
        file: String,
        owner: Owner,
        access: u32,
        deny: u32,
        create: Create,
    },
    /// What was open before the server's restart.
    ReclaimOpen {
        file: String,
        handle: FileHandle,
        owner: Owner,
        access: u32,
        deny: u32,
        delegation: DelegationType,
    },
    Close {
        handle: FileHandle,
        state_id: StateId,
    },
    Lock {
        file: String,
        handle: FileHandle,
        owner: Owner,
        open: StateId,
        /// What the owner has locked before under the same open, and unlocked.
        existing: Option<StateId>,
        offset: u64,
        length: u64,
        exclusive: bool,
        reclaim: bool,
    },
    Unlock {
        handle: FileHandle,
        state_id: StateId,
        offset: u64,
        length: u64,
    },
    Read {
        cell: Cell,
        handle: FileHandle,
        state_id: StateId,
    },
    Return {
        handle: FileHandle,
        state_id: StateId,
    },
    Test {
        state_id: StateId,
    },
    Free {
        state_id: StateId,
    },
    /// By somebody who need not have the file open.
    SetMode {
        file: String,
        handle: FileHandle,
        mode: u32,
    },
    Remove {
        name: String,
    },
    Rename {
        from: String,
        to: String,
    },
    /// CANCEL: a host gives up waiting for a lock.
    Cancel {
        handle: FileHandle,
        offset: u64,
        length: u64,
    },
    /// NOTIFY, or FREE_ALL: a host has restarted, and has this state number.
    Notify {
        state: i32,
        by_free_all: bool,
    },
    /// `job` tells apart who writes the same number.
    Write {
        cell: Cell,
        handle: FileHandle,
        state_id: StateId,
        value: u64,
        job: u64,
    },
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// SEQUENCE failed, or the only operation: nothing was carried out.
    Refused(Status),
    /// An operation after SEQUENCE failed.
    Failed(Status),
    Done(Done),
}

/// What a success says; what it does not say is left at its default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Done {
    /// Of SEQUENCE.
    pub flags: u32,
    pub client: Option<ClientId>,
    pub sequence: Option<SequenceId>,
    pub session: Option<SessionId>,
    pub handle: Option<FileHandle>,
    pub state_id: Option<StateId>,
    pub value: u64,
    /// Of OPEN; true for a write delegation.
    pub delegation: Option<(StateId, bool)>,
    /// What TEST_STATEID says.
    pub tested: Option<Status>,
}
