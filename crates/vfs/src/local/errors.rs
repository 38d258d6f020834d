//! What an error number of the kernel means to a protocol.

use rustix::io::Errno;

use crate::Error;

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::NotFound,
            Errno::EXIST => Self::Exists,
            Errno::NOTDIR => Self::NotDirectory,
            Errno::ISDIR => Self::IsDirectory,
            Errno::LOOP => Self::IsSymlink,
            Errno::ACCESS => Self::AccessDenied,
            Errno::PERM => Self::NotPermitted,
            Errno::NOSPC => Self::NoSpace,
            Errno::DQUOT => Self::QuotaExceeded,
            Errno::ROFS => Self::ReadOnly,
            Errno::NAMETOOLONG => Self::NameTooLong,
            Errno::NOTEMPTY => Self::NotEmpty,
            Errno::STALE => Self::Stale,
            Errno::MLINK => Self::TooManyLinks,
            Errno::XDEV => Self::CrossDevice,
            Errno::FBIG => Self::FileTooBig,
            Errno::INVAL => Self::Invalid,
            Errno::OPNOTSUPP | Errno::NOSYS => Self::NotSupported,
            Errno::NODATA => Self::NoXattr,
            Errno::TOOBIG | Errno::RANGE => Self::XattrTooBig,
            Errno::NXIO => Self::BeyondEnd,
            Errno::BUSY | Errno::TXTBSY => Self::Busy,
            Errno::AGAIN | Errno::MFILE | Errno::NFILE | Errno::NOMEM => Self::TryAgain,
            other => Self::Io(other.into()),
        }
    }
}
