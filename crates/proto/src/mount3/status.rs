//! Status codes of MOUNT (RFC 1813 §5.1.5).

use crate::status_table::statuses;

statuses! {
    /// How MNT ended (`mountstat3`).
    ;
    /// `MNT3_OK`: success.
    Ok = 0, "MNT3_OK";
    /// `MNT3ERR_PERM`: not the owner.
    NotPermitted = 1, "MNT3ERR_PERM";
    /// `MNT3ERR_NOENT`: no such path.
    NoEntry = 2, "MNT3ERR_NOENT";
    /// `MNT3ERR_IO`: a hard error of the device.
    Io = 5, "MNT3ERR_IO";
    /// `MNT3ERR_ACCES`: the caller may not.
    AccessDenied = 13, "MNT3ERR_ACCES";
    /// `MNT3ERR_NOTDIR`: the path is of no directory.
    NotDirectory = 20, "MNT3ERR_NOTDIR";
    /// `MNT3ERR_INVAL`: the path makes no sense.
    Invalid = 22, "MNT3ERR_INVAL";
    /// `MNT3ERR_NAMETOOLONG`: the path or a name in it is too long.
    NameTooLong = 63, "MNT3ERR_NAMETOOLONG";
    /// `MNT3ERR_NOTSUPP`: not supported.
    NotSupported = 10004, "MNT3ERR_NOTSUPP";
    /// `MNT3ERR_SERVERFAULT`: an error that has no other code.
    ServerFault = 10006, "MNT3ERR_SERVERFAULT";
}
