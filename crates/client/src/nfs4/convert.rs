//! Between the types of NFSv4 and those of the client.

use proto::nfs4::attributes::{self as wire, AttributeId, AttributeValues, Bitmap, Principal};
use proto::nfs4::{ChangeInfo, GetFhResult, Operation};

use super::compound::Results;
use crate::attributes::{Attributes, FileType, NANOSECONDS_MAX, Revision, SetAttributes, SetTime, Time};
use crate::error::{Error, Result};
use crate::node::Handle;
use crate::protocol::{Effect, FoundObject};

/// What is asked about objects.
pub(super) const ATTRIBUTES: Bitmap = Bitmap::of(&[
    AttributeId::Type,
    AttributeId::Change,
    AttributeId::Size,
    AttributeId::FsId,
    AttributeId::FileId,
    AttributeId::Mode,
    AttributeId::NumLinks,
    AttributeId::Owner,
    AttributeId::OwnerGroup,
    AttributeId::RawDev,
    AttributeId::SpaceUsed,
    AttributeId::TimeAccess,
    AttributeId::TimeMetadata,
    AttributeId::TimeModify,
]);

/// Whose names are no numbers.
const NOBODY: u32 = 65_534;

impl Results {
    /// The results of GETFH and GETATTR.
    pub(super) fn found(&mut self) -> Result<FoundObject> {
        let handle: GetFhResult = self.get(Operation::GetFh)?;
        Ok(FoundObject { handle: Handle(handle.object.0), attributes: self.attributes()? })
    }

    /// The result of GETATTR.
    pub(super) fn attributes(&mut self) -> Result<Attributes> {
        let values = self.get(Operation::GetAttr)?;
        attributes(&values).ok_or_else(|| Error::misbehaved(self.operation, "type or change are missing"))
    }
}

/// `None` without those that every server must have.
pub(super) fn attributes(from: &AttributeValues) -> Option<Attributes> {
    let device = from.raw_dev.unwrap_or_default();
    let size = from.size?;
    Some(Attributes {
        kind: file_type(from.kind?),
        mode: from.mode.unwrap_or(0) & 0o7777,
        links: from.num_links.unwrap_or(1),
        uid: number(from.owner.as_ref()),
        gid: number(from.owner_group.as_ref()),
        size,
        used: from.space_used.unwrap_or(size),
        device: (device.major, device.minor),
        fsid: from.fsid.map_or(0, |fsid| fsid.major ^ fsid.minor.rotate_left(32)),
        fileid: from.fileid.unwrap_or(0),
        accessed: time(from.time_access),
        modified: time(from.time_modify),
        changed: time(from.time_metadata),
        change: Some(from.change?),
    })
}

pub(super) fn values(from: &SetAttributes) -> AttributeValues {
    AttributeValues {
        mode: from.mode,
        owner: from.uid.map(Principal::Number),
        owner_group: from.gid.map(Principal::Number),
        size: from.size,
        time_access_set: from.accessed.map(set_time),
        time_modify_set: from.modified.map(set_time),
        ..AttributeValues::default()
    }
}

pub(super) fn effect(change: &ChangeInfo) -> Effect {
    Effect::Change { atomic: change.atomic, before: change.before, after: change.after }
}

/// As [`effect`], with the attributes that came along.
pub(super) fn effect_with(change: &ChangeInfo, after: Option<Attributes>) -> Effect {
    Effect::Around { before: change.atomic.then_some(Revision::Change(change.before)), after }
}

fn set_time(from: SetTime) -> wire::SetTime {
    match from {
        SetTime::Now => wire::SetTime::Server,
        SetTime::To(time) => {
            wire::SetTime::Client(proto::nfs4::Time { seconds: time.seconds, nanoseconds: time.nanoseconds })
        }
    }
}

fn time(from: Option<proto::nfs4::Time>) -> Time {
    from.map_or(Time::default(), |time| Time {
        seconds: time.seconds,
        nanoseconds: time.nanoseconds.min(NANOSECONDS_MAX),
    })
}

fn number(principal: Option<&Principal>) -> u32 {
    match principal {
        Some(Principal::Number(number)) => *number,
        _ => NOBODY,
    }
}

fn file_type(from: wire::FileType) -> FileType {
    match from {
        wire::FileType::Regular | wire::FileType::NamedAttribute => FileType::Regular,
        wire::FileType::Directory | wire::FileType::AttributeDirectory => FileType::Directory,
        wire::FileType::Symlink => FileType::Symlink,
        wire::FileType::Block => FileType::Block,
        wire::FileType::Character => FileType::Character,
        wire::FileType::Fifo => FileType::Fifo,
        wire::FileType::Socket => FileType::Socket,
    }
}
