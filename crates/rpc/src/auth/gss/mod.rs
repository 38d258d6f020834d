//! RPCSEC_GSS version 1 (RFC 2203) without a mechanism: the wire, the contexts of a server, and the
//! protection of calls. [`client`] has the other half.
//!
//! A [`GssAuthenticator`] judges calls. It has two seams to a mechanism such as Kerberos V5: an [`Acceptor`]
//! takes the tokens of INIT, and a [`SecurityContext`] makes and checks those of each call. [`Names`] gives a
//! principal its user, and [`Surroundings`] are a clock and randomness.
//!
//! | call | verdict |
//! |---|---|
//! | INIT, CONTINUE_INIT | `Later`; `Answer` or `Refuse` where the acceptor need not be asked |
//! | DATA | `Protected`, with a new protection for each call |
//! | DATA whose number was seen or is below the window | `Silence` |
//! | DESTROY | `Answer` |
//!
//! The verifier of a reply, and its results, have the number of the very request: a retry with the same
//! transaction id is another request.
//!
//! A slow acceptor is a future in a verdict, not a call that goes to a service: no service has to know of
//! contexts, and the future takes its turn among the calls of its connection, with their bounds of number and
//! memory. It is dropped with the connection.
//!
//! Version 2 (RFC 5403) is refused as RFC 2203 §5.2.3.2 says; clients then fall back to version 1.

mod authenticator;
pub mod client;
mod context;
mod contexts;
mod creation;
mod handle;
mod limits;
mod mechanism;
mod names;
mod protection;
mod service;
mod surroundings;
mod table;
mod window;
pub mod wire;

pub use authenticator::GssAuthenticator;
pub use contexts::GssCounts;
pub use creation::PRINCIPAL_BYTES_MAX;
pub use handle::BootInstance;
pub use limits::GssLimits;
pub use mechanism::{Acceptor, BadToken, Negotiation, SecurityContext, Step};
pub use names::{GROUPS_MAX, Names, NoNames};
pub use service::GssService;
pub use surroundings::Surroundings;
pub use window::{SEQUENCE_MAX, WINDOW};

/// The number of the flavor (RFC 2203 §5).
pub const RPCSEC_GSS: u32 = 6;
