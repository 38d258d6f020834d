//! The operations that an item of a batch consists of once the COMPOUND has come to its directory: how they
//! are written, and how much room they and their results take at most. Nothing is remembered here.

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::{
    CloseArgs, CommitArgs, CreateArgs, CreateHow, CreateType, LinkArgs, LookupArgs, OpenArgs, OpenClaim,
    Operation, ReadArgs, ReadDirArgs, RemoveArgs, RenameArgs, SetAttrArgs, StableHow, StateId, StateOwner,
    Verifier, WriteArgs, share,
};

use super::super::access::SetAttrWith;
use super::super::compound::Operations;
use super::super::convert::{ATTRIBUTES, values};
use super::super::names::CreateWith;
use super::plan::Amount;
use crate::attributes::SetAttributes;
use crate::items::{Existing, Item, Names};

/// The longest list of entries that comes with others, in bytes.
const LIST_BYTES: u32 = 32 << 10;
/// The longest result of OPEN that brings no delegation and of GETFH, in bytes: a server must have that much
/// room left.
const OPENED_BYTES: usize = 160 + 144;
/// The longest result of GETATTR, with names of owners, in bytes.
const ATTRIBUTES_BYTES: usize = 640;
/// The longest target of a symbolic link, in bytes.
const TARGET_BYTES: usize = 4096 + 16;

/// The last of the names; the start of a batch has none, and goes alone.
pub(super) fn last(at: &Names) -> Bytes {
    at.split_last().map(|(_, name)| name).unwrap_or_default()
}

/// The one that an item is sent for.
pub(super) fn principal(item: &Item) -> Operation {
    match item {
        Item::Read { .. } | Item::Drain { .. } => Operation::Read,
        Item::Write { .. } | Item::WriteRange { .. } | Item::Copy { .. } | Item::Fill { .. } => {
            Operation::Open
        }
        Item::Attributes { .. } => Operation::GetAttr,
        Item::SetAttributes { .. } => Operation::SetAttr,
        Item::MakeDirectory { .. } | Item::Symlink { .. } => Operation::Create,
        Item::ReadLink { .. } => Operation::ReadLink,
        Item::Remove { .. } => Operation::Remove,
        Item::Rename { .. } => Operation::Rename,
        Item::Link { .. } => Operation::Link,
        Item::List { .. } => Operation::ReadDir,
    }
}

/// True when the data are made stable by COMMIT: SETATTR waits for the disk as well, and so they go there
/// only once.
pub(super) fn commits(set: &SetAttributes) -> bool {
    *set != SetAttributes::default()
}

/// What an item takes besides its way; `None` when it goes alone.
pub(super) fn amount(item: &Item) -> Option<Amount> {
    let (operations, request_bytes, reply_bytes) = match item {
        Item::Read { length: 0, .. } => return None,
        Item::Read { expected, .. } => (2, 40, *expected as usize + 64),
        Item::Write { data, set, .. } => {
            let operations = 3 + 2 * u32::from(commits(set)) + u32::from(!data.is_empty());
            (operations, data.len() + 320, OPENED_BYTES + 112)
        }
        Item::WriteRange { data, .. } => (4, data.len() + 240, OPENED_BYTES + 64),
        Item::Attributes { .. } => (3, 40, ATTRIBUTES_BYTES + 160),
        Item::SetAttributes { set, .. } if set.size.is_some() => return None,
        Item::SetAttributes { .. } => (3, 200, 192),
        Item::MakeDirectory { .. } => (3, 64, ATTRIBUTES_BYTES + 224),
        Item::Symlink { target, .. } => (1, target.len() + 48, 80),
        Item::ReadLink { .. } => (2, 16, TARGET_BYTES),
        Item::Remove { .. } | Item::Link { .. } => (1, 16, 32),
        Item::Rename { .. } => (1, 16, 56),
        Item::List { .. } => (2, 72, LIST_BYTES as usize + ATTRIBUTES_BYTES),
        Item::Copy { .. } | Item::Fill { .. } | Item::Drain { .. } => return None,
    };
    let name = match item {
        Item::Rename { from, to } => last(from).len() + last(to).len() + 8,
        Item::Link { at, .. }
        | Item::Read { at, .. }
        | Item::Write { at, .. }
        | Item::WriteRange { at, .. }
        | Item::Attributes { at }
        | Item::SetAttributes { at, .. }
        | Item::MakeDirectory { at, .. }
        | Item::Symlink { at, .. }
        | Item::ReadLink { at }
        | Item::Remove { at, .. } => last(at).len() + 8,
        _ => 0,
    };
    Some(Amount { operations, request_bytes: request_bytes + name + 4 * operations as usize, reply_bytes })
}

