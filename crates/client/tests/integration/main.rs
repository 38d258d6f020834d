//! The client against primetime's own server over loopback, in every version.

#![allow(missing_docs, clippy::unwrap_used, unreachable_pub)]

mod batch;
mod blocking;
mod coherence;
mod copies;
mod drain;
mod ending;
mod examples;
mod files;
mod fixture;
mod hostile;
mod hostile_files;
mod hostile_nfs3;
mod lock_callbacks;
mod mount_options;
mod names;
mod peer;
mod readahead;
mod recovery;
mod recovery_loss;
mod recovery_nfs3;
mod recovery_restart;
mod relay;
mod requests;
mod riders;
mod scripted;
mod sparse;
mod tree;
mod versions;
mod whole;
mod write_delegations;
mod xattrs;
