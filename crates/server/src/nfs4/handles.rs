//! The operations that only move file handles: PUTFH, PUTROOTFH, PUTPUBFH, GETFH, SAVEFH, RESTOREFH (RFC 8881 §18.8, §18.19 –
//! §18.21, §18.27, §18.28). Together in one file because each is a line or two.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{FileHandle, GetFhResult, Operation, PutFhArgs, StateId, Status};
use vfs::FileSystem;
use xdr::Decoder;

use super::context::{Context, Object, refused};
use super::status;
use crate::exports::{Denied, Reached, Rule, Unreachable};

/// `rest` stands behind the arguments, at the next operation.
pub(crate) async fn put<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: PutFhArgs,
    rest: &Decoder,
) -> Result<(), Status> {
    let handle = &arguments.object.0;
    if handle.is_empty() || handle.len() > vfs::Handle::MAX {
        return Err(Status::BadHandle);
    }
    let Reached { export, node, rule } =
        context.exports.resolve(handle, &context.caller).await.map_err(|error| match error {
            Unreachable::Handle(error) => status::of(error),
            Unreachable::Denied(denied) => refused(denied),
        })?;
    check_flavor(context, rule, rest)?;
    context.set_current(Object { export: Arc::clone(export), node });
    Ok(())
}

/// PUTROOTFH, and PUTPUBFH: the public file handle is the root (RFC 8881 §4.1.2 leaves it to the server).
pub(crate) fn put_root<F: FileSystem>(context: &mut Context<'_, F>, rest: &Decoder) -> Result<(), Status> {
    let (export, node) = context.exports.root_for(&context.caller).map_err(|denied| match denied {
        Denied::Later => Status::Delay,
        _ => Status::AccessDenied,
    })?;
    check_flavor(context, export.rule(&context.caller).map_err(refused)?, rest)?;
    context.set_current(Object { export: Arc::clone(export), node });
    Ok(())
}

pub(crate) fn get<F: FileSystem>(context: &mut Context<'_, F>) -> Result<GetFhResult, Status> {
    let object = context.object()?;
    let handle = object.fs().handle(&object.node);
    Ok(GetFhResult { object: FileHandle(Bytes::copy_from_slice(handle.as_bytes())) })
}

pub(crate) fn save<F: FileSystem>(context: &mut Context<'_, F>) -> Result<(), Status> {
    let object = context.object()?.clone();
    context.saved = Some((object, context.current_state));
    Ok(())
}

pub(crate) fn restore<F: FileSystem>(context: &mut Context<'_, F>, rest: &Decoder) -> Result<(), Status> {
    let (object, state): (Object<F>, StateId) = context.saved.clone().ok_or(Status::NoFileHandle)?;
    check_flavor(context, object.export.rule(&context.caller).map_err(refused)?, rest)?;
    context.current = Some(object);
    context.current_state = state;
    Ok(())
}

/// Whether an object may become current under the caller's flavour of authentication depends on what comes next
/// (RFC 8881 §2.6.3.1.1): operations that lead elsewhere, or tell the right flavour, must get their turn.
fn check_flavor<F: FileSystem>(context: &Context<'_, F>, rule: &Rule, rest: &Decoder) -> Result<(), Status> {
    use Operation as O;
    if rule.accepts(context.caller.credential) {
        return Ok(());
    }
    let mut rest = rest.clone();
    let mut next = || Operation::from_number(rest.u32().ok()?);
    for _ in context.index + 1..context.operations {
        match next() {
            // Has no arguments (§2.6.3.1.1.1).
            Some(O::SaveFh) => {}
            Some(
                O::PutFh
                | O::PutRootFh
                | O::PutPubFh
                | O::RestoreFh
                | O::Lookup
                | O::LookupParent
                | O::Open
                | O::SecInfo
                | O::SecInfoNoName,
            ) => return Ok(()),
            _ => return Err(Status::WrongSecurity),
        }
    }
    Ok(())
}
