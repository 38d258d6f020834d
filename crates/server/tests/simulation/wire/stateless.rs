//! Calls of NFSv3 and NLM for [`Action`]s, and what their replies say, in the words of NFSv4.

use bytes::Bytes;
use proto::nfs3::{self, DirOpArgs, Request as _};
use proto::nfs4::{FileHandle, StateId, Status};
use proto::{nlm4, nsm1};

use crate::action::{Action, CELL_BYTES, Done, Outcome, Place};
use crate::host;

fn handle(handle: &FileHandle) -> nfs3::FileHandle {
    nfs3::FileHandle::new(&handle.0).expect("a handle of the server")
}

fn entry(name: &str) -> DirOpArgs {
    DirOpArgs { dir: handle(&host::root_handle()), name: Bytes::copy_from_slice(name.as_bytes()) }
}

fn host_name(place: Place) -> Bytes {
    Bytes::copy_from_slice(format!("host {}", place.slot).as_bytes())
}

fn lock(place: Place, file: &FileHandle, offset: u64, length: u64) -> nlm4::Lock {
    let owner = nlm4::NetObject(Bytes::copy_from_slice(&place.slot.to_be_bytes()));
    let caller_name = host_name(place);
    let file = nlm4::NetObject(file.0.clone());
    nlm4::Lock { caller_name, file, owner, process: 1, offset, length }
}

/// Program, version, procedure and arguments.
pub fn encode(place: Place, action: &Action) -> ((u32, u32, u32), Bytes) {
    let nfs = |procedure: nfs3::Procedure| (nfs3::PROGRAM, nfs3::VERSION, procedure.number());
    let nlm = |procedure: nlm4::Procedure| (nlm4::PROGRAM, nlm4::VERSION, procedure.number());
    let cookie = nlm4::NetObject::default();
    match action {
        Action::Lookup { file } => {
            let arguments = nfs3::LookupArgs { what: entry(file) };
            (nfs(nfs3::LookupArgs::PROCEDURE), xdr::to_bytes(&arguments))
        }
        Action::Read { cell, handle: file, .. } => {
            let count = CELL_BYTES as u32;
            let arguments = nfs3::ReadArgs { file: handle(file), offset: cell.offset, count };
            (nfs(nfs3::ReadArgs::PROCEDURE), xdr::to_bytes(&arguments))
        }
        Action::Write { cell, handle: file, value, .. } => {
            let arguments = nfs3::WriteArgs {
                file: handle(file),
                offset: cell.offset,
                count: CELL_BYTES as u32,
                stable: nfs3::StableHow::FileSync,
                data: Bytes::copy_from_slice(&value.to_be_bytes()),
            };
            (nfs(nfs3::WriteArgs::PROCEDURE), xdr::to_bytes(&arguments))
        }
        Action::SetMode { handle: file, mode, .. } => {
            let attributes = nfs3::SetAttributes { mode: Some(*mode), ..nfs3::SetAttributes::default() };
            let arguments = nfs3::SetAttrArgs { object: handle(file), attributes, guard: None };
            (nfs(nfs3::SetAttrArgs::PROCEDURE), xdr::to_bytes(&arguments))
        }
        Action::Remove { name } => {
            let arguments = nfs3::RemoveArgs { object: entry(name) };
            (nfs(nfs3::RemoveArgs::PROCEDURE), xdr::to_bytes(&arguments))
        }
        Action::Lock { handle, offset, length, exclusive, .. } => {
            let lock = lock(place, handle, *offset, *length);
            let exclusive = *exclusive;
            let block = waits(place);
            let arguments = nlm4::LockArgs { cookie, block, exclusive, lock, reclaim: false, state: 1 };
            (nlm(nlm4::Procedure::Lock), xdr::to_bytes(&arguments))
        }
        Action::Unlock { handle, offset, length, .. } => {
            let arguments = nlm4::UnlockArgs { cookie, lock: lock(place, handle, *offset, *length) };
            (nlm(nlm4::Procedure::Unlock), xdr::to_bytes(&arguments))
        }
        Action::Cancel { handle, offset, length } => {
            let lock = lock(place, handle, *offset, *length);
            let arguments = nlm4::CancelArgs { cookie, block: true, exclusive: true, lock };
            (nlm(nlm4::Procedure::Cancel), xdr::to_bytes(&arguments))
        }
        Action::Notify { state, by_free_all: true } => {
            let arguments = nlm4::Notify { name: host_name(place), state: *state };
            (nlm(nlm4::Procedure::FreeAll), xdr::to_bytes(&arguments))
        }
        Action::Notify { state, .. } => {
            let arguments = nsm1::StatChange { name: host_name(place), state: *state };
            let procedure = nsm1::Procedure::Notify.number();
            ((nsm1::PROGRAM, nsm1::VERSION, procedure), xdr::to_bytes(&arguments))
        }
        other => panic!("not for a client without state: {other:?}"),
    }
}

