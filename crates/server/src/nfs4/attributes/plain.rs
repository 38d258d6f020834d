//! The attributes that almost every request asks for, and every entry of a directory, written as they come:
//! what a back end tells of an object, its handle, its owner and its group. A set of all values that there
//! can be is some hundred bytes, filled in, moved and looked through for each of them.

use proto::nfs4::Status;
use proto::nfs4::attributes::{AttributeId as Id, Bitmap, FsId, Principal, SpecData};
use vfs::{Attributes, FileSystem, Handle};
use xdr::Encoder;

use super::values::{file_type, mounted_on, time};
use crate::nfs4::engine::context::Object;
use crate::nfs4::owners::{Owners, PrincipalKind};

/// What is written here.
const PLAIN: Bitmap = Bitmap::of(&ALL);
const ALL: [Id; 18] = [
    Id::Type,
    Id::Change,
    Id::Size,
    Id::FsId,
    Id::RdattrError,
    Id::FileHandle,
    Id::FileId,
    Id::Mode,
    Id::NumLinks,
    Id::Owner,
    Id::OwnerGroup,
    Id::RawDev,
    Id::SpaceUsed,
    Id::TimeAccess,
    Id::TimeCreate,
    Id::TimeMetadata,
    Id::TimeModify,
    Id::MountedOnFileId,
];

/// The values of one object.
pub(super) struct Plain<'a> {
    given: Bitmap,
    found: &'a Attributes,
    handle: Option<Handle>,
    owner: Option<Principal>,
    group: Option<Principal>,
    mounted_on: u64,
}

/// True where all of the `wanted` attributes that are `supported` are plain.
pub(super) fn are_plain(wanted: Bitmap, supported: Bitmap) -> bool {
    !wanted.without(PLAIN).intersects(supported)
}

impl<'a> Plain<'a> {
    /// Of `wanted` attributes that are plain, with owners as numbers.
    pub(super) fn numbered<F: FileSystem>(
        object: &Object<'_, F>,
        found: &'a Attributes,
        wanted: Bitmap,
    ) -> Self {
        Self {
            given: given(wanted, found),
            found,
            handle: wanted.contains(Id::FileHandle).then(|| object.fs().handle(&object.node)),
            owner: wanted.contains(Id::Owner).then_some(Principal::Number(found.uid)),
            group: wanted.contains(Id::OwnerGroup).then_some(Principal::Number(found.gid)),
            mounted_on: mounted_on(object, wanted).unwrap_or(found.fileid),
        }
    }

    /// With owners by their names, where they have such.
    pub(super) async fn named(self, owners: &Owners) -> Self {
        let (mut owner, mut group) = (self.owner, self.group);
        if let Some(owner) = &mut owner {
            *owner = owners.principal(PrincipalKind::User, self.found.uid).await;
        }
        if let Some(group) = &mut group {
            *group = owners.principal(PrincipalKind::Group, self.found.gid).await;
        }
        Self { owner, group, ..self }
    }

    /// Writes them as a `fattr4`: in the order of their numbers.
    pub(super) fn encode(&self, to: &mut Encoder) {
        let Self { given, found, .. } = self;
        to.put(given);
        let mark = to.begin_opaque();
        if given.contains(Id::Type) {
            to.put(&file_type(found.kind));
        }
        if given.contains(Id::Change) {
            to.u64(found.change);
        }
        if given.contains(Id::Size) {
            to.u64(found.size);
        }
        if given.contains(Id::FsId) {
            to.put(&FsId { major: found.fsid, minor: 0 });
        }
        if given.contains(Id::RdattrError) {
            to.put(&Status::Ok);
        }
        if let Some(handle) = &self.handle {
            to.opaque(handle.as_bytes());
        }
        if given.contains(Id::FileId) {
            to.u64(found.fileid);
        }
        if given.contains(Id::Mode) {
            to.u32(found.mode & 0o7777);
        }
        if given.contains(Id::NumLinks) {
            to.u32(found.links);
        }
        self.owner.iter().chain(&self.group).for_each(|principal| to.put(principal));
        if given.contains(Id::RawDev) {
            to.put(&SpecData { major: found.device.major, minor: found.device.minor });
        }
        if given.contains(Id::SpaceUsed) {
            to.u64(found.used);
        }
        let times = [
            (Id::TimeAccess, Some(found.accessed)),
            (Id::TimeCreate, found.created),
            (Id::TimeMetadata, Some(found.changed)),
            (Id::TimeModify, Some(found.modified)),
        ];
        for (id, value) in times {
            if let Some(value) = value.filter(|_| given.contains(id)) {
                to.put(&time(value));
            }
        }
        if given.contains(Id::MountedOnFileId) {
            to.u64(self.mounted_on);
        }
        to.end_opaque(mark);
    }
}

/// Those that have a value.
fn given(wanted: Bitmap, found: &Attributes) -> Bitmap {
    let given = wanted & PLAIN;
    if found.created.is_some() { given } else { given.without(Bitmap::of(&[Id::TimeCreate])) }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proto::nfs4::FileHandle;
    use vfs::{FileKind, Timestamp};

    use super::*;
    use crate::nfs4::attributes::values::of_object;

    fn found(created: Option<Timestamp>) -> Attributes {
        let time = |seconds| Timestamp { seconds, nanoseconds: 5 };
        Attributes {
            kind: FileKind::Regular,
            mode: 0o100_640,
            links: 2,
            uid: 1000,
            gid: 100,
            size: 4097,
            used: 8192,
            device: vfs::DeviceNumber { major: 3, minor: 4 },
            fsid: 77,
            fileid: 12,
            accessed: time(1),
            modified: time(-2),
            changed: time(3),
            created,
            change: 99,
        }
    }

    fn assert_same(wanted: Bitmap, found: &Attributes) {
        let owned = |id, number| wanted.contains(id).then_some(Principal::Number(number));
        let (owner, group) = (owned(Id::Owner, found.uid), owned(Id::OwnerGroup, found.gid));
        let handle = || Handle::new(&[7; 30]).unwrap();
        let mut values = of_object(found);
        values.rdattr_error = Some(Status::Ok);
        values.file_handle = Some(FileHandle(Bytes::copy_from_slice(handle().as_bytes())));
        (values.owner, values.owner_group) = (owner.clone(), group.clone());
        let mut expected = Encoder::new();
        values.encode_wanted(wanted, &mut expected);
        let given = given(wanted, found);
        let handle = wanted.contains(Id::FileHandle).then(handle);
        let mut plain = Encoder::new();
        Plain { given, found, handle, owner, group, mounted_on: found.fileid }.encode(&mut plain);
        assert_eq!(plain.as_slice(), expected.as_slice(), "{wanted:?}");
    }

    #[test]
    fn direct_encoding_equals_the_encoding_of_values() {
        for created in [None, Some(Timestamp { seconds: 9, nanoseconds: 1 })] {
            let found = found(created);
            assert_same(Bitmap::EMPTY, &found);
            assert_same(PLAIN, &found);
            for id in ALL {
                let alone = Bitmap::of(&[id]);
                assert_same(alone, &found);
                assert_same(PLAIN.without(alone), &found);
            }
        }
    }
}
