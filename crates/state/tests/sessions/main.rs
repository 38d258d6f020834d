//! Clients, sessions and slots: a test for each rule of RFC 8881 §2.10, §18.35, §18.36 and §18.46 that this
//! crate enforces.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod create_session;
mod dead;
mod exchange_id;
mod fixture;
mod slots;
