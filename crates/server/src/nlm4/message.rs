//! The one-way messages: each is carried out as the procedure of its name, and its result is sent by a call
//! in the other direction (X/Open C702 §14.4). The message itself is answered with nothing, which says that
//! it has arrived.

use proto::nlm4::{CancelArgs, LockArgs, Procedure, Response, TestArgs, UnlockArgs};
use vfs::FileSystem;
use xdr::Encode;

use super::context::Context;
use super::lock::Monitored;
use super::lock_table::LockTable;

pub(super) async fn test<F: FileSystem, L: LockTable>(context: &Context<'_, F, L>, arguments: TestArgs) {
    let result = super::test::run(context, arguments).await;
    answer(context, Procedure::TestRes, &result);
}

pub(super) async fn lock<F: FileSystem, L: LockTable>(context: &Context<'_, F, L>, arguments: LockArgs) {
    let result = super::lock::run(context, arguments, Monitored::Yes).await;
    answer(context, Procedure::LockRes, &result);
}

pub(super) async fn cancel<F: FileSystem, L: LockTable>(context: &Context<'_, F, L>, arguments: CancelArgs) {
    let result = super::cancel::run(context, arguments).await;
    answer(context, Procedure::CancelRes, &result);
}

pub(super) async fn unlock<F: FileSystem, L: LockTable>(context: &Context<'_, F, L>, arguments: UnlockArgs) {
    let result = super::unlock::run(context, arguments).await;
    answer(context, Procedure::UnlockRes, &result);
}

/// GRANTED_RES: the answer to a GRANTED_MSG of ours.
pub(super) fn granted<F: FileSystem, L: LockTable>(context: &Context<'_, F, L>, response: &Response) {
    context.locks.granted_message(context.client(), &response.cookie.0, response.status);
}

fn answer<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    procedure: Procedure,
    result: &impl Encode,
) {
    context.locks.send_result(context.route(), procedure, xdr::to_bytes(result).to_vec());
}
