//! What the kernel tells through fanotify, as bytes (`fanotify(7)`). Nothing here makes a system call.

use super::sys::Fid;
use crate::ObservedChange;

const MODIFY: u64 = 0x2;
const ATTRIB: u64 = 0x4;
const CLOSE_WRITE: u64 = 0x8;
const OPEN: u64 = 0x20;
const MOVED_FROM: u64 = 0x40;
const MOVED_TO: u64 = 0x80;
const CREATE: u64 = 0x100;
const DELETE: u64 = 0x200;
const DELETE_SELF: u64 = 0x400;
const MOVE_SELF: u64 = 0x800;
const OVERFLOW: u64 = 0x4000;
const ON_DIRECTORIES: u64 = 0x4000_0000;

/// A file is used. That it is read is told only by its being opened: our own reads would cost an event each.
const USES: u64 = OPEN;
/// The object itself is changed, or one of its names.
const OF_ITSELF: u64 = ATTRIB | DELETE_SELF | MOVE_SELF;
/// A file is changed. What was written through a mapping is only told when that and the file are closed.
const CHANGES_OF_FILE: u64 = MODIFY | CLOSE_WRITE | OF_ITSELF;
/// A directory is changed, or has another entry.
const CHANGES_OF_DIRECTORY: u64 = CREATE | DELETE | MOVED_FROM | MOVED_TO | OF_ITSELF | ON_DIRECTORIES;

const METADATA_BYTES: usize = 24;
const VERSION: u8 = 3;
/// The kind of record that names the object.
const INFO_FID: u8 = 1;

/// What the kernel must be asked for, to tell of this and more.
pub(super) fn mask(least: ObservedChange, is_directory: bool) -> u64 {
    match (is_directory, least) {
        (true, _) => CHANGES_OF_DIRECTORY,
        (false, ObservedChange::Changed) => CHANGES_OF_FILE,
        (false, ObservedChange::Used) => CHANGES_OF_FILE | USES,
    }
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// Something was done to an object by a process; 0 is one that we may not know.
    Of(Fid, ObservedChange, i32),
    /// Too much has happened, and not all of it was told.
    Overflow,
}

/// The events in what was read. Ends at what it cannot read.
pub(super) fn parse(bytes: &[u8]) -> Vec<Event> {
    let (mut events, mut rest) = (Vec::new(), bytes);
    while let Some((event, after)) = take(rest) {
        events.extend(event);
        rest = after;
    }
    events
}

fn take(bytes: &[u8]) -> Option<(Option<Event>, &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let metadata_length = usize::from(u16::from_ne_bytes(*bytes.get(6..)?.first_chunk()?));
    if length < METADATA_BYTES || metadata_length > length || *bytes.get(4)? != VERSION {
        return None;
    }
    let (event, after) = bytes.split_at_checked(length)?;
    let mask = u64::from_ne_bytes(*event.get(8..)?.first_chunk()?);
    if mask & OVERFLOW != 0 {
        return Some((Some(Event::Overflow), after));
    }
    let pid = u32_at(event, 20)? as i32;
    let seen =
        if mask & !(USES | ON_DIRECTORIES) == 0 { ObservedChange::Used } else { ObservedChange::Changed };
    let fid = fid(event.get(metadata_length..)?);
    Some((fid.map(|fid| Event::Of(fid, seen, pid)), after))
}

/// The object of the first record.
fn fid(info: &[u8]) -> Option<Fid> {
    // A header of four bytes, eight that name the file system, then the handle.
    if *info.first()? != INFO_FID {
        return None;
    }
    let length = u32_at(info, 12)? as usize;
    let kind = u8::try_from(u32_at(info, 16)?).ok()?;
    Fid::new(kind, info.get(20..)?.get(..length)?)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(mask: u64, pid: i32, handle: &[u8]) -> Vec<u8> {
        let info_length = 20 + handle.len();
        let mut bytes = Vec::new();
        bytes.extend(((METADATA_BYTES + info_length) as u32).to_ne_bytes());
        bytes.extend([VERSION, 0]);
        bytes.extend((METADATA_BYTES as u16).to_ne_bytes());
        bytes.extend(mask.to_ne_bytes());
        bytes.extend((-1i32).to_ne_bytes());
        bytes.extend(pid.to_ne_bytes());
        bytes.extend([INFO_FID, 0]);
        bytes.extend((info_length as u16).to_ne_bytes());
        bytes.extend([7; 8]);
        bytes.extend((handle.len() as u32).to_ne_bytes());
        bytes.extend(1i32.to_ne_bytes());
        bytes.extend(handle);
        bytes
    }

    #[test]
    fn events_are_told_apart_and_an_overflow_is_told() {
        let fid = Fid::new(1, &[5; 8]).unwrap();
        let mut bytes = event(MODIFY | OPEN, 12, &[5; 8]);
        bytes.extend(event(OPEN, 0, &[5; 8]));
        bytes.extend(event(OVERFLOW, 0, &[]));
        bytes.extend(event(DELETE | ON_DIRECTORIES, 3, &[5; 8]));
        let expected = [
            Event::Of(fid, ObservedChange::Changed, 12),
            Event::Of(fid, ObservedChange::Used, 0),
            Event::Overflow,
            Event::Of(fid, ObservedChange::Changed, 3),
        ];
        assert_eq!(parse(&bytes), expected);
    }

    #[test]
    fn truncated_event_is_refused() {
        let whole = event(MODIFY, 12, &[5; 8]);
        for length in 0..whole.len() {
            assert!(parse(&whole[..length]).is_empty(), "{length}");
        }
        assert!(parse(&event(MODIFY, 12, &[5; 64])).is_empty());
        assert!(parse(&[0xff; 64]).is_empty());
    }
}
