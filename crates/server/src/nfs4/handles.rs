//! The operations that only move file handles: PUTFH, PUTROOTFH, PUTPUBFH, GETFH, SAVEFH, RESTOREFH (RFC 8881 §18.8, §18.19 –
//! §18.21, §18.27, §18.28). Together in one file because each is a line or two.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{FileHandle, GetFhResult, PutFhArgs, StateId, Status};
use vfs::FileSystem;

use super::context::{Context, Object, refused};
use super::status;
use crate::exports::Unreachable;

pub(crate) async fn put<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: PutFhArgs,
) -> Result<(), Status> {
    let handle = &arguments.object.0;
    if handle.is_empty() || handle.len() > vfs::Handle::MAX {
        return Err(Status::BadHandle);
    }
    let (export, node) =
        context.exports.resolve(handle, &context.caller).await.map_err(|error| match error {
            Unreachable::Handle(error) => status::of(error),
            Unreachable::Denied(denied) => refused(denied),
        })?;
    let object = Object { export: Arc::clone(export), node };
    context.set_current(object);
    Ok(())
}

/// PUTROOTFH, and PUTPUBFH: the public file handle is the root (RFC 8881 §4.1.2 leaves it to the server).
pub(crate) fn put_root<F: FileSystem>(context: &mut Context<'_, F>) -> Result<(), Status> {
    let (export, node) = context.exports.root();
    export.rule(&context.caller).map_err(|_| Status::AccessDenied)?;
    let object = Object { export: Arc::clone(export), node };
    context.set_current(object);
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

pub(crate) fn restore<F: FileSystem>(context: &mut Context<'_, F>) -> Result<(), Status> {
    let (object, state): (Object<F>, StateId) = context.saved.clone().ok_or(Status::NoFileHandle)?;
    context.current = Some(object);
    context.current_state = state;
    Ok(())
}
