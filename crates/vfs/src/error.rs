//! Why an operation failed: the closed list that both NFS versions can express.

/// The result of a back end's operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such name (ENOENT).
    #[error("no such file or directory")]
    NotFound,
    /// The name is taken (EEXIST).
    #[error("file exists")]
    Exists,
    /// Not a directory (ENOTDIR).
    #[error("not a directory")]
    NotDirectory,
    /// Is a directory (EISDIR).
    #[error("is a directory")]
    IsDirectory,
    /// Is a symbolic link where a file or directory was needed (ELOOP).
    #[error("is a symbolic link")]
    IsSymlink,
    /// Neither file, directory nor link where one was needed.
    #[error("wrong type of object")]
    WrongType,
    /// The object cannot be made by this back end.
    #[error("type of object not supported")]
    BadType,
    /// The caller may not (EACCES).
    #[error("permission denied")]
    AccessDenied,
    /// Only the owner or root may (EPERM).
    #[error("operation not permitted")]
    NotPermitted,
    /// No space left (ENOSPC).
    #[error("no space left")]
    NoSpace,
    /// Quota exceeded (EDQUOT).
    #[error("quota exceeded")]
    QuotaExceeded,
    /// Read-only file system (EROFS).
    #[error("read-only file system")]
    ReadOnly,
    /// The name is too long (ENAMETOOLONG).
    #[error("name too long")]
    NameTooLong,
    /// The name is empty, `.`, `..`, or holds `/` or NUL.
    #[error("invalid name")]
    InvalidName,
    /// The directory is not empty (ENOTEMPTY).
    #[error("directory not empty")]
    NotEmpty,
    /// The object that the handle named is gone (ESTALE).
    #[error("stale file handle")]
    Stale,
    /// The handle is not one of this back end's.
    #[error("bad file handle")]
    BadHandle,
    /// Too many hard links (EMLINK).
    #[error("too many links")]
    TooManyLinks,
    /// Across file systems (EXDEV).
    #[error("cross-device operation")]
    CrossDevice,
    /// The file would become too large (EFBIG).
    #[error("file too large")]
    FileTooBig,
    /// An argument makes no sense (EINVAL).
    #[error("invalid argument")]
    Invalid,
    /// Not offered by this back end (EOPNOTSUPP).
    #[error("operation not supported")]
    NotSupported,
    /// There is no such extended attribute (ENODATA).
    #[error("no such extended attribute")]
    NoXattr,
    /// An extended attribute, or all of an object's together, would be too large (E2BIG, ERANGE).
    #[error("extended attribute too large")]
    XattrTooBig,
    /// The offset is not before the end of the file (ENXIO).
    #[error("beyond the end of the file")]
    BeyondEnd,
    /// The directory cookie is not valid any more.
    #[error("bad directory cookie")]
    BadCookie,
    /// The object is in use (EBUSY, ETXTBSY).
    #[error("resource busy")]
    Busy,
    /// A bounded resource is used up for the moment; the caller may try again.
    #[error("busy, try again")]
    TryAgain,
    /// Anything else; logged by the server.
    #[error("input/output error: {0}")]
    Io(std::io::Error),
}
