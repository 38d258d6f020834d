//! What a back end's error is called in NFSv4 (RFC 8881 §15.1).

use proto::nfs4::{Operation, Status};

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

/// What `status` is called where the standard does not list it for `operation` (RFC 8881 §15.2): the nearest
/// that it lists. A failing disk is a fault of the server then, what only the owner may do is denied, and a
/// type that does not fit is just a wrong one.
pub(crate) fn listed(operation: Operation, status: Status) -> Status {
    use Operation as O;
    match (operation, status) {
        (O::Lock | O::LockT | O::PutFh | O::SecInfo | O::SecInfoNoName, Status::Io) => Status::ServerFault,
        (O::Create | O::Open | O::SetAttr | O::ExchangeId, Status::NotPermitted) => status,
        (O::GetXattr | O::SetXattr | O::ListXattrs | O::RemoveXattr, Status::NotPermitted) => status,
        (_, Status::NotPermitted) => Status::AccessDenied,
        (O::Open | O::SetAttr | O::Write, Status::FileOpen) => Status::AccessDenied,
        (O::Allocate | O::Deallocate | O::Copy | O::Clone, Status::FileOpen) => Status::AccessDenied,
        (O::SetXattr | O::RemoveXattr, Status::FileOpen) => Status::AccessDenied,
        // To give space back may take some, and so may the removal of an attribute.
        (O::Deallocate, Status::NoSpace | Status::QuotaExceeded) => Status::Io,
        (O::RemoveXattr, Status::XattrTooBig) => Status::Io,
        // A delegation may still be reclaimed: the client is to come again.
        (O::SetXattr | O::RemoveXattr, Status::Grace) => Status::Delay,
        (O::GetXattr, Status::BadCharacter) => Status::Invalid,
        (O::SetAttr, Status::IsDirectory | Status::Symlink) => Status::WrongType,
        (O::Remove | O::SecInfo, Status::Symlink) => Status::NotDirectory,
        // What the file system cannot do; only LINK has a status for that.
        (O::Commit | O::Copy | O::Write, Status::NotSupported) | (O::Commit, Status::Invalid) => Status::Io,
        (O::Create, Status::NotSupported) => Status::BadType,
        (O::Open | O::Rename | O::SetAttr, Status::NotSupported) => Status::Invalid,
        // The directory was removed, or the object that gets another name.
        (O::Create | O::Link, Status::NoEntry) => Status::Stale,
        _ => status,
    }
}
