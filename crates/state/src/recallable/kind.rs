//! The rules in which kinds of recallable state differ.

use proto::nfs4::{CallbackOperation, ClientId, FileHandle, Status};
use xdr::Encoder;

use super::{
    DIRECTORY_DELEGATION, DelegationKind, FileUses, READ_DELEGATION, Usage, WRITE_DELEGATION,
    WRITE_DELEGATION_WITH_TIMES,
};
use crate::Recall;

/// The kinds that the server grants. CB_RECALL_ANY names all of them.
pub static KINDS: [&Kind; 4] =
    [&READ_DELEGATION, &WRITE_DELEGATION, &WRITE_DELEGATION_WITH_TIMES, &DIRECTORY_DELEGATION];

/// Kinds of one class exclude each other for one client and file: the client has one stateid for all of them.
/// An operation that returns grants names their class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u8);

impl Class {
    /// Delegations, which DELEGRETURN returns (RFC 8881 §18.6).
    pub const DELEGATION: Self = Self(0);
}

/// A kind of recallable state: a table of its rules. A kind is a `static`, and is compared by its address.
#[derive(Debug)]
pub struct Kind {
    /// The name in lists of what clients hold.
    pub name: &'static str,
    /// The class, which has one stateid for each client and file.
    pub class: Class,
    /// The delegation that it is; `None` for a kind of another class.
    pub delegation: Option<DelegationKind>,
    /// The holder keeps the times of the file (RFC 9754).
    pub keeps_times: bool,
    /// Bits of [`share`](proto::nfs4::share): how its holder may open the file without asking. A grant
    /// without an OPEN is refused while a share reservation denies them.
    pub opens: u32,
    /// Bits of [`share`](proto::nfs4::share): the operations on data that its stateid allows. A stateid that
    /// allows none is NFS4ERR_BAD_STATEID there.
    pub io: u32,
    /// A client may take it back after a restart of the server.
    pub is_reclaimable: bool,
    /// True when the uses of the file exclude a grant to this client.
    pub is_excluded: fn(&FileUses<'_>, ClientId) -> bool,
    /// True when a use by another client recalls it. The ranges of both overlap. A kind that a read of the
    /// whole file does not recall is recalled by no read.
    pub conflicts: fn(&Usage) -> bool,
    /// Times [`Limits::recall_ms`](crate::Limits::recall_ms) after which a recalled grant is revoked, however
    /// busily its holder flushes.
    pub recall_times_max: u64,
    /// The status of its stateid between its revocation and FREE_STATEID. Not
    /// [`Status::AdminRevoked`], which says that an administrator has revoked it.
    pub revoked: Status,
    /// The callback that recalls it.
    pub callback: CallbackOperation,
    /// Writes the arguments of that callback.
    pub encode_recall: fn(&Recall, &FileHandle, &mut Encoder),
    /// Its bits in the mask of CB_RECALL_ANY (RFC 8881 §20.6.1).
    pub recall_any: u32,
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Kind {}
