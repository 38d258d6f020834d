//! The names of clients that hold state, on stable storage (RFC 8881 §8.4.3): who may reclaim after a restart.
//!
//! The order is what matters: a name is added before its client is given anything, removed before what it held is
//! given to others, and the grace period is written down as over before anything new is given.

use std::io;

use bytes::Bytes;
use proto::nfs4::ClientId;

use crate::runtime::BoxFuture;

/// Keeps the names. Every change is on stable storage when its future ends, and changes take effect in the order in
/// which they were asked for.
pub trait StableRecords: Send + Sync + 'static {
    /// Adds a client, in place of an earlier one of the same owner: that is gone, and must not come back by its name when this
    /// one is removed. With `revoked` it is kept that a delegation of the client was revoked: after a restart it may not take
    /// back any, for it may not know (RFC 8881 §10.2.1).
    fn add(&self, client: ClientId, owner: Bytes, revoked: bool) -> BoxFuture<io::Result<()>>;

    /// Removes a client, if its owner's record is not that of a later one; one that is not there is no error.
    fn remove(&self, client: ClientId, owner: Bytes) -> BoxFuture<io::Result<()>>;

    /// Forgets those who could have reclaimed and did not.
    fn end_grace(&self) -> BoxFuture<io::Result<()>>;
}

/// Remembers nothing: after a restart nobody may reclaim.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forgetful;

impl StableRecords for Forgetful {
    fn add(&self, _: ClientId, _: Bytes, _: bool) -> BoxFuture<io::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn remove(&self, _: ClientId, _: Bytes) -> BoxFuture<io::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn end_grace(&self) -> BoxFuture<io::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
