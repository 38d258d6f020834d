//! Between the types of NFSv3 and those of the client.

use bytes::Bytes;
use proto::nfs3;

use crate::attributes::{Attributes, FileType, NANOSECONDS_MAX, Revision, SetAttributes, SetTime, Time};
use crate::error::{Error, Result};
use crate::node::Handle;
use crate::protocol::Effect;

pub(super) fn from_handle(handle: &nfs3::FileHandle) -> Handle {
    Handle(Bytes::copy_from_slice(handle.as_bytes()))
}

pub(super) fn to_handle(handle: &Handle) -> Result<nfs3::FileHandle> {
    nfs3::FileHandle::new(&handle.0).ok_or(Error::Usage("a handle of NFSv4 in a request of NFSv3"))
}

pub(super) fn attributes(from: &nfs3::FileAttributes) -> Attributes {
    Attributes {
        kind: file_type(from.kind),
        mode: from.mode,
        links: from.links,
        uid: from.uid,
        gid: from.gid,
        size: from.size,
        used: from.used,
        device: (from.device.major, from.device.minor),
        fsid: from.fsid,
        fileid: from.fileid,
        accessed: time(from.accessed),
        modified: time(from.modified),
        changed: time(from.changed),
        change: None,
    }
}

pub(super) fn effect(wcc: &nfs3::WccData) -> Effect {
    let before = wcc.before.map(|before| Revision::Times {
        modified: time(before.modified),
        changed: time(before.changed),
        size: before.size,
    });
    Effect::Around { before, after: wcc.after.as_ref().map(attributes) }
}

pub(super) fn set_attributes(from: &SetAttributes) -> nfs3::SetAttributes {
    nfs3::SetAttributes {
        mode: from.mode,
        uid: from.uid,
        gid: from.gid,
        size: from.size,
        accessed: set_time(from.accessed),
        modified: set_time(from.modified),
    }
}

fn set_time(from: Option<SetTime>) -> nfs3::SetTime {
    match from {
        None => nfs3::SetTime::Keep,
        Some(SetTime::Now) => nfs3::SetTime::Now,
        Some(SetTime::To(time)) => nfs3::SetTime::To(to_time(time)),
    }
}

/// Seconds have no sign (RFC 1813 §2.5): a time outside of 1970 to 2106 becomes the nearest second within.
fn to_time(from: Time) -> nfs3::Time {
    match u32::try_from(from.seconds) {
        Ok(seconds) => nfs3::Time { seconds, nanoseconds: from.nanoseconds },
        Err(_) if from.seconds < 0 => nfs3::Time { seconds: 0, nanoseconds: 0 },
        Err(_) => nfs3::Time { seconds: u32::MAX, nanoseconds: 0 },
    }
}

fn time(from: nfs3::Time) -> Time {
    Time { seconds: i64::from(from.seconds), nanoseconds: from.nanoseconds.min(NANOSECONDS_MAX) }
}

fn file_type(from: nfs3::FileType) -> FileType {
    match from {
        nfs3::FileType::Regular => FileType::Regular,
        nfs3::FileType::Directory => FileType::Directory,
        nfs3::FileType::Symlink => FileType::Symlink,
        nfs3::FileType::Block => FileType::Block,
        nfs3::FileType::Character => FileType::Character,
        nfs3::FileType::Fifo => FileType::Fifo,
        nfs3::FileType::Socket => FileType::Socket,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_outside_of_the_protocol_become_its_ends() {
        let at = |seconds, nanoseconds| to_time(Time { seconds, nanoseconds });
        assert_eq!(at(-1, 250_000_000), nfs3::Time { seconds: 0, nanoseconds: 0 });
        assert_eq!(at(7, 5), nfs3::Time { seconds: 7, nanoseconds: 5 });
        assert_eq!(at(1 << 32, 5), nfs3::Time { seconds: u32::MAX, nanoseconds: 0 });
    }
}
