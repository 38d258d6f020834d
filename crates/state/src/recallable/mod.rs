//! Recallable state: what a client is granted until the server asks for it back (RFC 8881 §10.2, §12.5.5).
//!
//! ```text
//!   granted ──conflict──▶ recalled ──returned by its holder──▶ ended
//!                            └────── deadline ──▶ overdue ──▶ revoked ──FREE_STATEID──▶ forgotten
//! ```
//! Grant, conflict, recall, return, revocation and expiry are the same for every kind. A [`Kind`] is a table
//! of the rules in which it differs, in a file of its own: `delegation` for files, `directory` for
//! directories. A holder that flushes its changes gets more time, up to a bound (§10.2).
//!
//! A client has at most one grant of a [`Class`] for a file. Grants count against the client's bound of state
//! and against [`Limits::delegations_max`](crate::Limits::delegations_max); at a bound none is granted.

mod conflict;
mod delegation;
mod directory;
mod grant;
mod granting;
mod kind;
mod overdue;
mod returning;
mod table;
mod uses;

pub use conflict::{Changing, Usage};
pub use delegation::{
    DelegationKind, READ_DELEGATION, WRITE_DELEGATION, WRITE_DELEGATION_WITH_TIMES, WriteHeld,
};
pub use directory::DIRECTORY_DELEGATION;
pub use grant::Using;
pub use granting::GrantRequest;
pub use kind::{Class, KINDS, Kind};
pub use overdue::Overdue;
pub use returning::Returned;
pub use uses::{FileUses, HeldGrant};

pub(crate) use grant::{Grant, SEQUENCE};
pub(crate) use table::{GrantTable, Holder};
