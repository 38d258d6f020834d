//! NFSv4.1 as a peer sees it: COMPOUNDs in, results out, over a memory file system and without a network.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::should_implement_trait)]

mod attributes;
mod bad_input;
mod callbacks;
mod capabilities;
mod changes;
mod connections;
mod copies;
mod create_session;
mod delegated_times;
mod delegations;
mod directory_delegations;
mod errors;
mod exchange_id;
mod executing;
mod files;
mod local_changes;
mod losing;
mod matrix;
mod minor_versions;
mod name_changes;
mod names;
mod owners;
mod peer;
mod persistent;
mod principals;
mod pseudo;
mod read_dir;
mod removed;
mod revoked;
mod sessions;
mod sizes;
mod space;
mod store;
mod turns;
mod unsettled;
mod users;
mod verifiers;
mod waiting;
mod want_delegation;
mod xattrs;
