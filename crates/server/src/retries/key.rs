//! Which calls run once, and by what a retry is known.

use std::net::IpAddr;

use proto::nfs3::Procedure as Nfs3;
use proto::nlm4::Procedure as Nlm4;
use proto::{nfs3, nlm4};
use rpc::{Call, CallHeader};

use crate::digest::Digest;

/// What a retry has in common with the first call. The port is not part of it: a client that connects again
/// has another. A client that is behind the same address as another, and so unlucky as to use the same
/// transaction id, asks for something else or is somebody else: the digest tells, of everything that was
/// asked, and of who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) client: IpAddr,
    pub(super) xid: u32,
    pub(super) program: u32,
    pub(super) version: u32,
    pub(super) procedure: u32,
    pub(super) digest: u64,
}

/// Makes keys. The digest's own key is secret, so that nobody can make another's call look like a retry.
pub(super) struct Keys([u8; 16]);

impl Keys {
    pub(super) fn new(secret: [u8; 16]) -> Self {
        Self(secret)
    }

    pub(super) fn key(&self, call: &Call<'_>) -> Key {
        let mut digest = Digest::new(self.0);
        digest.bytes(call.arguments.rest_ref());
        digest.caller(call.caller);
        Key {
            client: call.peer.ip().to_canonical(),
            xid: call.header.xid,
            program: call.header.program,
            version: call.header.version,
            procedure: call.header.procedure,
            digest: digest.finish(),
        }
    }
}

/// True for a call that must not run twice.
///
/// - Names: the second CREATE, MKDIR, SYMLINK, MKNOD and LINK would find the name taken, the second REMOVE,
///   RMDIR and RENAME would not find it, or would find another object under it.
/// - SETATTR: the second of a guarded one fails with NFS3ERR_NOT_SYNC; a late second one cuts off, or sets
///   back, what was written since.
/// - WRITE is the same whenever it runs, but a late copy, from a connection that the client had given up,
///   overwrites what was written since.
/// - Locks and shares: a late LOCK would take what nobody will give back, a late UNLOCK would give back what
///   was taken again.
///
/// COMMIT and all that only read may run as often as they come.
pub(crate) fn runs_once(call: &CallHeader) -> bool {
    match (call.program, call.version) {
        (nfs3::PROGRAM, nfs3::VERSION) => Nfs3::from_number(call.procedure).is_some_and(changes),
        (nlm4::PROGRAM, nlm4::VERSION) => Nlm4::from_number(call.procedure).is_some_and(locks),
        _ => false,
    }
}

fn changes(procedure: Nfs3) -> bool {
    matches!(
        procedure,
        Nfs3::SetAttr
            | Nfs3::Write
            | Nfs3::Create
            | Nfs3::MkDir
            | Nfs3::Symlink
            | Nfs3::MkNod
            | Nfs3::Remove
            | Nfs3::RmDir
            | Nfs3::Rename
            | Nfs3::Link
    )
}

fn locks(procedure: Nlm4) -> bool {
    matches!(
        procedure,
        Nlm4::Lock | Nlm4::NmLock | Nlm4::Cancel | Nlm4::Unlock | Nlm4::Share | Nlm4::Unshare | Nlm4::FreeAll
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(program: u32, version: u32) -> Vec<u32> {
        let header = |procedure| CallHeader { xid: 1, program, version, procedure };
        (0..40).filter(|procedure| runs_once(&header(*procedure))).collect()
    }

    #[test]
    fn only_what_changes_something_runs_once() {
        assert_eq!(once(100_003, 3), [2, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(once(100_021, 4), [2, 3, 4, 20, 21, 22, 23]);
        assert!(once(100_003, 4).is_empty(), "sessions have replies of their own");
        assert!(once(100_005, 3).is_empty());
    }
}
