//! What several procedures share (RFC 1813 §5.1).

use bytes::Bytes;
use xdr::Xdr;

/// The program number of MOUNT.
pub const PROGRAM: u32 = 100_005;
/// The version that goes with NFSv3.
pub const VERSION: u32 = 3;
/// The longest path that the standard allows, in bytes (`MNTPATHLEN`).
pub const PATH_BYTES_MAX: u32 = 1024;
/// The longest host or group name in bytes (`MNTNAMLEN`).
pub const NAME_BYTES_MAX: u32 = 255;
/// The longest path that is decoded, in bytes: a longer one than [`PATH_BYTES_MAX`] is MNT3ERR_NAMETOOLONG
/// and not a decoding error.
pub const PATH_BYTES_DECODED_MAX: u32 = 4096;

/// A path on the server, the argument of MNT and UMNT (`dirpath`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct DirPath(#[xdr(max = PATH_BYTES_DECODED_MAX)] pub Bytes);
