//! Emulated networks: a link that delays and paces TCP without privileges, networks of real TCP over links
//! that treat packets, and guests with a real Linux kernel.
//!
//! This crate moves bytes and starts machines. It knows nothing of NFS messages, experiments or statistics.

#![forbid(unsafe_code)]

pub mod affinity;
pub mod cards;
pub mod guest;
mod inside;
pub mod packet;
pub mod relay;
mod unavailable;
mod waker;

pub use inside::inside;
pub use relay::{LinkOptions, Relay, RelayStats};
pub use unavailable::Unavailable;
