//! BIND_CONN_TO_SESSION and BACKCHANNEL_CTL (RFC 8881 §18.34, §18.33).

use proto::nfs4::{
    BackchannelCtlArgs, BindConnToSessionArgs, BindConnToSessionResult, DirectionFromClient,
    DirectionFromServer, Status,
};
use vfs::FileSystem;

use super::context::Context;
use crate::recall::CallbackTarget;

pub(crate) fn bind<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &BindConnToSessionArgs,
) -> Result<BindConnToSessionResult, Status> {
    let session = context.server.state().session(arguments.session)?;
    let recaller = context.server.recaller();
    let wants_back = arguments.direction != DirectionFromClient::Fore;
    let channel = recaller.backchannels().get(session.id()).filter(|_| wants_back);
    let bound = channel.filter(|channel| channel.bind(context.call.connection));
    let has_back = bound.is_some();
    if let Some(channel) = bound {
        recaller.world().spawn(Box::pin(async move { channel.probe().await }));
    }
    let direction = match (arguments.direction, has_back) {
        (DirectionFromClient::Back, true) => DirectionFromServer::Back,
        (DirectionFromClient::Back, false) => return Err(Status::Invalid),
        (_, true) => DirectionFromServer::Both,
        (_, false) => DirectionFromServer::Fore,
    };
    Ok(BindConnToSessionResult { session: session.id(), direction, rdma: false })
}

pub(crate) fn control<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &BackchannelCtlArgs,
) -> Result<(), Status> {
    let session = context.session.as_ref().ok_or(Status::OperationNotInSession)?.session();
    let target = CallbackTarget::choose(arguments.callback_program, &arguments.callback_security);
    // No flavour that the server could use: RFC 8881 §18.33.3 has NFS4ERR_NOENT for unknown GSS handles.
    let target = target.ok_or(Status::NoEntry)?;
    match context.server.recaller().backchannels().get(session.id()) {
        Some(channel) => {
            channel.retarget(target);
            Ok(())
        }
        None => Err(Status::NoEntry),
    }
}
