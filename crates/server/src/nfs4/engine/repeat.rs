//! The reply of a COMPOUND that was carried out before the server restarted, made again: what changed
//! something is answered with its success, what only looks is run, and anything else makes the reply lost.

use bytes::Bytes;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::{
    ChangeInfo, CreateArgs, CreateResult, LinkArgs, LinkResult, Operation, RemoveArgs, RemoveResult,
    RemoveXattrArgs, RemoveXattrResult, RenameArgs, RenameResult, SetAttrArgs, SetAttrResult, SetXattrArgs,
    SetXattrResult, Status,
};
use vfs::FileSystem;
use xdr::{Decoder, Encode, Encoder, Xdr};

use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::result;
use crate::nfs4::engine::status;
use crate::persistent::{Change, Intent};

/// What was done of a COMPOUND.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub(crate) struct Repeat {
    #[xdr(max = u32::MAX)]
    done: Vec<Intent>,
    /// What the last of it has made.
    #[xdr(max = vfs::Handle::MAX as u32)]
    made: Bytes,
}

/// How an operation is answered again.
pub(crate) enum ReplayStep<'a> {
    /// By running it.
    Run,
    /// By the success that it was.
    Done(&'a Change, &'a Bytes),
    /// Not at all.
    Lost,
}

impl Repeat {
    pub(crate) fn of(done: Vec<Intent>, made: Option<vfs::Handle>) -> Self {
        let made = made.map(|made| Bytes::copy_from_slice(made.as_bytes())).unwrap_or_default();
        Self { done, made }
    }

    /// As it was kept in a dead session, by this server.
    pub(crate) fn new(kept: &Bytes) -> Self {
        xdr::from_bytes(kept.clone()).unwrap_or(Self { done: Vec::new(), made: Bytes::new() })
    }

    /// How the operation at `index` is answered again; `is_rerun` as its descriptor has it.
    pub(crate) fn what(&self, index: u32, is_rerun: bool) -> ReplayStep<'_> {
        match self.done.iter().find(|intent| intent.operation == index) {
            Some(intent) => ReplayStep::Done(&intent.change, &self.made),
            None if is_rerun => ReplayStep::Run,
            None => ReplayStep::Lost,
        }
    }
}

/// Appends the success of an operation that was done; `None` when it cannot be told any more.
pub(crate) async fn answer<F: FileSystem>(
    context: &mut Context<'_, F>,
    change: &Change,
    made: &[u8],
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Option<Status> {
    let outcome = match change {
        Change::Remove(_) => {
            let _: RemoveArgs = arguments.get().ok()?;
            let change = changed(context.object().ok()?).await;
            change.map(|change| put(reply, Operation::Remove, &RemoveResult { change }))
        }
        Change::Rename(_) => {
            let _: RenameArgs = arguments.get().ok()?;
            let (source, target) = (context.saved().ok()?, context.object().ok()?);
            match (changed(source).await, changed(target).await) {
                (Ok(source), Ok(target)) => {
                    Ok(put(reply, Operation::Rename, &RenameResult { source, target }))
                }
                (Err(status), _) | (_, Err(status)) => Err(status),
            }
        }
        Change::Link(_) => {
            let _: LinkArgs = arguments.get().ok()?;
            let change = changed(context.object().ok()?).await;
            change.map(|change| put(reply, Operation::Link, &LinkResult { change }))
        }
        Change::Create(_) => return created(context, made, arguments, reply).await,
        Change::SetAttributes(_) => {
            let _: SetAttrArgs = arguments.get().ok()?;
            let attributes_set = AttributeValues::decode(arguments).ok()?.present();
            Ok(put(reply, Operation::SetAttr, &SetAttrResult { attributes_set }))
        }
        Change::SetXattr(_) => {
            let _: SetXattrArgs = arguments.get().ok()?;
            let change = changed(context.object().ok()?).await;
            change.map(|change| put(reply, Operation::SetXattr, &SetXattrResult { change }))
        }
        Change::RemoveXattr(_) => {
            let _: RemoveXattrArgs = arguments.get().ok()?;
            let change = changed(context.object().ok()?).await;
            change.map(|change| put(reply, Operation::RemoveXattr, &RemoveXattrResult { change }))
        }
        // Its stateid is gone.
        Change::Open(_) => return None,
    };
    outcome.ok()
}

async fn created<F: FileSystem>(
    context: &mut Context<'_, F>,
    made: &[u8],
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Option<Status> {
    let _: CreateArgs = arguments.get().ok()?;
    let attributes_set = AttributeValues::decode(arguments).ok()?.present();
    let change = changed(context.object().ok()?).await.ok()?;
    let (export, node) = match context.exports.find(context.caller.line.request_of_server(), made).await {
        Ok(found) => found,
        // Made, and gone again since: it must not be made once more.
        Err(vfs::Error::Stale) => return Some(result::refuse(reply, Operation::Create, Status::Stale)),
        Err(_) => return None,
    };
    let object = context.object_of(export, node);
    context.set_current(object);
    Some(put(reply, Operation::Create, &CreateResult { change, attributes_set }))
}

fn put(reply: &mut Encoder, operation: Operation, result: &impl Encode) -> Status {
    result::answer(reply, operation.number(), Status::Ok);
    reply.put(result);
    Status::Ok
}

/// How a directory has changed: at some time, between some values.
async fn changed<F: FileSystem>(directory: &Object<'_, F>) -> Result<ChangeInfo, Status> {
    let after = directory.attributes().await.map_err(status::of)?.change;
    Ok(ChangeInfo { atomic: false, before: after.wrapping_sub(1), after })
}
