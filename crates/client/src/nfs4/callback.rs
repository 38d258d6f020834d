//! What the server asks of the client, over the client's own connection (RFC 8881 §20).

use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::{
    CallbackHeader, CallbackOperation, CbGetAttrArgs, CbNotifyLockArgs, CbRecallAnyArgs, CbRecallArgs,
    CbSequenceArgs, CbSequenceResult, CompoundReply, FileHandle, ILLEGAL, SessionId, Status,
    callback_procedure,
};
use rpc::{Call, Disposition, Refusal, Service};
use xdr::{Decoder, Encoder};

use super::back_slots::{Arrival, BackSlots};
use super::core::Core;
use super::recovery::notice;
use crate::node::{Handle, Node};

/// The program number that CREATE_SESSION tells the server: of the range for transient programs (RFC 5531
/// §8.4).
pub(super) const CALLBACK_PROGRAM: u32 = 0x4000_0000;
/// Callbacks that may be under way.
pub(super) const CALLBACK_SLOTS: u32 = 16;
/// Operations of one CB_COMPOUND that are looked at.
const OPERATIONS_MAX: u32 = 16;

/// Answers callbacks.
#[derive(Debug, Default)]
pub(super) struct Callbacks {
    core: OnceLock<Weak<Core>>,
    session: Mutex<Option<(SessionId, BackSlots)>>,
}

impl Callbacks {
    pub(super) fn attach(&self, core: &Arc<Core>) {
        let _ = self.core.set(Arc::downgrade(core));
    }

    /// A session begins.
    pub(super) fn begin(&self, session: SessionId) {
        *self.session.lock() = Some((session, BackSlots::new(CALLBACK_SLOTS)));
    }

    fn core(&self) -> Option<Arc<Core>> {
        self.core.get().and_then(Weak::upgrade)
    }

    /// Answers a CB_COMPOUND; what is malformed is the failure of its operation.
    fn compound(&self, mut arguments: Decoder, reply: &mut Encoder) -> xdr::Result<()> {
        let header: CallbackHeader = arguments.get()?;
        let start = reply.len();
        let mut results = CompoundReply::begin(reply, &header.tag);
        if self.core().is_none_or(|core| core.minor_version != header.minor_version) {
            results.finish(reply, Status::MinorVersionMismatch);
            return Ok(());
        }
        let mut sequence = None;
        let mut status = Status::Ok;
        for index in 0..header.operations {
            let number = arguments.u32()?;
            results.count();
            let operation = CallbackOperation::from_number(number);
            reply.u32(if operation.is_some() { number } else { ILLEGAL });
            let mark = reply.reserve_u32();
            let body = reply.len();
            let outcome = match (operation, index) {
                (Some(CallbackOperation::Sequence), 0) => match self.sequence(&mut arguments, reply) {
                    Ok((args, Arrival::Repeated(kept))) if !kept.is_empty() => {
                        tracing::debug!(slot = args.slot.0, "a callback was repeated");
                        reply.truncate(start);
                        reply.buffer_mut().extend_from_slice(&kept);
                        return Ok(());
                    }
                    Ok((_, Arrival::Repeated(_))) => Err(Status::Delay),
                    Ok((args, Arrival::New)) => {
                        sequence = Some(args);
                        Ok(())
                    }
                    Err(status) => Err(status),
                },
                (Some(CallbackOperation::Sequence), _) => Err(Status::SequencePosition),
                (_, 0) => Err(Status::OperationNotInSession),
                (_, OPERATIONS_MAX..) => Err(Status::Resource),
                (Some(operation), _) => self.operation(operation, &mut arguments, reply),
                (None, _) => Err(Status::IllegalOperation),
            };
            if let Some(core) = self.core()
                && let Some(operation) = operation
            {
                core.tap.callback(operation);
            }
            if let Err(failed) = outcome {
                reply.truncate(body);
                status = failed;
            }
            reply.fill_u32(mark, status.code());
            if status != Status::Ok {
                break;
            }
        }
        results.finish(reply, status);
        if let Some(args) = sequence
            && let Some((session, slots)) = &mut *self.session.lock()
            && *session == args.session
        {
            let kept = Bytes::copy_from_slice(&reply.as_slice()[start..]);
            slots.answered(args.slot, args.sequence, kept);
        }
        Ok(())
    }

