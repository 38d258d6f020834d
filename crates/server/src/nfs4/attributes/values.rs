//! The values of an object's attributes (RFC 8881 §5.8).

use bytes::Bytes;
use proto::nfs4::attributes::{
    AttributeId, AttributeValues, Bitmap, ChangeAttrType, FileType, FsId, OpenArguments, SpecData, charset,
};
use proto::nfs4::{FileHandle, Status, Time};
use vfs::{Attributes, Capabilities, ChangeKind, FileKind, FileSystem, Timestamp};

use super::sets::{SETTABLE_EXCLUSIVELY, supported};
use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::{status, transfer};
use crate::nfs4::owners::PrincipalKind;

const SPACE: Bitmap = Bitmap::of(&[
    AttributeId::FilesAvail,
    AttributeId::FilesFree,
    AttributeId::FilesTotal,
    AttributeId::SpaceAvail,
    AttributeId::SpaceFree,
    AttributeId::SpaceTotal,
]);

const LIMITS: Bitmap = Bitmap::of(&[
    AttributeId::MaxFileSize,
    AttributeId::MaxLink,
    AttributeId::MaxName,
    AttributeId::ChownRestricted,
    AttributeId::TimeDelta,
]);

/// For an entry of a directory whose attributes could not be had (RFC 8881 §5.8.1.12).
pub(crate) fn of_error(status: Status) -> AttributeValues {
    AttributeValues { rdattr_error: Some(status), ..AttributeValues::default() }
}

/// The values of the `wanted` attributes of `object`.
pub(crate) async fn of<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    attributes: &Attributes,
    wanted: Bitmap,
) -> Result<AttributeValues, Status> {
    let server = context.server;
    let mut values = of_object(attributes);
    if context.minor_version >= 2 && wanted.intersects(SINCE_2) {
        add_since_2(&mut values, object.fs());
        values.open_arguments = Some(open_arguments(context.delegates(object)));
    }
    if wanted.contains(AttributeId::SupportedAttrs) {
        values.supported_attrs = Some(supported(object.fs(), context.minor_version));
    }
    if wanted.intersects(CONSTANTS) {
        add_constants(&mut values, &object.fs().capabilities(), server.lease_seconds());
    }
    if wanted.contains(AttributeId::FileHandle) {
        let handle = object.fs().handle(&object.node);
        values.file_handle = Some(FileHandle(Bytes::copy_from_slice(handle.as_bytes())));
    }
    if wanted.contains(AttributeId::Owner) {
        values.owner = Some(server.owners().principal(PrincipalKind::User, attributes.uid).await);
    }
    if wanted.contains(AttributeId::OwnerGroup) {
        values.owner_group = Some(server.owners().principal(PrincipalKind::Group, attributes.gid).await);
    }
    if wanted.intersects(LIMITS) {
        add_limits(&mut values, object.fs());
    }
    if let Some(covered) = mounted_on(object, wanted) {
        values.mounted_on_fileid = Some(covered);
    }
    if wanted.intersects(SPACE) {
        let space =
            object.fs().stat_fs(object.request_of_server(), &object.node).await.map_err(status::of)?;
        values.files_avail = Some(space.available_files);
        values.files_free = Some(space.free_files);
        values.files_total = Some(space.total_files);
        values.space_avail = Some(space.available_bytes);
        values.space_free = Some(space.free_bytes);
        values.space_total = Some(space.total_bytes);
    }
    Ok(values)
}

/// The directory that the root of an export covers in another (RFC 8881 §5.8.2.23), where that is wanted.
pub(super) fn mounted_on<F: FileSystem>(object: &Object<'_, F>, wanted: Bitmap) -> Option<u64> {
    let covered = object.export.mounted_on().filter(|_| wanted.contains(AttributeId::MountedOnFileId))?;
    (object.id() == object.fs().object_id(&object.fs().root())).then_some(covered)
}

const SINCE_2: Bitmap = Bitmap::of(&[
    AttributeId::CloneBlksize,
    AttributeId::ChangeAttrType,
    AttributeId::XattrSupport,
    AttributeId::OpenArguments,
]);

const CONSTANTS: Bitmap = Bitmap::of(&[
    AttributeId::FhExpireType,
    AttributeId::LinkSupport,
    AttributeId::SymlinkSupport,
    AttributeId::NamedAttr,
    AttributeId::UniqueHandles,
    AttributeId::LeaseTime,
    AttributeId::RdattrError,
    AttributeId::AclSupport,
    AttributeId::CanSetTime,
    AttributeId::CaseInsensitive,
    AttributeId::CasePreserving,
    AttributeId::Homogeneous,
    AttributeId::MaxRead,
    AttributeId::MaxWrite,
    AttributeId::NoTrunc,
    AttributeId::SuppattrExclcreat,
    AttributeId::FsCharsetCap,
]);

