//! Kerberos 5 as the mechanism below RPCSEC_GSS (RFC 2203).
//!
//! The system's library makes contexts, on threads of its own: it reads keytabs, credential caches and its
//! replay cache, and asks the KDC. A complete context is taken out of it. From then on its tokens are made
//! here, without locks.

#![forbid(unsafe_code)]

mod acceptor;
mod context;
mod initiator;
mod threads;

pub use acceptor::KerberosAcceptor;
pub use initiator::{CacheOf, KerberosInitiator};
