//! OPEN (RFC 8881 §18.16).

use bytes::Bytes;
use xdr::{Decode, Decoder, Encode, Encoder, Xdr};

use super::attributes::{AttributeError, AttributeValues, Bitmap};
use super::{COMPONENT_BYTES_MAX, ChangeInfo, StateId, StateOwner, Verifier};

/// Bits of `share_access` and `share_deny`.
pub mod share {
    /// Read.
    pub const READ: u32 = 1;
    /// Write.
    pub const WRITE: u32 = 2;
    /// Both.
    pub const BOTH: u32 = 3;
    /// The bits of access itself, without those of delegations wanted.
    pub const ACCESS_MASK: u32 = 0xff;
    /// The delegation wanted (RFC 8881 §18.16.3).
    pub const WANT_MASK: u32 = 0xff00;
    /// No preference.
    pub const WANT_NO_PREFERENCE: u32 = 0;
    /// A read delegation.
    pub const WANT_READ_DELEGATION: u32 = 0x100;
    /// A write delegation.
    pub const WANT_WRITE_DELEGATION: u32 = 0x200;
    /// Any delegation.
    pub const WANT_ANY_DELEGATION: u32 = 0x300;
    /// None.
    pub const WANT_NO_DELEGATION: u32 = 0x400;
    /// None, and an earlier wish is withdrawn.
    pub const WANT_CANCEL: u32 = 0x500;
    /// Tell when a delegation becomes possible for which a resource was short.
    pub const WANT_SIGNAL_WHEN_AVAILABLE: u32 = 0x1_0000;
    /// Push the delegation when it is not contended any more.
    pub const WANT_PUSH_WHEN_UNCONTENDED: u32 = 0x2_0000;
    /// A delegation under which the client keeps the times as well (RFC 9754).
    pub const WANT_DELEGATED_TIMESTAMPS: u32 = 0x10_0000;
    /// A delegation in place of an open where one is granted (RFC 9754).
    pub const WANT_OPEN_XOR_DELEGATION: u32 = 0x20_0000;
}

/// Bits of the result's `flags`.
pub mod open_result {
    /// Locks are POSIX locks.
    pub const LOCK_TYPE_POSIX: u32 = 4;
    /// An open file is kept when its last name goes.
    pub const PRESERVE_UNLINKED: u32 = 8;
    /// There is no open, only a delegation (RFC 9754).
    pub const NO_OPEN_STATE_ID: u32 = 0x10;
    /// CB_NOTIFY_LOCK may come.
    pub const MAY_NOTIFY_LOCK: u32 = 0x20;
}

/// How to create (`createhow4`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateHow {
    /// Open the file if it is there.
    Unchecked(AttributeValues),
    /// Fail if it is there.
    Guarded(AttributeValues),
    /// Fail if it is there, unless it was made with the same verifier.
    Exclusive(Verifier),
    /// As `Exclusive`, with attributes.
    Exclusive41(Verifier, AttributeValues),
}

/// Why OPEN's arguments could not be decoded.
pub type OpenArgsError = AttributeError;

impl CreateHow {
    fn decode(from: &mut Decoder) -> Result<Self, AttributeError> {
        Ok(match from.u32()? {
            0 => Self::Unchecked(AttributeValues::decode(from)?),
            1 => Self::Guarded(AttributeValues::decode(from)?),
            2 => Self::Exclusive(from.get()?),
            3 => Self::Exclusive41(from.get()?, AttributeValues::decode(from)?),
            other => return Err(from.error_before(4, xdr::ErrorKind::UnknownValue(other)).into()),
        })
    }
}

impl Encode for CreateHow {
    fn encode(&self, to: &mut Encoder) {
        match self {
            Self::Unchecked(values) => {
                to.u32(0);
                to.put(values);
            }
            Self::Guarded(values) => {
                to.u32(1);
                to.put(values);
            }
            Self::Exclusive(verifier) => {
                to.u32(2);
                to.put(verifier);
            }
            Self::Exclusive41(verifier, values) => {
                to.u32(3);
                to.put(verifier);
                to.put(values);
            }
        }
    }
}

/// The kind of a delegation (`open_delegation_type4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum DelegationType {
    /// None.
    None = 0,
    /// Read.
    Read = 1,
    /// Write.
    Write = 2,
    /// None, with a reason.
    NoneExt = 3,
    /// Read, and the client keeps the time of access (RFC 9754).
    ReadAttributes = 4,
    /// Write, and the client keeps the times (RFC 9754).
    WriteAttributes = 5,
}

/// Which file to open, and by what right (`open_claim4`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub enum OpenClaim {
    /// `CLAIM_NULL`: the name in the current directory.
    #[xdr(case = 0)]
    Null(#[xdr(max = COMPONENT_BYTES_MAX)] Bytes),
    /// `CLAIM_PREVIOUS`: the current object, open before the server restarted.
    #[xdr(case = 1)]
    Previous(DelegationType),
    /// `CLAIM_DELEGATE_CUR`: the name in the current directory, under a delegation held.
    #[xdr(case = 2)]
    DelegateCurrent(DelegateCurrentClaim),
    /// `CLAIM_DELEGATE_PREV`: the name, delegated before the client restarted.
    #[xdr(case = 3)]
    DelegatePrevious(#[xdr(max = COMPONENT_BYTES_MAX)] Bytes),
    /// `CLAIM_FH`: the current object.
    #[xdr(case = 4)]
    Handle,
    /// `CLAIM_DELEG_CUR_FH`: the current object, under a delegation held.
    #[xdr(case = 5)]
    DelegateCurrentHandle(StateId),
    /// `CLAIM_DELEG_PREV_FH`: the current object, delegated before the client restarted.
    #[xdr(case = 6)]
    DelegatePreviousHandle,
}

/// `open_claim_delegate_cur4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct DelegateCurrentClaim {
    /// The delegation.
    pub state_id: StateId,
    /// Name in the current directory.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub name: Bytes,
}

