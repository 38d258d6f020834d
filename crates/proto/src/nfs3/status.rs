//! Status codes of NFSv3 (RFC 1813 §2.6).

use crate::status_table::statuses;

statuses! {
    /// How a procedure ended (`nfsstat3`).
    ;
    /// `NFS3_OK`: success.
    Ok = 0, "NFS3_OK";
    /// `NFS3ERR_PERM`: only the owner or a privileged caller may.
    NotPermitted = 1, "NFS3ERR_PERM";
    /// `NFS3ERR_NOENT`: no such name.
    NoEntry = 2, "NFS3ERR_NOENT";
    /// `NFS3ERR_IO`: a hard error of the device.
    Io = 5, "NFS3ERR_IO";
    /// `NFS3ERR_NXIO`: no such device or address.
    NoDevice = 6, "NFS3ERR_NXIO";
    /// `NFS3ERR_ACCES`: the caller may not.
    AccessDenied = 13, "NFS3ERR_ACCES";
    /// `NFS3ERR_EXIST`: the name is taken.
    Exists = 17, "NFS3ERR_EXIST";
    /// `NFS3ERR_XDEV`: a hard link across file systems.
    CrossDevice = 18, "NFS3ERR_XDEV";
    /// `NFS3ERR_NODEV`: no such device.
    NoSuchDevice = 19, "NFS3ERR_NODEV";
    /// `NFS3ERR_NOTDIR`: not a directory.
    NotDirectory = 20, "NFS3ERR_NOTDIR";
    /// `NFS3ERR_ISDIR`: is a directory.
    IsDirectory = 21, "NFS3ERR_ISDIR";
    /// `NFS3ERR_INVAL`: an argument makes no sense for the operation.
    Invalid = 22, "NFS3ERR_INVAL";
    /// `NFS3ERR_FBIG`: the file would become too large.
    FileTooBig = 27, "NFS3ERR_FBIG";
    /// `NFS3ERR_NOSPC`: no space left.
    NoSpace = 28, "NFS3ERR_NOSPC";
    /// `NFS3ERR_ROFS`: read-only file system.
    ReadOnly = 30, "NFS3ERR_ROFS";
    /// `NFS3ERR_MLINK`: too many hard links.
    TooManyLinks = 31, "NFS3ERR_MLINK";
    /// `NFS3ERR_NAMETOOLONG`: the name is too long.
    NameTooLong = 63, "NFS3ERR_NAMETOOLONG";
    /// `NFS3ERR_NOTEMPTY`: the directory is not empty.
    NotEmpty = 66, "NFS3ERR_NOTEMPTY";
    /// `NFS3ERR_DQUOT`: the quota is used up.
    QuotaExceeded = 69, "NFS3ERR_DQUOT";
    /// `NFS3ERR_STALE`: the object is gone or the caller has no access to its file system any more.
    Stale = 70, "NFS3ERR_STALE";
    /// `NFS3ERR_REMOTE`: too many levels of remote in the path.
    Remote = 71, "NFS3ERR_REMOTE";
    /// `NFS3ERR_BADHANDLE`: not a handle of this server.
    BadHandle = 10001, "NFS3ERR_BADHANDLE";
    /// `NFS3ERR_NOT_SYNC`: the guard of SETATTR does not match.
    NotSync = 10002, "NFS3ERR_NOT_SYNC";
    /// `NFS3ERR_BAD_COOKIE`: a stale READDIR cookie.
    BadCookie = 10003, "NFS3ERR_BAD_COOKIE";
    /// `NFS3ERR_NOTSUPP`: the operation is not supported.
    NotSupported = 10004, "NFS3ERR_NOTSUPP";
    /// `NFS3ERR_TOOSMALL`: the client's buffer is too small.
    TooSmall = 10005, "NFS3ERR_TOOSMALL";
    /// `NFS3ERR_SERVERFAULT`: an error that has no other code.
    ServerFault = 10006, "NFS3ERR_SERVERFAULT";
    /// `NFS3ERR_BADTYPE`: the server makes no objects of this type.
    BadType = 10007, "NFS3ERR_BADTYPE";
    /// `NFS3ERR_JUKEBOX`: it takes longer; try again later with a new transaction.
    Jukebox = 10008, "NFS3ERR_JUKEBOX";
}
