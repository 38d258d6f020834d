//! Holes, clones and extended attributes.

use std::sync::Arc;

use bytes::Bytes;

use super::data::check;
use super::inode::{Content as Held, Inode, State};
use super::pages::PAGE_BYTES;
use super::{FILE_BYTES_MAX, Memory};
use crate::permissions::{self, READ, WRITE};
use crate::{Content, Error, FileKind, Identity, Result, Span, XATTR_BYTES_MAX, XattrMode, XattrName};

/// The most bytes that the names of an object's extended attributes take, as with Linux.
const XATTR_NAMES_BYTES_MAX: usize = 1 << 16;

impl Memory {
    pub(super) fn allocate_now(&self, who: &Identity, inode: &Inode, offset: u64, length: u64) -> Result<()> {
        let mut state = inode.state.write();
        check(who, &state, WRITE)?;
        let end = end_of(offset, length)?;
        let State { attributes, content: Held::File(pages), charge, .. } = &mut *state else {
            return Err(Error::WrongType);
        };
        pages.fill(offset, end, charge)?;
        attributes.size = attributes.size.max(end);
        self.space_changed(who, &mut state);
        Ok(())
    }

    pub(super) fn deallocate_now(
        &self,
        who: &Identity,
        inode: &Inode,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        let mut state = inode.state.write();
        check(who, &state, WRITE)?;
        let end = end_of(offset, length)?;
        let State { content: Held::File(pages), charge, .. } = &mut *state else {
            return Err(Error::WrongType);
        };
        pages.clear(offset, end, charge);
        self.space_changed(who, &mut state);
        Ok(())
    }

    /// One lock after the other: the source is seen as it was at one moment, and so is the target changed.
    pub(super) fn clone_range_now(
        &self,
        who: &Identity,
        source: &Inode,
        target: &Inode,
        span: Span,
    ) -> Result<()> {
        let shared = {
            let state = source.state.read();
            check(who, &state, READ)?;
            let Held::File(pages) = &state.content else { return Err(Error::WrongType) };
            let end = span.from.checked_add(span.count).filter(|end| *end <= state.attributes.size);
            let end = end.ok_or(Error::Invalid)?;
            let is_aligned = |offset: u64| offset.is_multiple_of(PAGE_BYTES as u64);
            let ends_well = is_aligned(span.count) || end == state.attributes.size;
            let overlaps = source.fileid == target.fileid && span.from.abs_diff(span.to) < span.count;
            if !is_aligned(span.from) || !is_aligned(span.to) || !ends_well || overlaps {
                return Err(Error::Invalid);
            }
            pages.share(span.from, end)
        };
        let mut state = target.state.write();
        check(who, &state, WRITE)?;
        let end = end_of(span.to, span.count)?;
        let State { attributes, content: Held::File(pages), charge, .. } = &mut *state else {
            return Err(Error::WrongType);
        };
        pages.adopt(span.to, end, shared, charge)?;
        attributes.size = attributes.size.max(end);
        self.space_changed(who, &mut state);
        Ok(())
    }

    fn space_changed(&self, who: &Identity, state: &mut State) {
        if let Held::File(pages) = &state.content {
            state.attributes.used = pages.used_bytes();
        }
        state.attributes.mode = permissions::mode_after_write(who, &state.attributes);
        state.modified(self.now());
    }

    pub(super) fn set_xattr_now(
        &self,
        who: &Identity,
        inode: &Inode,
        name: XattrName<'_>,
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        let mut state = inode.state.write();
        check_xattrs(who, &state, WRITE)?;
        let name = name.as_bytes();
        let before = state.xattrs.get(name).map(Bytes::len);
        match (mode, before) {
            (XattrMode::Create, Some(_)) => return Err(Error::Exists),
            (XattrMode::Replace, None) => return Err(Error::NoXattr),
            _ => {}
        }
        let names: usize = state.xattrs.keys().map(|name| name.len() + 1).sum();
        let full = before.is_none() && names + name.len() + 1 > XATTR_NAMES_BYTES_MAX;
        if value.len() > XATTR_BYTES_MAX || full {
            return Err(Error::XattrTooBig);
        }
        state.charge.grow((name.len() + value.len()) as u64)?;
        if let Some(before) = before {
            state.charge.shrink((name.len() + before) as u64);
        }
        state.xattrs.insert(Bytes::copy_from_slice(name), Bytes::copy_from_slice(value));
        state.changed(self.now());
        Ok(())
    }

    pub(super) fn remove_xattr_now(&self, who: &Identity, inode: &Inode, name: XattrName<'_>) -> Result<()> {
        let mut state = inode.state.write();
        check_xattrs(who, &state, WRITE)?;
        let value = state.xattrs.remove(name.as_bytes()).ok_or(Error::NoXattr)?;
        state.charge.shrink((name.as_bytes().len() + value.len()) as u64);
        state.changed(self.now());
        Ok(())
    }
}

pub(super) fn seek(who: &Identity, inode: &Arc<Inode>, offset: u64, what: Content) -> Result<Option<u64>> {
    let state = inode.state.read();
    check(who, &state, READ)?;
    let Held::File(pages) = &state.content else { return Err(Error::WrongType) };
    let size = state.attributes.size;
    if offset >= size {
        return Err(Error::BeyondEnd);
    }
    Ok(match what {
        Content::Data => pages.next_data(offset).filter(|found| *found < size),
        Content::Hole => Some(pages.next_hole(offset).min(size)),
    })
}

pub(super) fn get_xattr(who: &Identity, inode: &Inode, name: XattrName<'_>) -> Result<Bytes> {
    let state = inode.state.read();
    check_xattrs(who, &state, READ)?;
    state.xattrs.get(name.as_bytes()).cloned().ok_or(Error::NoXattr)
}

pub(super) fn list_xattrs(who: &Identity, inode: &Inode) -> Result<Vec<Bytes>> {
    let state = inode.state.read();
    check_xattrs(who, &state, READ)?;
    Ok(state.xattrs.keys().cloned().collect())
}

fn check_xattrs(who: &Identity, state: &State, wanted: u32) -> Result<()> {
    match state.attributes.kind {
        FileKind::Regular | FileKind::Directory => permissions::require(who, &state.attributes, wanted),
        _ => Err(Error::WrongType),
    }
}

fn end_of(offset: u64, length: u64) -> Result<u64> {
    offset.checked_add(length).filter(|end| *end <= FILE_BYTES_MAX).ok_or(Error::FileTooBig)
}
