//! The client against primetime's own server over loopback, in both versions.

#![allow(missing_docs, clippy::unwrap_used, unreachable_pub)]

mod coherence;
mod files;
mod fixture;
mod names;
mod recovery;
mod relay;
mod requests;
mod riders;
mod scripted;
