//! TEST_STATEID (RFC 8881 §18.48).

use proto::nfs4::{Operation, Status, TestStateIdArgs, TestStateIdResult};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, decode, put};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor::looks(Operation::TestStateId);

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, &decode(arguments)?)?)
}

fn run<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &TestStateIdArgs,
) -> Result<TestStateIdResult, Status> {
    let client = context.client()?;
    let state = context.server.state();
    let statuses = arguments.state_ids.iter().map(|id| state.test_state_id(client, id)).collect();
    Ok(TestStateIdResult { statuses })
}
