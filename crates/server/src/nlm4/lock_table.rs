//! What NLM asks of a table of locks.

use std::future::Future;
use std::net::IpAddr;

use bytes::Bytes;
use proto::nlm4::{self, Procedure, Status};
use vfs::ObjectId;

use crate::exports::ExportId;
use crate::hosts::HostRoute;

/// A file among all exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileKey {
    /// The export.
    pub export: ExportId,
    /// The file in it.
    pub object: ObjectId,
}

/// Who holds a lock. The client's address is part of it, so that no host can give back the locks of another
/// by taking its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// Where the request came from.
    pub client: IpAddr,
    /// What the client host calls itself.
    pub host: Bytes,
    /// The owner on the client host.
    pub owner: Bytes,
    /// The process on the client host.
    pub process: i32,
}

/// Bytes of a file from `start` to `end`, both included; `end` is `u64::MAX` for a lock to the end of the
/// file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ByteRange {
    /// The first byte.
    pub start: u64,
    /// The last byte, not below `start`.
    pub end: u64,
}

impl ByteRange {
    /// The range of `length` bytes from `offset`, where a length of 0 means to the end. `None` when it would
    /// go beyond the last offset there is.
    pub fn new(offset: u64, length: u64) -> Option<Self> {
        let end = if length == 0 { u64::MAX } else { offset.checked_add(length - 1)? };
        Some(Self { start: offset, end })
    }

    /// The length on the wire: 0 for a range to the end.
    pub fn length(&self) -> u64 {
        if self.end == u64::MAX { 0 } else { self.end - self.start + 1 }
    }

    /// True when the ranges share a byte.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// A lock that somebody holds. Where it is held by a client of another protocol, `owner` only serves to tell
/// who is asked about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldLock {
    /// Who holds it.
    pub owner: Owner,
    /// What it covers.
    pub range: ByteRange,
    /// True for a write lock.
    pub exclusive: bool,
}

/// Why a lock was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockDenied {
    /// This one stands in the way.
    Conflict(Box<HeldLock>),
    /// Another stands in the way; when it has gone, the lock is taken and its host called.
    Waits,
    /// A delegation has not come back in time, or a message that gives the lock back has overtaken the call.
    Delayed,
    /// There is no room for more locks.
    Full,
    /// Locks of before a restart are being reclaimed; come back later.
    Grace,
}

/// What a share reservation wants and denies others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Wants to read.
    pub read: bool,
    /// Wants to write.
    pub write: bool,
    /// Denies reading.
    pub deny_read: bool,
    /// Denies writing.
    pub deny_write: bool,
}

/// How a lock is asked for.
#[derive(Debug, Clone)]
pub struct LockCall {
    /// The way to the host.
    pub route: HostRoute,
    /// The host is told when this server restarts.
    pub is_monitored: bool,
    /// The lock was held before this server restarted.
    pub reclaim: bool,
    /// What is called back with, as the host knows the lock; `None` to be denied a lock that is not free.
    pub waits_for: Option<nlm4::Lock>,
}

/// Byte-range locks and share reservations of all files.
pub trait LockTable: Send + Sync + 'static {
    /// True while locks of before a restart may be taken back, and no others taken.
    fn in_grace(&self) -> bool;

    /// Whether a lock could be had now.
    ///
    /// # Errors
    /// The lock that stands in the way.
    fn test(
        &self,
        file: FileKey,
        owner: &Owner,
        range: ByteRange,
        exclusive: bool,
    ) -> impl Future<Output = Result<(), LockDenied>> + Send;

    /// Takes a lock, when nobody's delegation, under which locks may be held unseen, stands in the way. What
    /// `owner` already holds of the range changes to the new kind, as POSIX has it.
    ///
    /// # Errors
    /// When it cannot be had now; `Full` when a delegation does not come back in time.
    fn lock(
        &self,
        file: FileKey,
        owner: &Owner,
        range: ByteRange,
        exclusive: bool,
        call: LockCall,
    ) -> impl Future<Output = Result<(), LockDenied>> + Send;

    /// Cancels a request that waits; false when there is none.
    fn cancel(&self, file: FileKey, owner: &Owner, range: ByteRange, exclusive: bool) -> bool;

    /// Gives back what `owner` holds of the range.
    ///
    /// # Errors
    /// `Full` when a lock would have to be split and there is no room for its second part.
    fn unlock(&self, file: FileKey, owner: &Owner, range: ByteRange) -> Result<(), LockDenied>;

    /// Takes a share reservation; the owner's earlier one on the file is replaced.
    ///
    /// # Errors
    /// When it cannot be had now.
    fn share(
        &self,
        file: FileKey,
        owner: &Owner,
        shares: Shares,
        call: LockCall,
    ) -> impl Future<Output = Result<(), LockDenied>> + Send;

    /// Gives back the owner's share reservation on the file.
    fn unshare(&self, file: FileKey, owner: &Owner);

    /// Gives back everything that `host` at `client` holds and waits for.
    fn free_all(&self, client: IpAddr, host: &[u8]);

    /// Frees everything of a restarted host, which calls itself `name` and has sent NOTIFY from `client`. A
    /// repetition, with the state number of the NOTIFY before, changes nothing: the host may hold new locks
    /// by now.
    fn host_restarted(&self, client: IpAddr, name: &[u8], state_number: i32);

    /// A host has answered a message that gave it a lock.
    fn granted_message(&self, client: IpAddr, cookie: &[u8], status: Status);

    /// Sends the result of a message to the host that sent it.
    fn send_result(&self, route: HostRoute, procedure: Procedure, result: Vec<u8>);
}
