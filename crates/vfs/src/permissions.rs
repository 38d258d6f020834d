//! The classic permission rules: mode bits, sticky directories, who may set what.
//!
//! Pure functions over attributes. The memory back end enforces everything with them; the local one leaves to
//! the kernel what the kernel checks and takes the rest from here.

use crate::{Access, Attributes, Error, FileKind, Identity, Result, SetAttributes, SetTime};

/// Permission to read, as a mode bit.
pub(crate) const READ: u32 = 4;
/// Permission to write, as a mode bit.
pub(crate) const WRITE: u32 = 2;
/// Permission to search or execute, as a mode bit.
pub(crate) const EXECUTE: u32 = 1;

/// Set-user-id.
pub(crate) const SET_UID: u32 = 0o4000;
/// Set-group-id.
pub(crate) const SET_GID: u32 = 0o2000;
/// Only owners remove from the directory.
pub(crate) const STICKY: u32 = 0o1000;

/// True when the mode bits give `who` all of `wanted`.
pub(crate) fn allows(who: &Identity, object: &Attributes, wanted: u32) -> bool {
    if who.uid == 0 {
        return wanted & EXECUTE == 0 || object.kind == FileKind::Directory || object.mode & 0o111 != 0;
    }
    let class = if who.uid == object.uid {
        object.mode >> 6
    } else if who.in_group(object.gid) {
        object.mode >> 3
    } else {
        object.mode
    };
    class & wanted == wanted
}

/// [`allows`] as a result.
pub(crate) fn require(who: &Identity, object: &Attributes, wanted: u32) -> Result<()> {
    if allows(who, object, wanted) { Ok(()) } else { Err(Error::AccessDenied) }
}

/// True when `who` may read or write the data of a file. The owner always may, whatever the mode.
/// Permission to execute includes reading: the server cannot tell a client that reads from one that runs
/// the file (RFC 1813 §4.4, RFC 8881 §6.2.1.3.1).
pub(crate) fn allows_data(who: &Identity, object: &Attributes, wanted: u32) -> bool {
    who.uid == object.uid || allows(who, object, wanted) || (wanted == READ && allows(who, object, EXECUTE))
}

/// The part of `wanted` that applies to `kind` and for which `has` finds the mode bits.
pub(crate) fn granted(kind: FileKind, wanted: Access, has: impl Fn(u32) -> bool) -> Access {
    let rules: &[(Access, u32)] = if kind == FileKind::Directory {
        &[
            (Access::READ, READ),
            (Access::LOOKUP, EXECUTE),
            (Access::MODIFY, WRITE | EXECUTE),
            (Access::EXTEND, WRITE | EXECUTE),
            (Access::DELETE, WRITE | EXECUTE),
        ]
    } else {
        &[(Access::READ, READ), (Access::MODIFY, WRITE), (Access::EXTEND, WRITE), (Access::EXECUTE, EXECUTE)]
    };
    let bits = rules.iter().filter(|(bit, need)| wanted.contains(*bit) && has(*need));
    Access(bits.fold(0, |all, (bit, _)| all | bit.0))
}

/// Checks who may set mode, owner, group and given times of `object`, and that they make sense. Writing its
/// data, which a size and `SetTime::Now` need, is for the caller to check.
pub(crate) fn check_set(who: &Identity, object: &Attributes, set: &SetAttributes) -> Result<()> {
    // The highest id means "leave it" to the kernel, and some impossible nanoseconds have meanings of their
    // own.
    let impossible = |time| matches!(time, Some(SetTime::To(time)) if time.nanoseconds >= 1_000_000_000);
    if [set.uid, set.gid].contains(&Some(u32::MAX)) || impossible(set.accessed) || impossible(set.modified) {
        return Err(Error::Invalid);
    }
    if who.uid == 0 {
        return Ok(());
    }
    let owner = who.uid == object.uid;
    let to_given_time = |time| matches!(time, Some(SetTime::To(_)));
    let needs_owner = set.mode.is_some() || to_given_time(set.accessed) || to_given_time(set.modified);
    let gives_away = set.uid.is_some_and(|uid| !owner || uid != object.uid);
    let foreign_group = set.gid.is_some_and(|gid| !owner || (gid != object.gid && !who.in_group(gid)));
    if (needs_owner && !owner) || gives_away || foreign_group {
        return Err(Error::NotPermitted);
    }
    Ok(())
}

/// True when `who` may remove `victim` from `dir` as far as a sticky bit is concerned.
pub(crate) fn sticky_allows(who: &Identity, dir: &Attributes, victim: &Attributes) -> bool {
    dir.mode & STICKY == 0 || who.uid == 0 || who.uid == dir.uid || who.uid == victim.uid
}

/// The mode after a write or truncation by `who`: only root keeps set-id bits.
pub(crate) fn mode_after_write(who: &Identity, object: &Attributes) -> u32 {
    if who.uid == 0 { object.mode } else { without_set_id(object.kind, object.mode) }
}

/// The mode after a change of owner: a file loses its set-id bits, whoever did it.
pub(crate) fn without_set_id(kind: FileKind, mode: u32) -> u32 {
    match (kind, mode & 0o010) {
        (FileKind::Directory, _) => mode,
        (_, 0) => mode & !SET_UID,
        _ => mode & !(SET_UID | SET_GID),
    }
}

/// The mode that `who` gets when asking for `mode` on an object of group `gid`: set-group-id needs
/// membership.
pub(crate) fn settable_mode(who: &Identity, gid: u32, mode: u32) -> u32 {
    let mode = mode & 0o7777;
    if who.uid == 0 || who.in_group(gid) { mode } else { mode & !SET_GID }
}
