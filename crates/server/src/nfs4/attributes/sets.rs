//! Which attributes there are, and which of them can be set by what.

use proto::nfs4::Status;
use proto::nfs4::attributes::{AttributeId, Bitmap};
use vfs::{FileKind, FileSystem};

/// The attributes that can be read from or set on `fs` in a minor version: what `supported_attrs` says (RFC
/// 8881 §5.8.1.1).
pub(crate) fn supported<F: FileSystem>(fs: &F, minor_version: u32) -> Bitmap {
    let capabilities = fs.capabilities();
    let creation =
        if capabilities.records_creation { Bitmap::of(&[AttributeId::TimeCreate]) } else { Bitmap::EMPTY };
    let all = SUPPORTED | creation;
    if minor_version < 2 {
        return all;
    }
    let clones = capabilities.clone_block_bytes.map_or(Bitmap::EMPTY, |_| CLONES);
    // The times also where nothing is delegated any more: who was granted a delegation before gives it back
    // with them.
    all | SUPPORTED_SINCE_2 | clones | DELEGATED_TIMES
}

/// Checks that all of these are supported.
///
/// # Errors
/// ATTRNOTSUPP; INVAL for one that the minor version does not know (RFC 8178 §8.2).
pub(crate) fn check_supported<F: FileSystem>(
    fs: &F,
    minor_version: u32,
    given: Bitmap,
) -> Result<(), Status> {
    match given.without(supported(fs, minor_version)).numbers().last() {
        None => Ok(()),
        Some(number) => Err(not_supported(number, minor_version)),
    }
}

/// The status for an attribute that is not supported.
pub(crate) fn not_supported(number: u32, minor_version: u32) -> Status {
    if minor_version < 2 && number >= FIRST_OF_2 { Status::Invalid } else { Status::AttributeNotSupported }
}

/// The first attribute of RFC 7862 §12.2.
const FIRST_OF_2: u32 = AttributeId::CloneBlksize as u32;

/// Those of minor version 2 and its extensions that every back end has.
const SUPPORTED_SINCE_2: Bitmap =
    Bitmap::of(&[AttributeId::ChangeAttrType, AttributeId::XattrSupport, AttributeId::OpenArguments]);

/// The times that the holder of a delegation keeps (RFC 9754).
pub(crate) const DELEGATED_TIMES: Bitmap =
    Bitmap::of(&[AttributeId::TimeDelegAccess, AttributeId::TimeDelegModify]);

/// Where it is known in what pieces files are cloned.
const CLONES: Bitmap = Bitmap::of(&[AttributeId::CloneBlksize]);

/// Those that every back end has.
const SUPPORTED: Bitmap = Bitmap::of(&[
    AttributeId::SupportedAttrs,
    AttributeId::Type,
    AttributeId::FhExpireType,
    AttributeId::Change,
    AttributeId::Size,
    AttributeId::LinkSupport,
    AttributeId::SymlinkSupport,
    AttributeId::NamedAttr,
    AttributeId::FsId,
    AttributeId::UniqueHandles,
    AttributeId::LeaseTime,
    AttributeId::RdattrError,
    AttributeId::AclSupport,
    AttributeId::CanSetTime,
    AttributeId::CaseInsensitive,
    AttributeId::CasePreserving,
    AttributeId::ChownRestricted,
    AttributeId::FileHandle,
    AttributeId::FileId,
    AttributeId::FilesAvail,
    AttributeId::FilesFree,
    AttributeId::FilesTotal,
    AttributeId::Homogeneous,
    AttributeId::MaxFileSize,
    AttributeId::MaxLink,
    AttributeId::MaxName,
    AttributeId::MaxRead,
    AttributeId::MaxWrite,
    AttributeId::Mode,
    AttributeId::NoTrunc,
    AttributeId::NumLinks,
    AttributeId::Owner,
    AttributeId::OwnerGroup,
    AttributeId::RawDev,
    AttributeId::SpaceAvail,
    AttributeId::SpaceFree,
    AttributeId::SpaceTotal,
    AttributeId::SpaceUsed,
    AttributeId::TimeAccess,
    AttributeId::TimeAccessSet,
    AttributeId::TimeDelta,
    AttributeId::TimeMetadata,
    AttributeId::TimeModify,
    AttributeId::TimeModifySet,
    AttributeId::MountedOnFileId,
    AttributeId::ModeSetMasked,
    AttributeId::SuppattrExclcreat,
    AttributeId::FsCharsetCap,
]);

/// The attributes that OPEN and CREATE can set.
pub(crate) const SETTABLE: Bitmap = Bitmap::of(&[
    AttributeId::Size,
    AttributeId::Mode,
    AttributeId::Owner,
    AttributeId::OwnerGroup,
    AttributeId::TimeAccessSet,
    AttributeId::TimeModifySet,
]);

/// The attributes that SETATTR can set: a new object has no mode to change a part of (RFC 8881 §6.2.5).
pub(crate) const SETTABLE_BY_SETATTR: Bitmap = SETTABLE
    .with(AttributeId::ModeSetMasked)
    .with(AttributeId::TimeDelegAccess)
    .with(AttributeId::TimeDelegModify);

/// Those of `given` that were set on an object of this kind by an operation that succeeded: a symbolic link
/// has no mode, and only files have a size that can be set.
pub(crate) fn set_on(kind: FileKind, given: Bitmap) -> Bitmap {
    match kind {
        FileKind::Regular => given,
        FileKind::Symlink => given.without(MODES | SIZE),
        _ => given.without(SIZE),
    }
}

const MODES: Bitmap = Bitmap::of(&[AttributeId::Mode, AttributeId::ModeSetMasked]);
const SIZE: Bitmap = Bitmap::of(&[AttributeId::Size]);

/// The attributes that an exclusive create can set: not the times, where the back end keeps the verifier
/// (RFC 8881 §5.8.1.14).
pub(crate) const SETTABLE_EXCLUSIVELY: Bitmap =
    Bitmap::of(&[AttributeId::Size, AttributeId::Mode, AttributeId::Owner, AttributeId::OwnerGroup]);

/// The attributes that can only be set: to ask for them is an error (RFC 8881 §5.5, RFC 9754).
pub(crate) fn write_only(minor_version: u32) -> Bitmap {
    if minor_version < 2 { WRITE_ONLY } else { WRITE_ONLY | DELEGATED_TIMES }
}

const WRITE_ONLY: Bitmap =
    Bitmap::of(&[AttributeId::TimeAccessSet, AttributeId::TimeModifySet, AttributeId::ModeSetMasked]);
