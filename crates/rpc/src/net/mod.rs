//! Connections over TCP, on tokio.
//!
//! A connection is one task, the *driver*: it reads records, polls the service for each call once in place, parks only what
//! must wait, and writes all replies of a pass together. Calls of our own go out from the calling task when nobody
//! else is writing, and with the next write otherwise: a lone request is never held back.

mod client;
mod driver;
mod link;
mod outgoing;
mod server;

pub use client::{Client, ClientOptions, Reply, Timing};
pub use server::{ServerOptions, serve};
