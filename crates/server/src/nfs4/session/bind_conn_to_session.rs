//! BIND_CONN_TO_SESSION (RFC 8881 §18.34): what a connection is used for.
//!
//! Without state protection a SEQUENCE is enough for requests (§2.10.3.1); callbacks need this operation.
//! Anybody may ask.

use proto::nfs4::{
    BindConnToSessionArgs, BindConnToSessionResult, DirectionFromClient, DirectionFromServer, Operation,
    SessionId, Status,
};
use state::ConnectionId;
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{Descriptor, OperationOrder, STATUS_BYTES};
use crate::nfs4::engine::result::{Failure, decode, put};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    place: OperationOrder::Alone,
    room_bytes: STATUS_BYTES + 24,
    ..Descriptor::changes(Operation::BindConnToSession)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, &decode(arguments)?)?)
}

fn run<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &BindConnToSessionArgs,
) -> Result<BindConnToSessionResult, Status> {
    let id = arguments.session;
    let session = context.server.state().session(id)?;
    context.check_minor_version(session.client().minor_version())?;
    let connection = context.call.connection.id();
    let channel = context.server.services().callbacks().backchannels().get(id);
    let is_fore = session.is_associated(ConnectionId(connection));
    let is_back = channel.is_some_and(|channel| channel.is_bound(connection));
    check_change(arguments.direction, is_fore, is_back)?;
    let direction = match arguments.direction {
        DirectionFromClient::Fore => DirectionFromServer::Fore,
        DirectionFromClient::Back if carry_callbacks(context, id) => DirectionFromServer::Back,
        DirectionFromClient::ForeOrBoth | DirectionFromClient::BackOrBoth if carry_callbacks(context, id) => {
            DirectionFromServer::Both
        }
        DirectionFromClient::ForeOrBoth => DirectionFromServer::Fore,
        // There is no backchannel that the connection could be for.
        DirectionFromClient::Back | DirectionFromClient::BackOrBoth => return Err(Status::Invalid),
    };
    if direction != DirectionFromServer::Back {
        session.associate(ConnectionId(connection));
    }
    Ok(BindConnToSessionResult { session: id, direction, rdma: false })
}

/// A connection keeps the channels that it has: they may become more, but a client that demands that there be
/// fewer gets NFS4ERR_INVAL (§18.34.3).
fn check_change(asked: DirectionFromClient, is_fore: bool, is_back: bool) -> Result<(), Status> {
    match asked {
        DirectionFromClient::Fore if is_back => Err(Status::Invalid),
        DirectionFromClient::Back if is_fore => Err(Status::Invalid),
        _ => Ok(()),
    }
}

/// Lets the connection of the request carry the session's callbacks. False when the session has no
/// backchannel, or too many connections for it.
pub(crate) fn carry_callbacks<F: FileSystem>(context: &Context<'_, F>, session: SessionId) -> bool {
    let services = context.server.services();
    let Some(channel) = services.callbacks().backchannels().bind(session, context.call.connection) else {
        return false;
    };
    if let Ok(session) = services.state().session(session) {
        services.callbacks().backchannels().look_for_paths(services.state(), session.client());
    }
    services.world().spawn(Box::pin(async move { channel.probe().await }));
    true
}
