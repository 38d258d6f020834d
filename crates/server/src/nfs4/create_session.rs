//! CREATE_SESSION (RFC 8881 §18.36).

use std::sync::Arc;

use proto::nfs4::{CreateSessionArgs, CreateSessionResult, SessionId, Status, session_flags};
use state::{CreateSession, SessionCreated, negotiate_back_channel, negotiate_fore_channel};
use vfs::FileSystem;

use super::context::Context;
use super::exchange_id::principal;
use crate::recall::{Backchannel, CallbackTarget};

pub(crate) async fn run<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CreateSessionArgs,
) -> Result<CreateSessionResult, Status> {
    if arguments.flags & !session_flags::ALL != 0 {
        return Err(Status::Invalid);
    }
    let server = context.server;
    let target = CallbackTarget::choose(arguments.callback_program, &arguments.callback_security);
    let wants_callbacks = arguments.flags & session_flags::CONN_BACK_CHAN != 0 && target.is_some();
    let mut id = [0; 16];
    server.recaller().world().random(&mut id);
    let asked = CreateSession {
        client: arguments.client,
        sequence: arguments.sequence,
        principal: principal(context),
        fore_channel: negotiate_fore_channel(&arguments.fore_channel, server.state().limits()),
        back_channel: negotiate_back_channel(&arguments.back_channel, server.state().limits()),
        flags: if wants_callbacks { session_flags::CONN_BACK_CHAN } else { 0 },
        id: SessionId(id),
    };
    let created = server.state().create_session(&asked, server.recaller().now())?;
    if let Some(replaced) = &created.replaced {
        server.recaller().forget(replaced).await;
    }
    if let Some(target) = target.filter(|_| created.fresh) {
        open_backchannel(context, &created, target);
    }
    Ok(CreateSessionResult {
        session: created.session.id(),
        sequence: created.sequence,
        flags: created.flags,
        fore_channel: created.session.fore_channel().to_attributes(),
        back_channel: created.session.back_channel().to_attributes(),
    })
}

fn open_backchannel<F: FileSystem>(
    context: &Context<'_, F>,
    created: &SessionCreated,
    target: CallbackTarget,
) {
    let session = &created.session;
    let channel = Arc::new(Backchannel::new(session.id(), target, session.back_channel().requests_max));
    let recaller = context.server.recaller();
    recaller.backchannels().insert(session.id(), Arc::clone(&channel));
    if created.flags & session_flags::CONN_BACK_CHAN != 0 {
        channel.bind(context.call.connection);
        recaller.world().spawn(Box::pin(async move { channel.probe().await }));
    }
}
