//! Numbers of the procedures of NLM version 4 (RFC 1813 §6.2).

/// A procedure of the lock manager. `…Msg` and `…Res` are one-way messages: a request, and later its result
/// as a call in the other direction; neither has a reply of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are those of the standard")]
pub enum Procedure {
    Null = 0,
    Test = 1,
    Lock = 2,
    Cancel = 3,
    Unlock = 4,
    Granted = 5,
    TestMsg = 6,
    LockMsg = 7,
    CancelMsg = 8,
    UnlockMsg = 9,
    GrantedMsg = 10,
    TestRes = 11,
    LockRes = 12,
    CancelRes = 13,
    UnlockRes = 14,
    GrantedRes = 15,
    Share = 20,
    Unshare = 21,
    NmLock = 22,
    FreeAll = 23,
}

impl Procedure {
    /// All of them, in the order of their numbers.
    pub const ALL: &'static [Self] = &[
        Self::Null,
        Self::Test,
        Self::Lock,
        Self::Cancel,
        Self::Unlock,
        Self::Granted,
        Self::TestMsg,
        Self::LockMsg,
        Self::CancelMsg,
        Self::UnlockMsg,
        Self::GrantedMsg,
        Self::TestRes,
        Self::LockRes,
        Self::CancelRes,
        Self::UnlockRes,
        Self::GrantedRes,
        Self::Share,
        Self::Unshare,
        Self::NmLock,
        Self::FreeAll,
    ];

    /// Its name in the standard, without the prefix NLMPROC4_.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Test => "TEST",
            Self::Lock => "LOCK",
            Self::Cancel => "CANCEL",
            Self::Unlock => "UNLOCK",
            Self::Granted => "GRANTED",
            Self::TestMsg => "TEST_MSG",
            Self::LockMsg => "LOCK_MSG",
            Self::CancelMsg => "CANCEL_MSG",
            Self::UnlockMsg => "UNLOCK_MSG",
            Self::GrantedMsg => "GRANTED_MSG",
            Self::TestRes => "TEST_RES",
            Self::LockRes => "LOCK_RES",
            Self::CancelRes => "CANCEL_RES",
            Self::UnlockRes => "UNLOCK_RES",
            Self::GrantedRes => "GRANTED_RES",
            Self::Share => "SHARE",
            Self::Unshare => "UNSHARE",
            Self::NmLock => "NM_LOCK",
            Self::FreeAll => "FREE_ALL",
        }
    }

    /// The procedure with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|procedure| procedure.number() == number)
    }

    /// Its number on the wire.
    pub fn number(self) -> u32 {
        self as u32
    }
}
