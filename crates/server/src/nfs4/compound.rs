//! COMPOUND: the loop over its operations (RFC 8881 §16.2), with the rules of where an operation may stand
//! (§2.10.3, §18.46.3) and of how large a reply may grow (§2.10.6.4).

use std::ops::RangeInclusive;

use proto::nfs4::{CompoundHeader, CompoundReply, ILLEGAL, Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use super::engine::Nfs4;
use super::engine::context::Context;
use super::engine::descriptor::OperationOrder;
use super::engine::repeat::{self, ReplayStep};
use super::engine::result::{answer, refuse};
use super::engine::unsettled::{self, Failed};
use super::session::sequence::{self, SequenceOutcome};
use super::table::{self, descriptor, known};
use crate::exports::{Caller, OnlyCall, Version};
use crate::metrics::{Counting, Ended, OperationIndex};
use crate::runtime::give_way;

/// How often a COMPOUND looks at the clock, in operations: short ones never do.
const OPERATIONS_PER_LOOK: u32 = 8;
/// How long a COMPOUND may have its thread before others have their turn, in milliseconds.
const TURN_MS: u64 = 2;

/// The minor versions that are served.
const MINOR_VERSIONS: RangeInclusive<u32> = 1..=2;

impl<F: FileSystem> Nfs4<F> {
    /// Runs one COMPOUND and appends its results.
    pub(crate) async fn compound(
        &self,
        mut call: rpc::Call<'_>,
        reply: &mut Encoder,
    ) -> Result<(), rpc::Refusal> {
        let mut counting = Counting::begin(self.metrics());
        let request_bytes = call.arguments.offset() + call.arguments.remaining();
        let mut arguments = std::mem::take(&mut call.arguments);
        let header: CompoundHeader = arguments.get().map_err(|_| rpc::Refusal::GarbageArguments)?;
        let start = reply.len();
        let mut results = CompoundReply::begin(reply, &header.tag);
        // RFC 8881 §16.2.4.
        if std::str::from_utf8(&header.tag).is_err() {
            results.finish(reply, Status::Invalid);
            return Ok(());
        }
        let served = MINOR_VERSIONS.contains(&header.minor_version);
        let Some(version) = Version::of_minor(header.minor_version).filter(|_| served) else {
            results.finish(reply, Status::MinorVersionMismatch);
            return Ok(());
        };
        let exports = self.exports().load();
        let only = OnlyCall::of(&call);
        let caller = Caller::of(&call, version).with_only(&only);
        exports.check(&caller)?;
        if !exports.versions().contains(version) {
            results.finish(reply, Status::MinorVersionMismatch);
            return Ok(());
        }
        exports.prepare(&caller).await;
        let mut context = Context::new(self, &exports, &call, caller, &header, request_bytes);
        let mut status = Status::Ok;
        let world = self.services().world();
        let mut turn = Turn::begin(world.now_ms());
        for index in 0..header.operations {
            if index % OPERATIONS_PER_LOOK == OPERATIONS_PER_LOOK - 1 && turn.is_over(world.now_ms()) {
                give_way().await;
                turn = Turn::begin(world.now_ms());
            }
            let before = reply.len();
            context.index = index;
            context.result_start = before;
            let step = self.step(&mut context, &mut arguments, start, reply).await;
            match step {
                // The operation names a client of another minor version: it is as if this one were not
                // served.
                Step::Done(Status::MinorVersionMismatch) => {
                    reply.truncate(before);
                    status = Status::MinorVersionMismatch;
                    break;
                }
                Step::Done(outcome) => {
                    results.count();
                    let export = context.current.as_ref().map(|object| object.export.id());
                    counting.nfs4_operation(export, &reply.as_slice()[before..]);
                    status = outcome;
                    if status != Status::Ok || context.failed.is_some() {
                        break;
                    }
                }
                Step::Replay(bytes) => {
                    reply.truncate(start);
                    reply.buffer_mut().extend_from_slice(&bytes);
                    // What is said again was counted before, but it was a request.
                    counting.end(OperationIndex::COMPOUND, None, || Ended { status: 0, bytes: 0 });
                    return Ok(());
                }
                Step::NotCached => {
                    results.count();
                    status = answer_not_cached(&mut arguments, &header, reply);
                    if header.operations > 1 {
                        results.count();
                    }
                    break;
                }
                Step::Lost => {
                    reply.truncate(start);
                    results = CompoundReply::begin(reply, &header.tag);
                    results.count();
                    status = answer(reply, Operation::Sequence.number(), Status::DeadSession);
                    break;
                }
                Step::Nothing(outcome) => {
                    reply.truncate(before);
                    status = outcome;
                    break;
                }
            }
        }
        if let Some(failed) = settled(&mut context).await {
            reply.truncate(failed.place.start);
            results.truncate(failed.place.index);
            results.count();
            status = refuse(reply, Operation::Open, failed.status);
        }
        results.finish(reply, status);
        counting.end(OperationIndex::COMPOUND, None, || Ended { status: status.code(), bytes: 0 });
        if context.actor.complete(self.services(), &reply.as_slice()[start..]) {
            self.answered().notify(usize::MAX);
        }
        Ok(())
    }

    async fn step(
        &self,
        context: &mut Context<'_, F>,
        arguments: &mut Decoder,
        start: usize,
        reply: &mut Encoder,
    ) -> Step {
        let Ok(number) = arguments.u32() else { return Step::Nothing(Status::BadXdr) };
        let Some(operation) = known(number, context.minor_version) else {
            return Step::Done(answer(reply, ILLEGAL, Status::IllegalOperation));
        };
        let Some(descriptor) = descriptor(operation) else {
            return Step::Done(refuse_unimplemented(context, operation, reply));
        };
        if let Err(status) = check_place(context, descriptor.place) {
            return Step::Done(refuse(reply, operation, status));
        }
        if operation == Operation::Sequence {
            return match sequence::begin(context, arguments, start, reply).await {
                SequenceOutcome::New(status) => Step::Done(status),
                SequenceOutcome::Replay(bytes) => Step::Replay(bytes),
                SequenceOutcome::NotCached => Step::NotCached,
            };
        }
        if let Some(repeat) = context.actor.repeat() {
            match repeat.what(context.index, descriptor.is_rerun) {
                ReplayStep::Run => {}
                ReplayStep::Done(change, made) => {
                    let (change, made) = (change.clone(), made.clone());
                    return repeat::answer(context, &change, &made, arguments, reply)
                        .await
                        .map_or(Step::Lost, Step::Done);
                }
                ReplayStep::Lost => return Step::Lost,
            }
        }
        let before = reply.len();
        if let Err(status) = check_room(context, before - start, descriptor.room_bytes) {
            return Step::Done(refuse(reply, operation, status));
        }
        if !descriptor.keeps_fresh {
            context.fresh = None;
        }
        if !descriptor.runs_unsettled
            && let Err(status) = unsettled::settle(context).await
        {
            return Step::Done(status);
        }
        if descriptor.changes {
            context.call.connection.set_cancellable(false);
        }
        let status = table::run(context, descriptor, arguments, reply).await;
        match check_room(context, reply.len() - start, 0) {
            Ok(()) => Step::Done(status),
            Err(too_big) => {
                reply.truncate(before);
                Step::Done(refuse(reply, operation, too_big))
            }
        }
    }
}

/// The time that a COMPOUND has had its thread for.
struct Turn {
    began_ms: u64,
}

impl Turn {
    fn begin(now_ms: u64) -> Self {
        Self { began_ms: now_ms }
    }

    fn is_over(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.began_ms) >= TURN_MS
    }
}

