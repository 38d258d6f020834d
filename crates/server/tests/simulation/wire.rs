//! Real COMPOUNDs for [`Request`]s, and what their replies say.

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::*;
use xdr::{Decoder, Encoder};

use crate::action::{Action, CELL_BYTES, Create, Done, Outcome, Place, Request};

/// Slots that clients ask for.
pub const SLOTS: u32 = 4;

pub fn encode(request: &Request) -> Bytes {
    let mut to = Encoder::new();
    let mut c = CompoundBuilder::begin(&mut to, 1);
    match request {
        Request::ExchangeId { owner, verifier } => {
            let verifier = Verifier(u64::from(*verifier).to_be_bytes());
            let owner = ClientOwner { verifier, id: Bytes::copy_from_slice(owner.as_bytes()) };
            let arguments =
                ExchangeIdArgs { owner, flags: 0, state_protect: StateProtect::None, implementation: vec![] };
            c.push(Operation::ExchangeId, &arguments);
        }
        Request::CreateSession { client, sequence } => {
            let arguments = CreateSessionArgs {
                client: *client,
                sequence: *sequence,
                flags: session_flags::CONN_BACK_CHAN,
                fore_channel: channel(),
                back_channel: channel(),
                callback_program: 0x4000_0000,
                callback_security: vec![CallbackSecurity::None],
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
            push(&mut c, action);
        }
    }
    c.finish();
    to.into_inner().into()
}

fn channel() -> ChannelAttributes {
    ChannelAttributes {
        header_pad_bytes: 0,
        request_bytes_max: 1 << 16,
        response_bytes_max: 1 << 16,
        cached_response_bytes_max: 16 << 10,
        operations_max: 12,
        requests_max: SLOTS,
        rdma_ird: vec![],
    }
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
        Create::Exclusive(verifier) => CreateHow::Exclusive(Verifier(verifier.to_be_bytes())),
    });
    OpenArgs { sequence: 0, share_access, share_deny, owner: owner(number), create, claim }
}