/// Writes the operations of an item.
pub(super) fn put(operations: &mut Operations<'_, '_>, item: &Item, owner: &StateOwner) {
    let lookup = |at: &Names| LookupArgs { name: last(at) };
    match item {
        Item::Read { at, offset, expected, .. } => {
            let count = u32::try_from(*expected).unwrap_or(u32::MAX);
            let args = ReadArgs { state_id: StateId::ANONYMOUS, offset: *offset, count };
            operations.put(Operation::Lookup, &lookup(at)).put(Operation::Read, &args);
        }
        Item::Write { at, data, existing, mode, set } => {
            let create = create_how(*existing, *mode);
            operations.put(Operation::Open, &open(at, Some(create), owner)).put(Operation::GetFh, &());
            let stable = if commits(set) { StableHow::Unstable } else { StableHow::FileSync };
            if !data.is_empty() {
                operations.put(Operation::Write, &write(0, data, stable));
            }
            if commits(set) {
                put_set(operations, set);
                operations.put(Operation::Commit, &CommitArgs { offset: 0, count: 0 });
            }
            operations.put(Operation::Close, &CloseArgs { sequence: 0, state_id: StateId::CURRENT });
        }
        Item::WriteRange { at, offset, data } => {
            operations.put(Operation::Open, &open(at, None, owner)).put(Operation::GetFh, &());
            operations.put(Operation::Write, &write(*offset, data, StableHow::FileSync));
            operations.put(Operation::Close, &CloseArgs { sequence: 0, state_id: StateId::CURRENT });
        }
        Item::Attributes { at } => {
            operations.put(Operation::Lookup, &lookup(at)).describe();
        }
        Item::SetAttributes { at, set } => {
            operations.put(Operation::Lookup, &lookup(at)).put(Operation::GetFh, &());
            put_set(operations, set);
        }
        Item::MakeDirectory { at, mode } => {
            put_create(operations, CreateType::Directory, at, *mode);
            operations.describe();
        }
        Item::Symlink { at, target, .. } => {
            put_create(operations, CreateType::Symlink(target.clone()), at, 0o777);
        }
        Item::ReadLink { at } => {
            operations.put(Operation::Lookup, &lookup(at)).put(Operation::ReadLink, &());
        }
        Item::Remove { at, .. } => {
            operations.put(Operation::Remove, &RemoveArgs { target: last(at) });
        }
        Item::Rename { from, to } => {
            operations.put(Operation::Rename, &RenameArgs { old_name: last(from), new_name: last(to) });
        }
        Item::Link { at, .. } => {
            operations.put(Operation::Link, &LinkArgs { new_name: last(at) });
        }
        Item::List { .. } => {
            let wanted = ATTRIBUTES | Bitmap::of(&[AttributeId::FileHandle, AttributeId::RdattrError]);
            let args = ReadDirArgs {
                cookie: 0,
                verifier: Verifier([0; 8]),
                directory_count: LIST_BYTES,
                count_max: LIST_BYTES,
                wanted,
            };
            operations.get_attr().put(Operation::ReadDir, &args);
        }
        // They go alone.
        Item::Copy { .. } | Item::Fill { .. } | Item::Drain { .. } => {}
    }
}

fn put_set(operations: &mut Operations<'_, '_>, set: &SetAttributes) {
    let values = values(set);
    let args = SetAttrArgs { state_id: StateId::ANONYMOUS };
    operations.put(Operation::SetAttr, &SetAttrWith(args, &values));
}

fn put_create(operations: &mut Operations<'_, '_>, kind: CreateType, at: &Names, mode: u32) {
    let set = AttributeValues { mode: Some(mode), ..AttributeValues::default() };
    let args = CreateArgs { kind, name: last(at) };
    operations.put(Operation::Create, &CreateWith(&args, &set));
}

/// The slot's reply cache knows a repetition, so GUARDED does what an exclusive create would.
fn create_how(existing: Existing, mode: u32) -> CreateHow {
    let set = AttributeValues { mode: Some(mode), ..AttributeValues::default() };
    match existing {
        Existing::Truncate => CreateHow::Unchecked(AttributeValues { size: Some(0), ..set }),
        Existing::Refuse | Existing::Replace => CreateHow::Guarded(set),
    }
}

fn open(at: &Names, create: Option<CreateHow>, owner: &StateOwner) -> OpenArgs {
    OpenArgs {
        sequence: 0,
        share_access: share::WRITE | share::WANT_NO_DELEGATION,
        share_deny: 0,
        owner: owner.clone(),
        create: create.map(Box::new),
        claim: OpenClaim::Null(last(at)),
    }
}

fn write(offset: u64, data: &Bytes, stable: StableHow) -> WriteArgs {
    WriteArgs { state_id: StateId::CURRENT, offset, stable, data: data.clone() }
}