/// Waits for the disk, where anything was made. The OPEN that has failed after all: its result, and all
/// behind it, must go.
async fn settled<F: FileSystem>(context: &mut Context<'_, F>) -> Option<Failed> {
    if !context.unsettled.is_empty() {
        // What has failed is noted.
        let _ = unsettled::settle(context).await;
    }
    context.failed.take()
}

enum Step {
    /// A result was appended.
    Done(Status),
    /// The whole reply is a cached one.
    Replay(xdr::Bytes),
    /// SEQUENCE succeeded for a retry whose reply was not kept.
    NotCached,
    /// The reply that was asked for again cannot be made.
    Lost,
    /// Not even an operation number could be read: no result.
    Nothing(Status),
}

/// A retry of a lone SEQUENCE is answered anew; otherwise the operation after it says that the reply is lost,
/// if it is one that could have said something else (RFC 8881 §2.10.6.1.3).
fn answer_not_cached(arguments: &mut Decoder, header: &CompoundHeader, reply: &mut Encoder) -> Status {
    if header.operations == 1 {
        return Status::Ok;
    }
    match arguments.u32().ok().and_then(|number| known(number, header.minor_version)) {
        None => answer(reply, ILLEGAL, Status::IllegalOperation),
        Some(operation) if descriptor(operation).is_none() => refuse(reply, operation, Status::NotSupported),
        Some(operation) => refuse(reply, operation, Status::RetryUncachedReply),
    }
}

/// An operation of the minor version that this server does not have: NFS4ERR_NOTSUPP. A session comes first.
fn refuse_unimplemented<F: FileSystem>(
    context: &Context<'_, F>,
    operation: Operation,
    reply: &mut Encoder,
) -> Status {
    let status = if context.index == 0 && !context.actor.is_named() {
        Status::OperationNotInSession
    } else {
        Status::NotSupported
    };
    answer(reply, operation.number(), status)
}

fn check_place<F: FileSystem>(context: &Context<'_, F>, place: OperationOrder) -> Result<(), Status> {
    let in_session = context.actor.is_named();
    match place {
        OperationOrder::First if context.index == 0 => Ok(()),
        OperationOrder::First => Err(Status::SequencePosition),
        OperationOrder::InSession if in_session => Ok(()),
        OperationOrder::InSession => Err(Status::OperationNotInSession),
        OperationOrder::InSessionOrAlone if in_session => Ok(()),
        OperationOrder::InSessionOrAlone | OperationOrder::Alone
            if context.index == 0 && context.operations == 1 =>
        {
            Ok(())
        }
        OperationOrder::InSessionOrAlone | OperationOrder::Alone => Err(Status::NotOnlyOperation),
    }
}

/// Checks that the reply may grow to `used` bytes and `needed` more (RFC 8881 §2.10.6.4).
fn check_room<F: FileSystem>(context: &mut Context<'_, F>, used: usize, needed: usize) -> Result<(), Status> {
    let Some(limits) = context.actor.reply_limits() else { return Ok(()) };
    limits.check(used + needed)?;
    context.reply_room = limits.room(used);
    Ok(())
}
