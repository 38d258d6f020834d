//! Real COMPOUNDs for [`Request`]s, and what their replies say.

mod callback;
mod decode;
mod stateless;

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::*;
use testkit::{compound, session};

use crate::action::{Action, CELL_BYTES, Create, Place, Request, STATELESS};
pub use callback::{decode_recall, recall_reply};
pub use decode::decode;
pub use stateless::{granted, granted_answer, invented, is_invented};

/// Slots that clients ask for.
pub const SLOTS: u32 = 4;

/// Program, version and procedure of a request.
pub fn procedure(request: &Request) -> (u32, u32, u32) {
    match request {
        Request::InSession { place, action, .. } if place.session == STATELESS => {
            stateless::encode(*place, action).0
        }
        _ => (PROGRAM, VERSION, COMPOUND),
    }
}

pub fn encode(request: &Request) -> Bytes {
    if let Request::InSession { place, action, .. } = request
        && place.session == STATELESS
    {
        return stateless::encode(*place, action).1;
    }
    compound::arguments(1, |c| push_request(c, request)).into()
}

fn push_request(c: &mut CompoundBuilder<'_>, request: &Request) {
    match request {
        Request::ExchangeId { owner, verifier } => {
            let verifier = Verifier(u64::from(*verifier).to_be_bytes());
            let mut arguments = session::exchange_id(owner, 0);
            arguments.owner.verifier = verifier;
            c.push(Operation::ExchangeId, &arguments);
        }
        Request::CreateSession { client, sequence } => {
            let arguments = CreateSessionArgs {
                flags: session_flags::CONN_BACK_CHAN | session_flags::PERSIST,
                fore_channel: channel(),
                back_channel: channel(),
                ..session::create_session(*client, *sequence, SLOTS)
            };
            c.push(Operation::CreateSession, &arguments);
        }
        Request::Bind { session } => {
            let direction = DirectionFromClient::ForeOrBoth;
            let arguments = BindConnToSessionArgs { session: *session, direction, rdma: false };
            c.push(Operation::BindConnToSession, &arguments);
        }
        Request::InSession { place, cache_this, action } => {
            c.push(Operation::Sequence, &sequence(*place, *cache_this));
            push(c, action);
        }
    }
}

fn channel() -> ChannelAttributes {
    ChannelAttributes { cached_response_bytes_max: 16 << 10, operations_max: 12, ..session::channel(SLOTS) }
}

fn sequence(place: Place, cache_this: bool) -> SequenceArgs {
    SequenceArgs {
        session: place.session,
        sequence: SequenceId(place.sequence),
        slot: SlotId(place.slot),
        highest_slot: SlotId(SLOTS - 1),
        cache_this,
    }
}

fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn owner(number: u32) -> StateOwner {
    StateOwner { client: ClientId(0), owner: Bytes::copy_from_slice(&number.to_be_bytes()) }
}

fn open(
    number: u32,
    share_access: u32,
    share_deny: u32,
    create: Option<&Create>,
    claim: OpenClaim,
) -> OpenArgs {
    let create = create.map(|create| match create {
        Create::Unchecked => CreateHow::Unchecked(AttributeValues::default()),
        Create::Guarded => CreateHow::Guarded(AttributeValues::default()),
        // EXCLUSIVE4 is not to be had on a persistent session (RFC 8881 §18.16.3).
        Create::Exclusive(verifier) => {
            CreateHow::Exclusive41(Verifier(verifier.to_be_bytes()), AttributeValues::default())
        }
    });
    OpenArgs {
        sequence: 0,
        share_access,
        share_deny,
        owner: owner(number),
        create: create.map(Box::new),
        claim,
    }
}

