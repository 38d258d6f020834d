//! The small types that most operations share (RFC 8881 §3).

use std::fmt;

use bytes::Bytes;
use xdr::Xdr;

/// The longest file handle in bytes (`NFS4_FHSIZE`).
pub const HANDLE_BYTES_MAX: u32 = 128;
/// The longest opaque owner or client identifier in bytes (`NFS4_OPAQUE_LIMIT`).
pub const OPAQUE_BYTES_MAX: u32 = 1024;
/// The longest name of a directory entry that is decoded, in bytes. The file system's own limit is lower; a
/// longer name than that is NFS4ERR_NAMETOOLONG and not a decoding error.
pub const COMPONENT_BYTES_MAX: u32 = 4096;
/// The program number of NFS.
pub const PROGRAM: u32 = 100_003;
/// The RPC version of NFSv4, all minor versions.
pub const VERSION: u32 = 4;

/// What a server calls an object (`nfs_fh4`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct FileHandle(#[xdr(max = HANDLE_BYTES_MAX)] pub Bytes);

/// A client as the server numbers it (`clientid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Xdr)]
pub struct ClientId(pub u64);

/// A session (`sessionid4`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Xdr)]
#[xdr(fixed)]
pub struct SessionId(pub [u8; 16]);

/// A slot of a session (`slotid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Xdr)]
#[xdr(fixed)]
pub struct SlotId(pub u32);

/// The number of a request in its slot, or of CREATE_SESSION and EXCHANGE_ID (`sequenceid4`). Wraps around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
#[xdr(fixed)]
pub struct SequenceId(pub u32);

impl SequenceId {
    /// The one after it (RFC 8881 §2.10.6.1: arithmetic wraps).
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// Eight bytes that tell apart incarnations of a client or of a write cache (`verifier4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
#[xdr(fixed)]
pub struct Verifier(pub [u8; 8]);

/// The part of a stateid that names the state (`other`, RFC 8881 §3.3.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Xdr)]
pub struct StateOther(pub [u8; 12]);

impl StateOther {
    /// That of special stateids (RFC 8881 §8.2.3), and the least in order.
    pub const ZEROS: Self = Self([0; 12]);
    const ONES: Self = Self([0xff; 12]);
}

/// Names a piece of state: an open, a set of locks, a delegation, a layout (`stateid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
pub struct StateId {
    /// Counts the changes of the state; 0 means the newest (RFC 8881 §8.2.2).
    pub sequence: u32,
    /// Which state.
    pub other: StateOther,
}

impl StateId {
    /// No state: a READ or WRITE checked against share reservations only (RFC 8881 §8.2.3).
    pub const ANONYMOUS: Self = Self { sequence: 0, other: StateOther::ZEROS };
    /// As [`StateId::ANONYMOUS`], but a READ passes share reservations (RFC 8881 §8.2.3).
    pub const READ_BYPASS: Self = Self { sequence: u32::MAX, other: StateOther::ONES };
    /// The stateid that an earlier operation of the COMPOUND returned (RFC 8881 §16.2.3.1.2).
    pub const CURRENT: Self = Self { sequence: 1, other: StateOther::ZEROS };
    /// Never valid (RFC 8881 §8.2.3).
    pub const INVALID: Self = Self { sequence: u32::MAX, other: StateOther::ZEROS };

    /// True for every stateid whose meaning the standard fixes, valid or not: `other` all zeros or all ones.
    pub fn is_special(&self) -> bool {
        self.other == StateOther::ZEROS || self.other == StateOther::ONES
    }
}

/// Who has a file open (`open_owner4`) or locked (`lock_owner4`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Xdr)]
pub struct StateOwner {
    /// The client; ignored in NFSv4.1, where the session tells it (RFC 8881 §18.16.3).
    pub client: ClientId,
    /// Chosen by the client.
    #[xdr(max = OPAQUE_BYTES_MAX)]
    pub owner: Bytes,
}

/// Tells how a directory changed around an operation (`change_info4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct ChangeInfo {
    /// True when no other change came between.
    pub atomic: bool,
    /// Change attribute before.
    pub before: u64,
    /// Change attribute after.
    pub after: u64,
}

/// Seconds and nanoseconds since 1970 (`nfstime4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Xdr)]
#[xdr(fixed)]
pub struct Time {
    /// Seconds; negative before 1970.
    pub seconds: i64,
    /// Nanoseconds, below 10⁹.
    pub nanoseconds: u32,
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({:032x})", u128::from_be_bytes(self.0))
    }
}

/// The most data in one READ or WRITE that is decoded, in bytes; what is negotiated is lower.
pub const DATA_BYTES_MAX: u32 = 64 << 20;
