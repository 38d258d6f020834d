//! The statuses of NFSv4 for the errors of a back end (RFC 8881 §15.1).

use proto::nfs4::Status;

/// The status for `error`. An error that the protocol has no word for is logged here, where it is lost.
pub(crate) fn of(error: vfs::Error) -> Status {
    use vfs::Error;
    match error {
        Error::NotFound => Status::NoEntry,
        Error::Exists => Status::Exists,
        Error::NotDirectory => Status::NotDirectory,
        Error::IsDirectory => Status::IsDirectory,
        Error::IsSymlink => Status::Symlink,
        Error::WrongType => Status::WrongType,
        Error::BadType => Status::BadType,
        Error::AccessDenied => Status::AccessDenied,
        Error::NotPermitted => Status::NotPermitted,
        Error::NoSpace => Status::NoSpace,
        Error::QuotaExceeded => Status::QuotaExceeded,
        Error::ReadOnly => Status::ReadOnly,
        Error::NameTooLong => Status::NameTooLong,
        Error::InvalidName => Status::BadName,
        Error::NotEmpty => Status::NotEmpty,
        Error::Stale => Status::Stale,
        Error::BadHandle => Status::BadHandle,
        Error::TooManyLinks => Status::TooManyLinks,
        Error::CrossDevice => Status::CrossDevice,
        Error::FileTooBig => Status::FileTooBig,
        Error::Invalid => Status::Invalid,
        Error::NotSupported => Status::NotSupported,
        Error::NoXattr => Status::NoXattr,
        Error::XattrTooBig => Status::XattrTooBig,
        Error::BeyondEnd => Status::NoDevice,
        Error::BadCookie => Status::BadCookie,
        Error::Busy => Status::FileOpen,
        Error::TryAgain => Status::Delay,
        Error::Io(error) => {
            tracing::error!(%error, "the file system failed");
            Status::Io
        }
    }
}
