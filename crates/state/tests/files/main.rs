//! What becomes of the state of a file that is removed, or whose state an administrator takes away.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod addresses;
mod fixture;
mod many;
mod nameless;
mod range_grant;
mod reserved;
mod revoked;
mod shares;
