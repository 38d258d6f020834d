//! Operations with their usual arguments.

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeValues, Bitmap};
use proto::nfs4::*;

use super::ledger::{Step, step};

pub fn root() -> Step {
    step(Operation::PutRootFh, &())
}

pub fn put(object: &FileHandle) -> Step {
    step(Operation::PutFh, &PutFhArgs { object: object.clone() })
}

pub fn bytes(name: &str) -> Bytes {
    Bytes::copy_from_slice(name.as_bytes())
}

pub fn lookup(name: &str) -> Step {
    step(Operation::Lookup, &LookupArgs { name: bytes(name) })
}

/// CREATE in the current directory.
pub fn create(kind: CreateType, name: &[u8], values: &AttributeValues) -> Step {
    let name = Bytes::copy_from_slice(name);
    let mut created = step(Operation::Create, &CreateArgs { kind, name });
    created.arguments.extend(step(Operation::Create, values).arguments);
    created
}

/// SETATTR of the current object.
pub fn set(state_id: StateId, values: &AttributeValues) -> Step {
    let mut set = step(Operation::SetAttr, &SetAttrArgs { state_id });
    set.arguments.extend(step(Operation::SetAttr, values).arguments);
    set
}

/// The arguments of a LOCK by a new lock-owner.
pub fn lock(open: StateId, owner: &'static str, offset: u64, length: u64) -> LockArgs {
    LockArgs {
        kind: LockType::Write,
        reclaim: false,
        offset,
        length,
        locker: Locker::New(NewLockOwner {
            open_sequence: 0,
            open_state_id: open,
            lock_sequence: 0,
            owner: StateOwner { client: ClientId(0), owner: bytes(owner) },
        }),
    }
}

/// The arguments of a LOCKU.
pub fn unlock(state_id: StateId, offset: u64, length: u64) -> LockUArgs {
    LockUArgs { kind: LockType::Write, sequence: 0, state_id, offset, length }
}

/// The arguments of an EXCHANGE_ID.
pub fn exchange(owner: &str, verifier: u8, flags: u32) -> ExchangeIdArgs {
    let owner = ClientOwner { verifier: Verifier([verifier; 8]), id: bytes(owner) };
    ExchangeIdArgs { owner, flags, state_protect: StateProtect::None, implementation: vec![] }
}

/// The arguments of a LOCKT.
pub fn test_lock(owner: &str, offset: u64, length: u64) -> LockTArgs {
    let owner = StateOwner { client: ClientId(0), owner: bytes(owner) };
    LockTArgs { kind: LockType::Write, offset, length, owner }
}

/// The arguments of a READDIR from the start.
pub fn read_dir(wanted: Bitmap) -> ReadDirArgs {
    let verifier = Verifier([0; 8]);
    ReadDirArgs { cookie: 0, verifier, directory_count: 1000, count_max: 4000, wanted }
}

/// The arguments of a WRITE of a few bytes.
pub fn write(state_id: StateId, offset: u64) -> WriteArgs {
    WriteArgs { state_id, offset, stable: StableHow::Unstable, data: Bytes::from_static(b"more") }
}

/// The arguments of a COPY under the stateids of source and target.
pub fn copy((source, target): (StateId, StateId), (from, to, count): (u64, u64, u64)) -> CopyArgs {
    CopyArgs {
        source_state_id: source,
        target_state_id: target,
        source_offset: from,
        target_offset: to,
        count,
        consecutive: true,
        synchronous: true,
        sources: vec![],
    }
}

/// The arguments of a CLONE under the stateids of source and target.
pub fn clone((source, target): (StateId, StateId), (from, to, count): (u64, u64, u64)) -> CloneArgs {
    CloneArgs {
        source_state_id: source,
        target_state_id: target,
        source_offset: from,
        target_offset: to,
        count,
    }
}

/// SETXATTR of a value of so many bytes.
pub fn set_xattr(name: &str, value_bytes: usize) -> Step {
    let (option, value) = (SetXattrOption::Either, vec![7; value_bytes].into());
    step(Operation::SetXattr, &SetXattrArgs { option, name: bytes(name), value })
}
