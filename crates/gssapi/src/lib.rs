//! The GSS-API library of the system (RFC 2744), loaded at run time: MIT Kerberos or Heimdal.
//!
//! It makes security contexts of Kerberos 5: a server accepts them with the key of its service
//! ([`Acceptor`]), a client initiates them with a user's ticket ([`Initiator`]). When a context is complete,
//! its keys are taken out of the library ([`Established`]), and messages are signed and sealed elsewhere: a
//! context of the library serves one thread at a time.
//!
//! All calls may wait: for files, and those of an initiator for the network too. A program that has no such
//! library gets one sentence from [`Library::load`], and works without Kerberos.

mod error;
mod sys;

pub use error::{Error, Status};
pub use sys::accept::{Accepted, Acceptor, PartialContext};
pub use sys::established::{Established, SessionKey};
pub use sys::initiate::{Initiated, Initiator};
pub use sys::library::Library;
