//! The types that most procedures share (RFC 1813 §2.5).

use std::fmt;

use bytes::Bytes;
use xdr::{Decode, Decoder, Encode, Encoder, Xdr};

/// The program number of NFS.
pub const PROGRAM: u32 = 100_003;
/// The RPC version of NFSv3.
pub const VERSION: u32 = 3;
/// The longest file handle in bytes (`NFS3_FHSIZE`).
pub const HANDLE_BYTES_MAX: u32 = 64;
/// The longest name of a directory entry that is decoded, in bytes. The file system's own limit is lower; a
/// longer name than that is NFS3ERR_NAMETOOLONG and not a decoding error.
pub const NAME_BYTES_MAX: u32 = 4096;
/// The longest target of a symbolic link that is decoded, in bytes.
pub const PATH_BYTES_MAX: u32 = 8192;
/// The most data of one READ or WRITE that is decoded, in bytes. What a server transfers at most is in
/// FSINFO.
pub const DATA_BYTES_MAX: u32 = 16 << 20;

/// What a server calls an object (`nfs_fh3`), held in place: handles come and go without allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileHandle {
    length: u8,
    bytes: [u8; HANDLE_BYTES_MAX as usize],
}

impl FileHandle {
    /// Copies `bytes`, or `None` when they are more than [`HANDLE_BYTES_MAX`].
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut copy = [0; HANDLE_BYTES_MAX as usize];
        copy.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { length: bytes.len() as u8, bytes: copy })
    }

    /// The handle's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl Decode for FileHandle {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        let bytes = from.opaque_ref(HANDLE_BYTES_MAX)?;
        Ok(Self::new(bytes).expect("the decoder has checked the length"))
    }
}

impl Encode for FileHandle {
    fn encode(&self, to: &mut Encoder) {
        to.opaque(self.as_bytes());
    }
}

impl fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileHandle(")?;
        for byte in self.as_bytes() {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

/// Tells whether the entries that READDIR cookies stand for are still those of the earlier call
/// (`cookieverf3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Xdr)]
pub struct CookieVerifier(pub [u8; 8]);

/// Recognises the retry of an exclusive CREATE (`createverf3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
pub struct CreateVerifier(pub [u8; 8]);

/// Changes when a server may have lost unstable writes (`writeverf3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
#[xdr(fixed)]
pub struct WriteVerifier(pub [u8; 8]);

/// Seconds and nanoseconds since 1970 (`nfstime3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Xdr)]
#[xdr(fixed)]
pub struct Time {
    /// Seconds, without a sign.
    pub seconds: u32,
    /// Nanoseconds, below 10⁹.
    pub nanoseconds: u32,
}

/// Major and minor number of a device (`specdata3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Xdr)]
#[xdr(fixed)]
pub struct Device {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

/// The type of an object (`ftype3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
pub enum FileType {
    /// Regular file (`NF3REG`).
    Regular = 1,
    /// Directory (`NF3DIR`).
    Directory = 2,
    /// Block device (`NF3BLK`).
    Block = 3,
    /// Character device (`NF3CHR`).
    Character = 4,
    /// Symbolic link (`NF3LNK`).
    Symlink = 5,
    /// Socket (`NF3SOCK`).
    Socket = 6,
    /// Named pipe (`NF3FIFO`).
    Fifo = 7,
}

/// All attributes of an object (`fattr3`): 84 bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
#[xdr(fixed)]
pub struct FileAttributes {
    /// Type.
    pub kind: FileType,
    /// Permission bits with set-id and sticky bits.
    pub mode: u32,
    /// Number of hard links.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Length in bytes.
    pub size: u64,
    /// Space in use, in bytes.
    pub used: u64,
    /// Device numbers, for devices.
    pub device: Device,
    /// Identifies the file system.
    pub fsid: u64,
    /// Inode number.
    pub fileid: u64,
    /// Last access.
    pub accessed: Time,
    /// Last change of the data.
    pub modified: Time,
    /// Last change of data or attributes.
    pub changed: Time,
}

/// Attributes that a reply may carry (`post_op_attr`).
pub type PostOpAttributes = Option<FileAttributes>;

/// A handle that a reply may carry (`post_op_fh3`).
pub type PostOpHandle = Option<FileHandle>;

/// The attributes that tell whether an object changed (`wcc_attr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
#[xdr(fixed)]
pub struct WccAttributes {
    /// Length in bytes.
    pub size: u64,
    /// Last change of the data.
    pub modified: Time,
    /// Last change of data or attributes.
    pub changed: Time,
}

/// An object around an operation, for weak cache consistency (`wcc_data`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Xdr)]
pub struct WccData {
    /// Before.
    pub before: Option<WccAttributes>,
    /// After.
    pub after: PostOpAttributes,
}

impl WccData {
    /// Nothing known.
    pub const NONE: Self = Self { before: None, after: None };
}

/// How to set a time (`set_atime`, `set_mtime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Xdr)]
pub enum SetTime {
    /// Not (`DONT_CHANGE`).
    #[default]
    #[xdr(case = 0)]
    Keep,
    /// To the server's clock (`SET_TO_SERVER_TIME`).
    #[xdr(case = 1)]
    Now,
    /// To a given time (`SET_TO_CLIENT_TIME`).
    #[xdr(case = 2)]
    To(Time),
}

/// The attributes to set (`sattr3`); `None` leaves one as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Xdr)]
pub struct SetAttributes {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Length in bytes.
    pub size: Option<u64>,
    /// Last access.
    pub accessed: SetTime,
    /// Last change of the data.
    pub modified: SetTime,
}

/// A name in a directory (`diropargs3`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct DirOpArgs {
    /// The directory.
    pub dir: FileHandle,
    /// The name; any bytes, as clients send them.
    #[xdr(max = NAME_BYTES_MAX)]
    pub name: Bytes,
}
