//! Reading and writing the data of files.

use std::sync::Arc;

use super::inode::{Content, Inode, State};
use super::{FILE_BYTES_MAX, Memory};
use crate::permissions::{self, READ, WRITE};
use crate::{Error, FileKind, Identity, ReadDone, Result};

impl Memory {
    /// Writes what finds room and returns how much that was.
    pub(super) fn write_now(&self, who: &Identity, inode: &Inode, offset: u64, data: &[u8]) -> Result<usize> {
        let mut state = inode.state.write();
        check(who, &state, WRITE)?;
        if data.is_empty() {
            return Ok(0);
        }
        let room = FILE_BYTES_MAX.saturating_sub(offset);
        if room < data.len() as u64 {
            return Err(Error::FileTooBig);
        }
        let State { attributes, content: Content::File(pages), charge, .. } = &mut *state else {
            return Err(Error::WrongType);
        };
        let count = pages.write(offset, data, charge);
        if count == 0 {
            return Err(Error::NoSpace);
        }
        attributes.size = attributes.size.max(offset + count as u64);
        attributes.used = pages.used_bytes();
        attributes.mode = permissions::mode_after_write(who, attributes);
        state.modified(self.now());
        Ok(count)
    }
}

/// Appends what the file has of the range. Access times are left alone, as with `noatime`.
pub(super) fn read(
    who: &Identity,
    inode: &Arc<Inode>,
    offset: u64,
    count: usize,
    out: &mut Vec<u8>,
) -> Result<ReadDone> {
    let state = inode.state.read();
    check(who, &state, READ)?;
    let Content::File(pages) = &state.content else { return Err(Error::WrongType) };
    let left = state.attributes.size.saturating_sub(offset);
    let count = left.min(count as u64) as usize;
    if count > 0 {
        pages.read(offset, count, out);
    }
    Ok(ReadDone { count, eof: left == count as u64 })
}

/// Checks what COMMIT needs.
pub(super) fn check_commit(who: &Identity, inode: &Arc<Inode>) -> Result<()> {
    check(who, &inode.state.read(), WRITE)
}

pub(super) fn check(who: &Identity, state: &State, wanted: u32) -> Result<()> {
    match state.attributes.kind {
        FileKind::Regular => {}
        FileKind::Directory => return Err(Error::IsDirectory),
        FileKind::Symlink => return Err(Error::IsSymlink),
        _ => return Err(Error::WrongType),
    }
    if permissions::allows_data(who, &state.attributes, wanted) { Ok(()) } else { Err(Error::AccessDenied) }
}
