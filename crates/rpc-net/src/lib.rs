//! Connections of ONC RPC over TCP, and datagrams for the small protocols beside NFS, on tokio.
//!
//! A connection serves the calls that arrive on it and carries calls the other way, as NFSv4.1's backchannel
//! needs. It is one task, the *driver*: it reads records, polls the service for each call once in place,
//! parks only the calls that must wait, and writes all replies of a pass together. The calling task writes
//! an outgoing call at once unless another task is writing; the call then leaves with the next write.
//! [`memory`] bounds the memory that clients make the process hold.

mod busy_poll;
mod call_frame;
mod client;
mod datagrams;
mod driver;
mod link;
pub mod memory;
mod one_call;
mod outgoing;
mod own_host;
mod parked;
mod places;
mod polled;
mod prefixed;
mod recent_replies;
mod server;
mod stream;
mod sys;
mod tcp;
mod turns;
mod upgrade;

pub use client::{Client, ClientOptions, Reply, Resolve, Timing};
pub use datagrams::{DatagramOptions, serve_datagrams};
pub use one_call::{Destination, OneCall, call_once};
pub use server::{CONNECTION_BYTES, ServerOptions, serve, serve_stream, serve_within};
pub use stream::{PlainTcp, Stream};
pub use sys::set_receive_low_water;
pub use tcp::{CongestionControl, TcpOptions};
pub use upgrade::{Upgrade, UpgradeDemand, Upgraded};
