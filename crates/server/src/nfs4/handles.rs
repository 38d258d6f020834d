//! The operations that only move file handles: PUTFH, PUTROOTFH, PUTPUBFH, GETFH, SAVEFH, RESTOREFH (RFC 8881
//! §18.8, §18.19 – §18.21, §18.27, §18.28). Together in one file because each is a line or two.

use proto::nfs4::{HANDLE_BYTES_MAX, Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use super::context::{Context, Object, refused};
use super::status;
use crate::exports::{Denied, Reached, Rule, Unreachable};

/// Reads its arguments itself; `arguments` then stands at the next operation.
pub(crate) async fn put<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
) -> Result<(), Status> {
    let bytes = arguments.opaque_ref(HANDLE_BYTES_MAX).map_err(|_| Status::BadXdr)?;
    // A copy, so that nothing is held of the request.
    let handle = vfs::Handle::new(bytes).filter(|handle| !handle.as_bytes().is_empty());
    let handle = handle.ok_or(Status::BadHandle)?;
    let Reached { export, node, rule } =
        context.exports.resolve(handle.as_bytes(), &context.caller).await.map_err(|error| match error {
            Unreachable::Handle(error) => status::of(error),
            Unreachable::Denied(denied) => refused(denied),
        })?;
    check_flavor(context, rule, arguments)?;
    context.set_current(Object { export, node });
    Ok(())
}

/// PUTROOTFH, and PUTPUBFH: the public file handle is the root (RFC 8881 §4.1.2 leaves it to the server).
pub(crate) fn put_root<F: FileSystem>(context: &mut Context<'_, F>, rest: &Decoder) -> Result<(), Status> {
    let (export, node) = context.exports.root_for(&context.caller).map_err(|denied| match denied {
        Denied::Later => Status::Delay,
        _ => Status::AccessDenied,
    })?;
    check_flavor(context, export.rule(&context.caller).map_err(refused)?, rest)?;
    context.set_current(Object { export, node });
    Ok(())
}

/// Appends the result's body: the handle where it lies, as so many requests ask for one.
pub(crate) fn get<F: FileSystem>(context: &Context<'_, F>, reply: &mut Encoder) -> Result<(), Status> {
    let object = context.object()?;
    reply.opaque(object.fs().handle(&object.node).as_bytes());
    Ok(())
}

pub(crate) fn save<F: FileSystem>(context: &mut Context<'_, F>) -> Result<(), Status> {
    let object = context.object()?.clone();
    context.saved = Some((object, context.current_state));
    Ok(())
}

pub(crate) fn restore<F: FileSystem>(context: &mut Context<'_, F>, rest: &Decoder) -> Result<(), Status> {
    let (object, state) = context.saved.clone().ok_or(Status::NoFileHandle)?;
    check_flavor(context, object.export.rule(&context.caller).map_err(refused)?, rest)?;
    context.current = Some(object);
    context.current_state = state;
    Ok(())
}

/// Whether an object may become current under the caller's flavour of authentication depends on what comes
/// next (RFC 8881 §2.6.3.1.1): operations that lead elsewhere, or tell the right flavour, must get their
/// turn.
fn check_flavor<F: FileSystem>(context: &Context<'_, F>, rule: &Rule, rest: &Decoder) -> Result<(), Status> {
    use Operation as O;
    if rule.accepts(context.caller.rpc) {
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
