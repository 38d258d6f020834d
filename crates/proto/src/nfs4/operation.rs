//! Numbers and names of the operations of NFSv4, all minor versions up to 2 and RFC 8276.

use std::fmt;

macro_rules! operations {
    ($(#[$doc:meta])* $type:ident: $($name:ident = $value:literal, $rfc:literal, since $minor:literal;)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names are those of the standard")]
        pub enum $type {
            $($name = $value,)*
        }

        impl $type {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The operation with this number.
            pub fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($value => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Its number on the wire.
            pub fn number(self) -> u32 {
                self as u32
            }

            /// The minor version that brought it.
            pub fn since_minor_version(self) -> u32 {
                match self {
                    $(Self::$name => $minor,)*
                }
            }

            /// Its name in the standards, without the prefix.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $rfc,)*
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

operations! {
    /// An operation of COMPOUND (`nfs_opnum4`). SETXATTR and its kin are of RFC 8276.
    Operation:
    Access = 3, "ACCESS", since 0;
    Close = 4, "CLOSE", since 0;
    Commit = 5, "COMMIT", since 0;
    Create = 6, "CREATE", since 0;
    DelegPurge = 7, "DELEGPURGE", since 0;
    DelegReturn = 8, "DELEGRETURN", since 0;
    GetAttr = 9, "GETATTR", since 0;
    GetFh = 10, "GETFH", since 0;
    Link = 11, "LINK", since 0;
    Lock = 12, "LOCK", since 0;
    LockT = 13, "LOCKT", since 0;
    LockU = 14, "LOCKU", since 0;
    Lookup = 15, "LOOKUP", since 0;
    LookupParent = 16, "LOOKUPP", since 0;
    NVerify = 17, "NVERIFY", since 0;
    Open = 18, "OPEN", since 0;
    OpenAttr = 19, "OPENATTR", since 0;
    OpenConfirm = 20, "OPEN_CONFIRM", since 0;
    OpenDowngrade = 21, "OPEN_DOWNGRADE", since 0;
    PutFh = 22, "PUTFH", since 0;
    PutPubFh = 23, "PUTPUBFH", since 0;
    PutRootFh = 24, "PUTROOTFH", since 0;
    Read = 25, "READ", since 0;
    ReadDir = 26, "READDIR", since 0;
    ReadLink = 27, "READLINK", since 0;
    Remove = 28, "REMOVE", since 0;
    Rename = 29, "RENAME", since 0;
    Renew = 30, "RENEW", since 0;
    RestoreFh = 31, "RESTOREFH", since 0;
    SaveFh = 32, "SAVEFH", since 0;
    SecInfo = 33, "SECINFO", since 0;
    SetAttr = 34, "SETATTR", since 0;
    SetClientId = 35, "SETCLIENTID", since 0;
    SetClientIdConfirm = 36, "SETCLIENTID_CONFIRM", since 0;
    Verify = 37, "VERIFY", since 0;
    Write = 38, "WRITE", since 0;
    ReleaseLockOwner = 39, "RELEASE_LOCKOWNER", since 0;
    BackchannelCtl = 40, "BACKCHANNEL_CTL", since 1;
    BindConnToSession = 41, "BIND_CONN_TO_SESSION", since 1;
    ExchangeId = 42, "EXCHANGE_ID", since 1;
    CreateSession = 43, "CREATE_SESSION", since 1;
    DestroySession = 44, "DESTROY_SESSION", since 1;
    FreeStateId = 45, "FREE_STATEID", since 1;
    GetDirDelegation = 46, "GET_DIR_DELEGATION", since 1;
    GetDeviceInfo = 47, "GETDEVICEINFO", since 1;
    GetDeviceList = 48, "GETDEVICELIST", since 1;
    LayoutCommit = 49, "LAYOUTCOMMIT", since 1;
    LayoutGet = 50, "LAYOUTGET", since 1;
    LayoutReturn = 51, "LAYOUTRETURN", since 1;
    SecInfoNoName = 52, "SECINFO_NO_NAME", since 1;
    Sequence = 53, "SEQUENCE", since 1;
    SetSsv = 54, "SET_SSV", since 1;
    TestStateId = 55, "TEST_STATEID", since 1;
    WantDelegation = 56, "WANT_DELEGATION", since 1;
    DestroyClientId = 57, "DESTROY_CLIENTID", since 1;
    ReclaimComplete = 58, "RECLAIM_COMPLETE", since 1;
    Allocate = 59, "ALLOCATE", since 2;
    Copy = 60, "COPY", since 2;
    CopyNotify = 61, "COPY_NOTIFY", since 2;
    Deallocate = 62, "DEALLOCATE", since 2;
    IoAdvise = 63, "IO_ADVISE", since 2;
    LayoutError = 64, "LAYOUTERROR", since 2;
    LayoutStats = 65, "LAYOUTSTATS", since 2;
    OffloadCancel = 66, "OFFLOAD_CANCEL", since 2;
    OffloadStatus = 67, "OFFLOAD_STATUS", since 2;
    ReadPlus = 68, "READ_PLUS", since 2;
    Seek = 69, "SEEK", since 2;
    WriteSame = 70, "WRITE_SAME", since 2;
    Clone = 71, "CLONE", since 2;
    GetXattr = 72, "GETXATTR", since 2;
    SetXattr = 73, "SETXATTR", since 2;
    ListXattrs = 74, "LISTXATTRS", since 2;
    RemoveXattr = 75, "REMOVEXATTR", since 2;
}

/// The number that answers an operation whose number no minor version defines (RFC 8881 §18.52).
pub const ILLEGAL: u32 = 10044;

operations! {
    /// An operation of CB_COMPOUND (`nfs_cb_opnum4`).
    CallbackOperation:
    GetAttr = 3, "CB_GETATTR", since 0;
    Recall = 4, "CB_RECALL", since 0;
    LayoutRecall = 5, "CB_LAYOUTRECALL", since 1;
    Notify = 6, "CB_NOTIFY", since 1;
    PushDeleg = 7, "CB_PUSH_DELEG", since 1;
    RecallAny = 8, "CB_RECALL_ANY", since 1;
    RecallableObjAvail = 9, "CB_RECALLABLE_OBJ_AVAIL", since 1;
    RecallSlot = 10, "CB_RECALL_SLOT", since 1;
    Sequence = 11, "CB_SEQUENCE", since 1;
    WantsCancelled = 12, "CB_WANTS_CANCELLED", since 1;
    NotifyLock = 13, "CB_NOTIFY_LOCK", since 1;
    NotifyDeviceid = 14, "CB_NOTIFY_DEVICEID", since 1;
    Offload = 15, "CB_OFFLOAD", since 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_their_own_inverse() {
        for operation in Operation::ALL {
            assert_eq!(Operation::from_number(operation.number()), Some(*operation));
        }
        assert_eq!(Operation::ALL.len(), 73, "3 to 75");
        assert_eq!(Operation::from_number(2), None);
        assert_eq!(Operation::from_number(76), None);
        assert_eq!(CallbackOperation::from_number(4), Some(CallbackOperation::Recall));
    }
}
