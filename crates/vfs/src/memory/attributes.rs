//! Setting attributes and asking for access.

use std::sync::Arc;

use super::Memory;
use super::inode::{Inode, State};
use crate::permissions::{self, WRITE};
use crate::{Access, Attributes, Error, FileKind, Identity, Result, SetAttributes, SetTime, Timestamp};

impl Memory {
    pub(super) fn set_attributes_now(
        &self,
        who: &Identity,
        inode: &Arc<Inode>,
        set: &SetAttributes,
    ) -> Result<Attributes> {
        let mut state = inode.state.write();
        check(who, &state.attributes, set)?;
        apply(who, &mut state, &set.applicable(inode.kind), self.now());
        Ok(state.attributes)
    }
}

/// Which of `wanted` the mode gives.
pub(super) fn access(who: &Identity, object: &Attributes, wanted: Access) -> Access {
    permissions::granted(object.kind, wanted, |bits| permissions::allows(who, object, bits))
}

/// Everything that can refuse `set`, before anything is changed.
pub(super) fn check(who: &Identity, object: &Attributes, set: &SetAttributes) -> Result<()> {
    permissions::check_set(who, object, set)?;
    if let Some(size) = set.size {
        match object.kind {
            FileKind::Regular => {}
            FileKind::Directory => return Err(Error::IsDirectory),
            _ => return Err(Error::Invalid),
        }
        if size > super::FILE_BYTES_MAX {
            return Err(Error::FileTooBig);
        }
    }
    let to_now = [set.accessed, set.modified].contains(&Some(SetTime::Now));
    if (set.size.is_some() || to_now) && !permissions::allows_data(who, object, WRITE) {
        return Err(Error::AccessDenied);
    }
    Ok(())
}

/// Sets what [`check`] has let pass.
pub(super) fn apply(who: &Identity, state: &mut State, set: &SetAttributes, now: Timestamp) {
    if let Some(size) = set.size {
        state.set_size(size);
        state.attributes.mode = permissions::mode_after_write(who, &state.attributes);
        state.modified(now);
    }
    if set.uid.is_some() || set.gid.is_some() {
        let attributes = &mut state.attributes;
        attributes.uid = set.uid.unwrap_or(attributes.uid);
        attributes.gid = set.gid.unwrap_or(attributes.gid);
        attributes.mode = permissions::without_set_id(attributes.kind, attributes.mode);
    }
    if let Some(mode) = set.mode_over(state.attributes.mode) {
        state.attributes.mode = permissions::settable_mode(who, state.attributes.gid, mode);
    }
    if set.accessed.is_some() || set.modified.is_some() {
        state.verifier = None;
    }
    let time = |set: SetTime| match set {
        SetTime::Now => now,
        SetTime::To(time) => time,
    };
    state.attributes.accessed = set.accessed.map_or(state.attributes.accessed, time);
    state.attributes.modified = set.modified.map_or(state.attributes.modified, time);
    if *set != SetAttributes::default() {
        state.changed(now);
    }
}