pub(super) fn of_object(attributes: &Attributes) -> AttributeValues {
    AttributeValues {
        kind: Some(file_type(attributes.kind)),
        change: Some(attributes.change),
        size: Some(attributes.size),
        fsid: Some(FsId { major: attributes.fsid, minor: 0 }),
        fileid: Some(attributes.fileid),
        mode: Some(attributes.mode & 0o7777),
        num_links: Some(attributes.links),
        raw_dev: Some(SpecData { major: attributes.device.major, minor: attributes.device.minor }),
        space_used: Some(attributes.used),
        time_access: Some(time(attributes.accessed)),
        time_create: attributes.created.map(time),
        time_metadata: Some(time(attributes.changed)),
        time_modify: Some(time(attributes.modified)),
        mounted_on_fileid: Some(attributes.fileid),
        ..AttributeValues::default()
    }
}

/// The values of `fh_expire_type` (RFC 8881 §5.8.1.3).
const FH_PERSISTENT: u32 = 0;
const FH_VOLATILE_ANY: u32 = 2;

fn add_constants(values: &mut AttributeValues, capabilities: &Capabilities, lease_seconds: u32) {
    let is_persistent = capabilities.persistent_handles;
    values.fh_expire_type = Some(if is_persistent { FH_PERSISTENT } else { FH_VOLATILE_ANY });
    values.link_support = Some(capabilities.hard_links);
    values.symlink_support = Some(capabilities.symlinks);
    values.named_attr = Some(false);
    values.unique_handles = Some(capabilities.unique_handles);
    values.lease_time = Some(lease_seconds);
    values.rdattr_error = Some(Status::Ok);
    values.acl_support = Some(0);
    values.can_set_time = Some(true);
    values.case_insensitive = Some(!capabilities.case_sensitive);
    values.case_preserving = Some(capabilities.case_preserving);
    values.homogeneous = Some(true);
    values.max_read = Some(u64::from(transfer::DATA_BYTES_MAX));
    values.max_write = Some(u64::from(transfer::DATA_BYTES_MAX));
    values.no_trunc = Some(true);
    values.suppattr_exclcreat = Some(SETTABLE_EXCLUSIVELY);
    // Names are bytes here, as they are to the file system.
    values.fs_charset_cap = Some(charset::CONTAINS_NON_UTF8);
}

/// What minor version 2 and its extensions add (RFC 7862 §12.2).
fn add_since_2<F: FileSystem>(values: &mut AttributeValues, fs: &F) {
    let capabilities = fs.capabilities();
    values.clone_blksize = capabilities.clone_block_bytes;
    values.xattr_support = Some(capabilities.xattrs);
    values.change_attr_type = Some(match capabilities.change {
        ChangeKind::Increasing => ChangeAttrType::Increasing,
        ChangeKind::Time => ChangeAttrType::TimeMetadata,
        ChangeKind::Undefined => ChangeAttrType::Undefined,
    });
}

/// What OPEN can be asked for (RFC 9754), as numbers of bits.
fn open_arguments(delegations: bool) -> OpenArguments {
    let bits = |numbers: &[u32]| Bitmap::from_word(numbers.iter().fold(0, |all, number| all | 1 << number));
    OpenArguments {
        access: bits(&[1, 2, 3]),
        deny: bits(&[0, 1, 2, 3]),
        // Any delegation, none, a wish withdrawn; timestamps, and a delegation alone. None is pushed or
        // signalled later.
        want: if delegations { bits(&[3, 4, 5, 20, 21]) } else { bits(&[4, 5]) },
        // All but those after a restart of the client.
        claim: bits(&[0, 1, 2, 4, 5]),
        create_mode: bits(&[0, 1, 2, 3]),
    }
}

fn add_limits<F: FileSystem>(values: &mut AttributeValues, fs: &F) {
    let limits = fs.limits();
    values.max_file_size = Some(limits.file_bytes_max);
    values.max_link = Some(limits.links_max);
    values.max_name = Some(limits.name_bytes_max);
    values.chown_restricted = Some(limits.chown_restricted);
    values.time_delta = Some(Time { seconds: 0, nanoseconds: limits.time_granularity_ns });
}

pub(super) fn file_type(kind: FileKind) -> FileType {
    match kind {
        FileKind::Regular => FileType::Regular,
        FileKind::Directory => FileType::Directory,
        FileKind::Block => FileType::Block,
        FileKind::Character => FileType::Character,
        FileKind::Symlink => FileType::Symlink,
        FileKind::Socket => FileType::Socket,
        FileKind::Fifo => FileType::Fifo,
    }
}

pub(super) fn time(timestamp: Timestamp) -> Time {
    Time { seconds: timestamp.seconds, nanoseconds: timestamp.nanoseconds }
}