/// True for a LOCK that waits: three of four do.
fn waits(place: Place) -> bool {
    !place.sequence.is_multiple_of(4)
}

/// The subject of GRANTED: its cookie, the number of the host, and the first byte of the lock.
pub fn granted(arguments: &Bytes) -> (Bytes, usize, u64) {
    let arguments: nlm4::TestArgs = xdr::from_bytes(arguments.clone()).expect("a well-formed call");
    let owner: [u8; 4] = arguments.lock.owner.0[..].try_into().expect("the owner of a host");
    (arguments.cookie.0, u32::from_be_bytes(owner) as usize, arguments.lock.offset)
}

/// The answer to GRANTED.
pub fn granted_answer(accepts: bool) -> Bytes {
    let status = if accepts { nlm4::Status::Granted } else { nlm4::Status::Denied };
    xdr::to_bytes(&nlm4::Response { cookie: nlm4::NetObject::default(), status })
}

/// The end of stateids that no server gives.
const INVENTED: [u8; 4] = [0xff; 4];

/// True for what stands for a lock of NLM.
pub fn is_invented(id: &StateId) -> bool {
    *id != StateId::READ_BYPASS && id.other.0[8..] == INVENTED
}

/// A stateid for what NLM gives without one.
pub fn invented(place: Place) -> StateId {
    let mut other = [0; 12];
    other[8..].copy_from_slice(&INVENTED);
    other[..4].copy_from_slice(&place.slot.to_be_bytes());
    other[4..8].copy_from_slice(&place.sequence.to_be_bytes());
    StateId { sequence: 1, other: proto::nfs4::StateOther(other) }
}

fn of_nfs<R: nfs3::Request>(reply: &Bytes) -> Result<R::Ok, Status> {
    match xdr::from_bytes::<nfs3::Reply<R::Ok, R::Fail>>(reply.clone()).expect("a well-formed reply") {
        nfs3::Reply::Ok(ok) => Ok(ok),
        nfs3::Reply::Err(status, _) => Err(match status {
            nfs3::Status::Jukebox => Status::Delay,
            nfs3::Status::AccessDenied => Status::Locked,
            nfs3::Status::NoEntry => Status::NoEntry,
            nfs3::Status::Stale => Status::Stale,
            other => panic!("{other}"),
        }),
    }
}

fn of_nlm(reply: &Bytes) -> Result<(), Status> {
    match xdr::from_bytes::<nlm4::Response>(reply.clone()).expect("a well-formed reply").status {
        nlm4::Status::Granted => Ok(()),
        nlm4::Status::Denied => Err(Status::Denied),
        nlm4::Status::Blocked => Err(Status::Locked),
        nlm4::Status::DeniedNoLocks => Err(Status::Delay),
        nlm4::Status::DeniedGracePeriod => Err(Status::Grace),
        nlm4::Status::StaleHandle => Err(Status::Stale),
        other => panic!("{other}"),
    }
}

pub fn decode(place: Place, action: &Action, reply: &Bytes) -> Outcome {
    let outcome = match action {
        Action::Lookup { .. } => of_nfs::<nfs3::LookupArgs>(reply).map(|found| {
            let handle = FileHandle(Bytes::copy_from_slice(found.object.as_bytes()));
            Done { handle: Some(handle), ..Done::default() }
        }),
        Action::Read { .. } => of_nfs::<nfs3::ReadArgs>(reply)
            .map(|read| Done { value: super::decode::number(&read.data), ..Done::default() }),
        Action::Write { .. } => of_nfs::<nfs3::WriteArgs>(reply).map(|_| Done::default()),
        Action::SetMode { .. } => of_nfs::<nfs3::SetAttrArgs>(reply).map(|_| Done::default()),
        Action::Remove { .. } => of_nfs::<nfs3::RemoveArgs>(reply).map(|_| Done::default()),
        Action::Lock { .. } => {
            of_nlm(reply).map(|()| Done { state_id: Some(invented(place)), ..Done::default() })
        }
        Action::Notify { .. } => Ok(Done::default()),
        _ => of_nlm(reply).map(|()| Done::default()),
    };
    outcome.map_or_else(Outcome::Failed, Outcome::Done)
}
