//! The client's half: contexts of users, and the protection of calls.
//!
//! [`GssCredentials::establish`] creates the context of a user over calls of procedure 0. From then on the
//! calls of the user are protected. A call that is refused with RPCSEC_GSS_CREDPROBLEM or
//! RPCSEC_GSS_CTXPROBLEM needs a new context ([`GssCredentials::is_context_lost`]).

mod call;
mod context;
mod creation;
mod credentials;
mod initiator;

pub use creation::CreationError;
pub use credentials::{Exchange, GssCredentials};
pub use initiator::{Initiation, Initiator, InitiatorStep};
