//! Errors as a program on this system expects them: by number.

use proto::{nfs4, nlm4};
use rustix::io::Errno;

use crate::error::{Error, Status};

impl Error {
    /// The number that a system call on a file of this machine would have failed with (`errno`).
    pub fn raw_os_error(&self) -> i32 {
        let errno = match self {
            Self::Server { status, .. } => of_status(*status),
            Self::PeerMisbehaved { .. }
            | Self::UncertainOutcome { .. }
            | Self::Skipped
            | Self::Local { .. } => Errno::IO,
            Self::Transport(_) => Errno::NOTCONN,
            Self::Timeout { .. } => Errno::TIMEDOUT,
            // What was promised under the open or lock is not kept any more: to go on would be to pretend
            // that it is.
            Self::Revoked => Errno::IO,
            Self::Locked => Errno::AGAIN,
            Self::Usage(_) | Self::Address(_) => Errno::INVAL,
            Self::Unsupported { .. } => Errno::OPNOTSUPP,
            Self::NotOffered(_) => Errno::PROTONOSUPPORT,
        };
        errno.raw_os_error()
    }
}

fn of_status(status: Status) -> Errno {
    // The protocols share the numbers of what they share.
    match status {
        Status::Nfs3(status) => of_nfs(nfs4::Status::from_code(status.code()), status.code()),
        Status::Nfs4(status) => of_nfs(status, status.code()),
        Status::Mount(status) => of_nfs(nfs4::Status::from_code(status.code()), status.code()),
        Status::Lock(status) => of_lock(status),
    }
}

fn of_nfs(status: nfs4::Status, code: u32) -> Errno {
    use nfs4::Status as S;
    match status {
        S::NotPermitted => Errno::PERM,
        S::NoEntry => Errno::NOENT,
        S::NoDevice => Errno::NXIO,
        S::AccessDenied | S::WrongSecurity | S::WrongCredential => Errno::ACCESS,
        S::Exists => Errno::EXIST,
        S::CrossDevice => Errno::XDEV,
        S::NotDirectory => Errno::NOTDIR,
        S::IsDirectory => Errno::ISDIR,
        S::Invalid | S::BadName | S::BadCharacter | S::BadRange | S::BadOwner | S::BadType => Errno::INVAL,
        S::UnionNotSupported | S::NotSupported | S::AttributeNotSupported | S::LockNotSupported => {
            Errno::OPNOTSUPP
        }
        S::FileTooBig => Errno::FBIG,
        S::NoSpace => Errno::NOSPC,
        S::ReadOnly => Errno::ROFS,
        S::TooManyLinks => Errno::MLINK,
        S::NameTooLong => Errno::NAMETOOLONG,
        S::NotEmpty => Errno::NOTEMPTY,
        S::QuotaExceeded => Errno::DQUOT,
        S::Stale | S::BadHandle | S::HandleExpired => Errno::STALE,
        S::Symlink => Errno::LOOP,
        S::WrongType => Errno::INVAL,
        S::Denied | S::Locked | S::Delay | S::Grace => Errno::AGAIN,
        S::Deadlock => Errno::DEADLK,
        S::ShareDenied | S::FileOpen => Errno::BUSY,
        S::OpenMode => Errno::BADF,
        S::NoXattr => Errno::NODATA,
        S::XattrTooBig => Errno::TOOBIG,
        // Two of NFSv3 that NFSv4 has not.
        _ if code == 19 => Errno::NODEV,
        _ if code == 71 => Errno::REMOTE,
        _ => Errno::IO,
    }
}

fn of_lock(status: nlm4::Status) -> Errno {
    use nlm4::Status as S;
    match status {
        S::Denied | S::Blocked | S::DeniedGracePeriod => Errno::AGAIN,
        S::DeniedNoLocks => Errno::NOLCK,
        S::Deadlock => Errno::DEADLK,
        S::ReadOnly => Errno::ROFS,
        S::StaleHandle => Errno::STALE,
        S::FileTooBig => Errno::FBIG,
        _ => Errno::IO,
    }
}

#[cfg(test)]
mod tests {
    use proto::nfs3;

    use super::*;

    #[test]
    fn status_with_the_number_of_an_errno_keeps_it() {
        for code in [1, 2, 5, 6, 13, 17, 18, 20, 21, 22, 27, 28, 30, 31] {
            let error = Error::server("X", nfs4::Status::from_code(code));
            assert_eq!(error.raw_os_error(), code as i32);
            let error = Error::server("X", nfs3::Status::from_code(code));
            assert_eq!(error.raw_os_error(), code as i32);
        }
        assert_eq!(Error::server("X", nfs3::Status::NoSuchDevice).raw_os_error(), 19);
    }

    #[test]
    fn status_with_another_number_is_translated() {
        for (code, errno) in [
            (63, Errno::NAMETOOLONG),
            (66, Errno::NOTEMPTY),
            (69, Errno::DQUOT),
            (70, Errno::STALE),
            (10_001, Errno::STALE),
            (10_004, Errno::OPNOTSUPP),
            (10_006, Errno::IO),
        ] {
            let v3 = Error::server("X", nfs3::Status::from_code(code));
            let v4 = Error::server("X", nfs4::Status::from_code(code));
            assert_eq!((v3.raw_os_error(), v4.raw_os_error()), (errno.raw_os_error(), errno.raw_os_error()));
        }
        assert_eq!(Error::Locked.raw_os_error(), Errno::AGAIN.raw_os_error());
        assert_eq!(
            Error::server("X", nlm4::Status::DeniedNoLocks).raw_os_error(),
            Errno::NOLCK.raw_os_error()
        );
    }
}