fn push(c: &mut CompoundBuilder<'_>, action: &Action) {
    let object = |handle: &FileHandle| PutFhArgs { object: handle.clone() };
    match action {
        Action::Nothing => {}
        Action::Lookup { .. } | Action::Cancel { .. } | Action::Notify { .. } => {
            panic!("only of clients without state: {action:?}")
        }
        Action::ReclaimComplete => {
            c.push(Operation::ReclaimComplete, &ReclaimCompleteArgs { one_fs: false });
        }
        Action::Open { file, owner: number, access, deny, create } => {
            let claim = OpenClaim::Null(text(file));
            let arguments = open(*number, *access, *deny, Some(create), claim);
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &arguments).push(Operation::GetFh, &());
        }
        Action::ReclaimOpen { handle, owner: number, access, deny, delegation, .. } => {
            let arguments = open(*number, *access, *deny, None, OpenClaim::Previous(*delegation));
            c.push(Operation::PutFh, &object(handle)).push(Operation::Open, &arguments);
        }
        Action::Close { handle, state_id } => {
            c.push(Operation::PutFh, &object(handle))
                .push(Operation::Close, &CloseArgs { sequence: 0, state_id: *state_id });
        }
        Action::Lock {
            handle, owner: number, open, existing, offset, length, exclusive, reclaim, ..
        } => {
            let new = NewLockOwner {
                open_sequence: 0,
                open_state_id: *open,
                lock_sequence: 0,
                owner: owner(*number),
            };
            let arguments = LockArgs {
                kind: if *exclusive { LockType::Write } else { LockType::Read },
                reclaim: *reclaim,
                offset: *offset,
                length: *length,
                locker: match existing {
                    Some(state_id) => {
                        Locker::Existing(ExistingLockOwner { state_id: *state_id, sequence: 0 })
                    }
                    None => Locker::New(new),
                },
            };
            c.push(Operation::PutFh, &object(handle)).push(Operation::Lock, &arguments);
        }
        Action::Unlock { handle, state_id, offset, length } => {
            let arguments = LockUArgs {
                kind: LockType::Write,
                sequence: 0,
                state_id: *state_id,
                offset: *offset,
                length: *length,
            };
            c.push(Operation::PutFh, &object(handle)).push(Operation::LockU, &arguments);
        }
        Action::Return { handle, state_id } => {
            c.push(Operation::PutFh, &object(handle))
                .push(Operation::DelegReturn, &DelegReturnArgs { state_id: *state_id });
        }
        Action::SetMode { handle, mode, .. } => {
            let values = AttributeValues { mode: Some(*mode), ..AttributeValues::default() };
            c.push(Operation::PutFh, &object(handle))
                .push(Operation::SetAttr, &(SetAttrArgs { state_id: StateId::ANONYMOUS }, values));
        }
        Action::Remove { name } => {
            c.push(Operation::PutRootFh, &()).push(Operation::Remove, &RemoveArgs { target: text(name) });
        }
        Action::Rename { from, to } => {
            let arguments = RenameArgs { old_name: text(from), new_name: text(to) };
            c.push(Operation::PutRootFh, &())
                .push(Operation::SaveFh, &())
                .push(Operation::Rename, &arguments);
        }
        Action::Test { state_id } => {
            c.push(Operation::TestStateId, &TestStateIdArgs { state_ids: vec![*state_id] });
        }
        Action::Free { state_id } => {
            c.push(Operation::FreeStateId, &FreeStateIdArgs { state_id: *state_id });
        }
        Action::Read { cell, handle, state_id } => {
            let arguments = ReadArgs { state_id: *state_id, offset: cell.offset, count: CELL_BYTES as u32 };
            c.push(Operation::PutFh, &object(handle)).push(Operation::Read, &arguments);
        }
        Action::Write { cell, handle, state_id, value, .. } => {
            let arguments = WriteArgs {
                state_id: *state_id,
                offset: cell.offset,
                stable: StableHow::FileSync,
                data: Bytes::copy_from_slice(&value.to_be_bytes()),
            };
            // The change attribute tells a second execution from a repeated reply.
            let wanted = Bitmap::of(&[AttributeId::Change]);
            c.push(Operation::PutFh, &object(handle))
                .push(Operation::Write, &arguments)
                .push(Operation::GetAttr, &GetAttrArgs { wanted });
        }
    }
}