    fn sequence(
        &self,
        arguments: &mut Decoder,
        reply: &mut Encoder,
    ) -> Result<(CbSequenceArgs, Arrival), Status> {
        let args: CbSequenceArgs = arguments.get().map_err(|_| Status::BadXdr)?;
        let mut session = self.session.lock();
        let Some((_, slots)) = session.as_mut().filter(|(id, _)| *id == args.session) else {
            return Err(Status::BadSession);
        };
        let arrival = slots.arrive(args.slot, args.sequence)?;
        reply.put(&CbSequenceResult {
            session: args.session,
            sequence: args.sequence,
            slot: args.slot,
            highest_slot: slots.highest(),
            target_highest_slot: slots.highest(),
        });
        Ok((args, arrival))
    }

    fn operation(
        &self,
        operation: CallbackOperation,
        arguments: &mut Decoder,
        reply: &mut Encoder,
    ) -> Result<(), Status> {
        let core = self.core().ok_or(Status::ServerFault)?;
        match operation {
            CallbackOperation::Recall => {
                let args: CbRecallArgs = arguments.get().map_err(|_| Status::BadXdr)?;
                let node = core.shared().and_then(|shared| shared.nodes.find(&Handle(args.object.0)));
                match core.recall(node, &args.state_id) {
                    Status::Ok => Ok(()),
                    status => Err(status),
                }
            }
            CallbackOperation::RecallAny => {
                let args: CbRecallAnyArgs = arguments.get().map_err(|_| Status::BadXdr)?;
                core.recall_any(args.keep as usize);
                Ok(())
            }
            CallbackOperation::GetAttr => {
                let args: CbGetAttrArgs = arguments.get().map_err(|_| Status::BadXdr)?;
                let node = known_node(&core, args.object)?;
                let state = node.state.lock();
                if !state.delegation.is_some_and(|delegation| delegation.write) {
                    return Err(Status::BadHandle);
                }
                let known = state.known.last().ok_or(Status::BadHandle)?;
                let unwritten = state.writer.upgrade().and_then(|writer| writer.unwritten_end());
                let values = AttributeValues {
                    size: Some(known.size.max(unwritten.unwrap_or(0))),
                    // Another than the server's tells it that there is something of ours that it does not
                    // have.
                    change: known.change.map(|change| change.wrapping_add(u64::from(unwritten.is_some()))),
                    ..AttributeValues::default()
                };
                values.encode_wanted(args.wanted, reply);
                Ok(())
            }
            CallbackOperation::NotifyLock => {
                let args: CbNotifyLockArgs = arguments.get().map_err(|_| Status::BadXdr)?;
                let node = known_node(&core, args.object)?;
                // A hint (RFC 8881 §20.11.4): of an owner that does not wait, it says nothing.
                if let Ok(owner) = <[u8; 8]>::try_from(&args.owner.owner[..]) {
                    node.lock_queue.wake_owner(u64::from_be_bytes(owner));
                }
                Ok(())
            }
            _ => Err(Status::NotSupported),
        }
    }
}

impl Service for Callbacks {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        if call.header.program != CALLBACK_PROGRAM {
            return Err(Refusal::ProgramUnavailable);
        }
        if call.header.version != 1 {
            return Err(Refusal::ProgramMismatch { low: 1, high: 1 });
        }
        match call.header.procedure {
            callback_procedure::NULL => Ok(Disposition::Reply),
            callback_procedure::COMPOUND => {
                self.compound(call.arguments, reply).map_err(|_| Refusal::GarbageArguments)?;
                Ok(Disposition::Reply)
            }
            _ => Err(Refusal::ProcedureUnavailable),
        }
    }

    fn disconnected(&self, _connection: u64) {
        if let Some(core) = self.core() {
            core.notice(notice::PATH);
        }
    }
}

/// The object of a handle that the client knows.
///
/// # Errors
/// BADHANDLE.
fn known_node(core: &Core, object: FileHandle) -> Result<Arc<Node>, Status> {
    core.shared().and_then(|shared| shared.nodes.find(&Handle(object.0))).ok_or(Status::BadHandle)
}