fn push(c: &mut CompoundBuilder<'_>, action: &Action) {
    let object = |handle: &FileHandle| PutFhArgs { object: handle.clone() };
    match action {
        Action::Nothing => {}
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
        Action::Lock { handle, owner: number, open, offset, length, reclaim, .. } => {
            let new = NewLockOwner {
                open_sequence: 0,
                open_state_id: *open,
                lock_sequence: 0,
                owner: owner(*number),
            };
            let arguments = LockArgs {
                kind: LockType::Write,
                reclaim: *reclaim,
                offset: *offset,
                length: *length,
                locker: Locker::New(new),
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

/// What a reply says; the server's replies are well-formed, or the run ends here.
pub fn decode(request: &Request, bytes: &Bytes) -> Outcome {
    read(request, bytes).expect("a reply that can be decoded")
}

fn read(request: &Request, bytes: &Bytes) -> xdr::Result<Outcome> {
    let mut reply = CompoundReader::new(Decoder::new(bytes.clone()))?;
    let mut done = Done::default();
    macro_rules! result {
        ($operation:ident, $refusal:ident) => {
            match reply.next(Operation::$operation)? {
                Ok(body) => body.get()?,
                Err(status) => return Ok(Outcome::$refusal(status)),
            }
        };
        ($operation:ident) => {
            result!($operation, Failed)
        };
    }
    match request {
        Request::ExchangeId { .. } => {
            let result: ExchangeIdResult = result!(ExchangeId, Refused);
            (done.client, done.sequence) = (Some(result.client), Some(result.sequence));
        }
        Request::CreateSession { .. } => {
            let result: CreateSessionResult = result!(CreateSession, Refused);
            done.session = Some(result.session);
        }
        Request::Bind { .. } => {
            let _: BindConnToSessionResult = result!(BindConnToSession, Refused);
        }
        Request::InSession { action, .. } => {
            let result: SequenceResult = result!(Sequence, Refused);
            done.flags = result.status_flags;
            match action {
                Action::Nothing => {}
                Action::ReclaimComplete => result!(ReclaimComplete),
                Action::Open { .. } => {
                    let () = result!(PutRootFh);
                    let result: OpenResult = result!(Open);
                    done.state_id = Some(result.state_id);
                    done.delegation = delegation(&result.delegation);
                    let result: GetFhResult = result!(GetFh);
                    done.handle = Some(result.object);
                }
                Action::Test { .. } => {
                    let result: TestStateIdResult = result!(TestStateId);
                    done.tested = result.statuses.first().copied();
                }
                Action::Free { .. } => result!(FreeStateId),
                Action::Remove { .. } => {
                    let () = result!(PutRootFh);
                    let _: RemoveResult = result!(Remove);
                }
                Action::Rename { .. } => {
                    let () = result!(PutRootFh);
                    let () = result!(SaveFh);
                    let _: RenameResult = result!(Rename);
                }
                other => {
                    let () = result!(PutFh);
                    match other {
                        Action::ReclaimOpen { .. } => {
                            let result: OpenResult = result!(Open);
                            done.state_id = Some(result.state_id);
                            done.delegation = delegation(&result.delegation);
                        }
                        Action::Return { .. } => result!(DelegReturn),
                        Action::Close { .. } => {
                            let _: StateId = result!(Close);
                        }
                        Action::Lock { .. } => {
                            let result: LockResult = result!(Lock);
                            done.state_id = Some(result.state_id);
                        }
                        Action::Unlock { .. } => {
                            let result: LockUResult = result!(LockU);
                            done.state_id = Some(result.state_id);
                        }
                        Action::Read { .. } => {
                            let result: ReadResult = result!(Read);
                            let mut number = [0; CELL_BYTES as usize];
                            number[..result.data.len()].copy_from_slice(&result.data);
                            done.value = u64::from_be_bytes(number);
                        }
                        _ => {
                            let _: WriteResult = result!(Write);
                        }
                    }
                }
            }
        }
    }
    Ok(Outcome::Done(done))
}

fn delegation(given: &OpenDelegation) -> Option<(StateId, bool)> {
    match given {
        OpenDelegation::Read(read) => Some((read.state_id, false)),
        OpenDelegation::Write(write) => Some((write.state_id, true)),
        OpenDelegation::None | OpenDelegation::NoneExt(_) => None,
    }
}

/// The only callback that the server sends in a session.
pub fn decode_recall(bytes: &Bytes) -> (CbSequenceArgs, CbRecallArgs) {
    let read = || -> xdr::Result<_> {
        let mut from = Decoder::new(bytes.clone());
        let header: CallbackHeader = from.get()?;
        assert_eq!((header.minor_version, header.operations), (1, 2));
        assert_eq!(from.u32()?, CallbackOperation::Sequence.number());
        let sequence = from.get()?;
        assert_eq!(from.u32()?, CallbackOperation::Recall.number());
        Ok((sequence, from.get()?))
    };
    read().expect("a callback that can be decoded")
}

/// Answers a recall; an error is CB_SEQUENCE's.
pub fn recall_reply(asked: &CbSequenceArgs, outcome: Result<Status, Status>) -> Bytes {
    let mut to = Encoder::new();
    let (status, results) = outcome.map_or_else(|status| (status, 1), |status| (status, 2));
    to.put(&CallbackReplyHeader { status, tag: Bytes::new(), results });
    to.u32(CallbackOperation::Sequence.number());
    if let Err(status) = outcome {
        to.put(&status);
        return to.into_inner().into();
    }
    to.put(&Status::Ok);
    to.put(&CbSequenceResult {
        session: asked.session,
        sequence: asked.sequence,
        slot: asked.slot,
        highest_slot: asked.highest_slot,
        target_highest_slot: asked.highest_slot,
    });
    to.u32(CallbackOperation::Recall.number());
    to.put(&status);
    to.into_inner().into()
}
