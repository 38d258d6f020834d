//! The kinds of requests that are told apart.

use proto::nfs4::Operation;
use proto::{nfs3, nlm4};

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// A procedure of NFSv3.
    Nfs3(nfs3::Procedure),
    /// NULL of NFSv4.
    Nfs4Null,
    /// A COMPOUND, named after the operation that it was sent for.
    Nfs4(Operation),
    /// A procedure of NLM.
    Lock(nlm4::Procedure),
    /// MNT.
    Mount,
    /// UMNT.
    Unmount,
    /// GETPORT.
    GetPort,
}

const NFS4: usize = nfs3::Procedure::ALL.len();
const LOCK: usize = NFS4 + Operation::ALL.len();
const OTHERS: usize = LOCK + nlm4::Procedure::ALL.len();
/// Operations are numbered from 3 without gaps.
const FIRST_OPERATION: usize = 3;

impl Request {
    pub(super) const COUNT: usize = OTHERS + 4;

    pub(super) fn all() -> impl Iterator<Item = Self> {
        let nfs3 = nfs3::Procedure::ALL.iter().map(|p| Self::Nfs3(*p));
        let nfs4 = Operation::ALL.iter().map(|o| Self::Nfs4(*o));
        let locks = nlm4::Procedure::ALL.iter().map(|p| Self::Lock(*p));
        let others = [Self::Mount, Self::Unmount, Self::GetPort, Self::Nfs4Null];
        nfs3.chain(nfs4).chain(locks).chain(others)
    }

    /// Its place in a table of [`Request::COUNT`].
    pub(super) fn index(self) -> usize {
        match self {
            Self::Nfs3(procedure) => procedure.number() as usize,
            Self::Nfs4(operation) => NFS4 + operation.number() as usize - FIRST_OPERATION,
            Self::Lock(procedure) => {
                let place = nlm4::Procedure::ALL.iter().position(|p| *p == procedure);
                LOCK + place.expect("the table of procedures is complete")
            }
            Self::Mount => OTHERS,
            Self::Unmount => OTHERS + 1,
            Self::GetPort => OTHERS + 2,
            Self::Nfs4Null => OTHERS + 3,
        }
    }

    /// The name in the standard, as reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nfs3(procedure) => procedure.name(),
            Self::Nfs4(operation) => operation.name(),
            Self::Nfs4Null => nfs3::Procedure::Null.name(),
            Self::Lock(procedure) => match procedure {
                nlm4::Procedure::Lock | nlm4::Procedure::NmLock => "LOCK",
                nlm4::Procedure::Unlock => "UNLOCK",
                nlm4::Procedure::Test => "TEST",
                nlm4::Procedure::Cancel => "CANCEL",
                nlm4::Procedure::FreeAll => "FREE_ALL",
                nlm4::Procedure::GrantedRes => "GRANTED_RES",
                _ => "NLM",
            },
            Self::Mount => "MNT",
            Self::Unmount => "UMNT",
            Self::GetPort => "GETPORT",
        }
    }
}
