//! Attributes between the back end's form and the wire's.

use proto::nfs3;
use vfs::{Attributes, FileKind, SetAttributes, SetTime, Timestamp};

/// The permission bits that a client can set, set-id and sticky bits included.
const MODE_MASK: u32 = 0o7777;

/// As `fattr3`.
pub(super) fn to_wire(from: &Attributes) -> nfs3::FileAttributes {
    nfs3::FileAttributes {
        kind: kind(from.kind),
        mode: from.mode & MODE_MASK,
        links: from.links,
        uid: from.uid,
        gid: from.gid,
        size: from.size,
        used: from.used,
        device: nfs3::Device { major: from.device.major, minor: from.device.minor },
        fsid: from.fsid,
        fileid: from.fileid,
        accessed: time(from.accessed),
        modified: time(from.modified),
        changed: time(from.changed),
    }
}

/// As `wcc_attr`.
pub(super) fn to_wcc(from: &Attributes) -> nfs3::WccAttributes {
    nfs3::WccAttributes { size: from.size, modified: time(from.modified), changed: time(from.changed) }
}

/// From `sattr3`.
pub(super) fn from_wire(from: &nfs3::SetAttributes) -> SetAttributes {
    SetAttributes {
        mode: from.mode.map(|mode| mode & MODE_MASK),
        mode_mask: None,
        uid: from.uid,
        gid: from.gid,
        size: from.size,
        accessed: set_time(from.accessed),
        modified: set_time(from.modified),
    }
}

/// As `nfstime3`, whose seconds have no sign: what is outside becomes the nearest that can be said.
pub(super) fn time(from: Timestamp) -> nfs3::Time {
    match u32::try_from(from.seconds) {
        Ok(seconds) => nfs3::Time { seconds, nanoseconds: from.nanoseconds },
        Err(_) if from.seconds < 0 => nfs3::Time { seconds: 0, nanoseconds: 0 },
        Err(_) => nfs3::Time { seconds: u32::MAX, nanoseconds: 0 },
    }
}

fn kind(from: FileKind) -> nfs3::FileType {
    match from {
        FileKind::Regular => nfs3::FileType::Regular,
        FileKind::Directory => nfs3::FileType::Directory,
        FileKind::Block => nfs3::FileType::Block,
        FileKind::Character => nfs3::FileType::Character,
        FileKind::Symlink => nfs3::FileType::Symlink,
        FileKind::Socket => nfs3::FileType::Socket,
        FileKind::Fifo => nfs3::FileType::Fifo,
    }
}

fn set_time(from: nfs3::SetTime) -> Option<SetTime> {
    match from {
        nfs3::SetTime::Keep => None,
        nfs3::SetTime::Now => Some(SetTime::Now),
        nfs3::SetTime::To(time) => {
            // A client's carry is taken for it instead of being handed to a back end that counts on less.
            let seconds = i64::from(time.seconds) + i64::from(time.nanoseconds / 1_000_000_000);
            let nanoseconds = time.nanoseconds % 1_000_000_000;
            Some(SetTime::To(Timestamp { seconds, nanoseconds }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_outside_what_the_wire_can_say_become_its_ends() {
        let at = |seconds, nanoseconds| time(Timestamp { seconds, nanoseconds });
        assert_eq!(at(-1, 5), nfs3::Time { seconds: 0, nanoseconds: 0 });
        assert_eq!(at(7, 5), nfs3::Time { seconds: 7, nanoseconds: 5 });
        assert_eq!(at(1 << 32, 5), nfs3::Time { seconds: u32::MAX, nanoseconds: 0 });
    }

    #[test]
    fn nanoseconds_never_reach_a_second() {
        let time = nfs3::Time { seconds: 1, nanoseconds: u32::MAX };
        let expected = SetTime::To(Timestamp { seconds: 5, nanoseconds: 294_967_295 });
        assert_eq!(set_time(nfs3::SetTime::To(time)), Some(expected));
    }
}