/// `OPEN4args`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenArgs {
    /// Ignored in NFSv4.1.
    pub sequence: u32,
    /// Access and delegation wanted, see [`share`].
    pub share_access: u32,
    /// What others are denied, see [`share`].
    pub share_deny: u32,
    /// The open-owner.
    pub owner: StateOwner,
    /// Present when a missing file is to be created.
    pub create: Option<Box<CreateHow>>,
    /// Which file.
    pub claim: OpenClaim,
}

impl OpenArgs {
    /// Reads the arguments.
    ///
    /// # Errors
    /// An attribute of unknown type is told from malformed arguments.
    pub fn decode(from: &mut Decoder) -> Result<Self, OpenArgsError> {
        Ok(Self {
            sequence: from.u32()?,
            share_access: from.u32()?,
            share_deny: from.u32()?,
            owner: from.get()?,
            create: match from.u32()? {
                0 => None,
                1 => Some(Box::new(CreateHow::decode(from)?)),
                other => return Err(from.error_before(4, xdr::ErrorKind::UnknownValue(other)).into()),
            },
            claim: from.get()?,
        })
    }
}

impl Encode for OpenArgs {
    fn encode(&self, to: &mut Encoder) {
        to.u32(self.sequence);
        to.u32(self.share_access);
        to.u32(self.share_deny);
        to.put(&self.owner);
        to.bool(self.create.is_some());
        if let Some(how) = &self.create {
            to.put(how);
        }
        to.put(&self.claim);
    }
}

/// An entry of an access control list (`nfsace4`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Xdr)]
pub struct Ace {
    /// Allow, deny, audit or alarm.
    pub kind: u32,
    /// Flags.
    pub flags: u32,
    /// Rights.
    pub mask: u32,
    /// Whom it is about.
    #[xdr(max = 1024)]
    pub who: Bytes,
}

/// `open_read_delegation4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ReadDelegation {
    /// The delegation.
    pub state_id: StateId,
    /// It is recalled already.
    pub recall: bool,
    /// Who may open for reading without asking.
    pub permissions: Ace,
}

/// How much may be written under a delegation before it must be flushed (`nfs_space_limit4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum SpaceLimit {
    /// Bytes of the file.
    #[xdr(case = 1)]
    Size(u64),
    /// Modified blocks and bytes each.
    #[xdr(case = 2)]
    Blocks((u32, u32)),
}

/// `open_write_delegation4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct WriteDelegation {
    /// The delegation.
    pub state_id: StateId,
    /// It is recalled already.
    pub recall: bool,
    /// What may be written before a flush.
    pub space_limit: SpaceLimit,
    /// Who may open without asking.
    pub permissions: Ace,
}

/// Why there is no delegation (`open_none_delegation4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum WhyNoDelegation {
    /// None was wanted.
    #[xdr(case = 0)]
    NotWanted,
    /// The file is contended; true when the server will push one later.
    #[xdr(case = 1)]
    Contention(bool),
    /// A resource is short; true when the server will signal that it is there again.
    #[xdr(case = 2)]
    Resource(bool),
    /// Not for this type of file.
    #[xdr(case = 3)]
    UnsupportedFileType,
    /// No write delegation for this type of file.
    #[xdr(case = 4)]
    WriteUnsupportedFileType,
    /// A delegation is not upgraded.
    #[xdr(case = 5)]
    UpgradeUnsupported,
    /// A delegation is not downgraded.
    #[xdr(case = 6)]
    DowngradeUnsupported,
    /// The wish was withdrawn.
    #[xdr(case = 7)]
    Cancelled,
    /// It is a directory.
    #[xdr(case = 8)]
    IsDirectory,
}

/// The delegation that comes with an open (`open_delegation4`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub enum OpenDelegation {
    /// None.
    #[xdr(case = 0)]
    None,
    /// Read.
    #[xdr(case = 1)]
    Read(ReadDelegation),
    /// Write.
    #[xdr(case = 2)]
    Write(WriteDelegation),
    /// None, with a reason.
    #[xdr(case = 3)]
    NoneExt(WhyNoDelegation),
    /// Read, and the client keeps the time of access (RFC 9754).
    #[xdr(case = 4)]
    ReadAttributes(ReadDelegation),
    /// Write, and the client keeps the times (RFC 9754).
    #[xdr(case = 5)]
    WriteAttributes(WriteDelegation),
}

/// `OPEN4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct OpenResult {
    /// The open.
    pub state_id: StateId,
    /// Change of the directory.
    pub change: ChangeInfo,
    /// See [`open_result`].
    pub flags: u32,
    /// Attributes that were set when the file was created.
    pub attributes_set: Bitmap,
    /// The delegation.
    pub delegation: OpenDelegation,
}

/// For peers and tests that have no use for the finer error.
impl Decode for OpenArgs {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        Self::decode(from).map_err(|error| match error {
            AttributeError::Malformed(error) => error,
            AttributeError::NotSupported(number) => from.error(xdr::ErrorKind::UnknownValue(number)),
        })
    }
}
