//! Emulated networks: a link that delays and paces TCP without privileges, and guests with a real Linux kernel.
//!
//! This crate moves bytes and starts machines. It knows nothing of NFS messages, experiments or statistics.

#![forbid(unsafe_code)]

pub mod affinity;
pub mod guest;
pub mod relay;

pub use relay::{LinkOptions, Relay, RelayStats};
