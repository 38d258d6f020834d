//! What a back end's error is called in NFSv3 (RFC 1813 §2.6).

use proto::nfs3::Status;
use vfs::Error;

/// The status for `error`. An error that the protocol has no word for is logged here, where it is lost.
pub(super) fn of(error: Error) -> Status {
    match error {
        Error::NotFound => Status::NoEntry,
        Error::Exists => Status::Exists,
        Error::NotDirectory => Status::NotDirectory,
        Error::IsDirectory => Status::IsDirectory,
        // The standard has no words for a wrong type but those for directories.
        Error::IsSymlink | Error::WrongType => Status::Invalid,
        Error::BadType => Status::BadType,
        Error::AccessDenied => Status::AccessDenied,
        Error::NotPermitted => Status::NotPermitted,
        Error::NoSpace => Status::NoSpace,
        Error::QuotaExceeded => Status::QuotaExceeded,
        Error::ReadOnly => Status::ReadOnly,
        Error::NameTooLong => Status::NameTooLong,
        Error::InvalidName => Status::AccessDenied,
        Error::NotEmpty => Status::NotEmpty,
        Error::Stale => Status::Stale,
        Error::BadHandle => Status::BadHandle,
        Error::TooManyLinks => Status::TooManyLinks,
        Error::CrossDevice => Status::CrossDevice,
        Error::FileTooBig => Status::FileTooBig,
        Error::Invalid => Status::Invalid,
        Error::NotSupported => Status::NotSupported,
        Error::BadCookie => Status::BadCookie,
        // Of operations that NFSv3 does not have.
        Error::NoXattr | Error::XattrTooBig | Error::BeyondEnd => Status::Invalid,
        Error::Busy | Error::TryAgain => Status::Jukebox,
        Error::Io(error) => {
            tracing::error!(%error, "the file system failed");
            Status::Io
        }
    }
}

/// The status for an error of READ, WRITE and COMMIT, which know no NFS3ERR_ISDIR: what is no regular file is
/// NFS3ERR_INVAL (RFC 1813 §3.3.6, §3.3.7). A file that nobody may write, such as an append-only one, is
/// NFS3ERR_ACCES.
pub(super) fn of_data(error: Error) -> Status {
    match error {
        Error::IsDirectory => Status::Invalid,
        Error::NotPermitted => Status::AccessDenied,
        Error::NotSupported => Status::ServerFault,
        other => of(other),
    }
}

/// The status for an error of LOOKUP, READLINK, READDIR and READDIRPLUS, which know no NFS3ERR_PERM.
pub(super) fn of_finding(error: Error) -> Status {
    match error {
        Error::NotPermitted => Status::AccessDenied,
        other => of(other),
    }
}

/// The status for an error with a name: one that the file system cannot have is NFS3ERR_ACCES (RFC 1813 §3.2,
/// item 5).
pub(super) fn of_name(error: Error) -> Status {
    match error {
        Error::Invalid => Status::AccessDenied,
        other => of(other),
    }
}

/// The status for an error of what makes a name: where something is missing it is the directory, which is
/// gone.
pub(super) fn of_making(error: Error) -> Status {
    match error {
        Error::NotFound => Status::Stale,
        other => of_name(other),
    }
}
