//! CREATE_SESSION (RFC 8881 §18.36).

use proto::nfs4::{CreateSessionArgs, CreateSessionResult, Operation, SessionId, Status, session_flags};
use state::{Channels, ConnectionId, CreateSession, Creation, negotiate_channels};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::callbacks::CallbackTarget;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{Descriptor, OperationOrder, STATUS_BYTES};
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::session::backchannel_ctl;
use crate::nfs4::session::bind_conn_to_session;
use crate::nfs4::session::exchange_id::principal;
use crate::persistent::SessionRecord;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    place: OperationOrder::InSessionOrAlone,
    room_bytes: STATUS_BYTES + 24 + 2 * 28,
    ..Descriptor::changes(Operation::CreateSession)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, &decode(arguments)?).await?)
}

async fn run<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CreateSessionArgs,
) -> Result<CreateSessionResult, Status> {
    let server = context.server;
    context.check_minor_version(server.state().minor_version_of(arguments.client)?)?;
    let target = CallbackTarget::choose(arguments.callback_program, &arguments.callback_security);
    let wants_callbacks = arguments.flags & session_flags::CONN_BACK_CHAN != 0 && target.is_some();
    let mut id = [0; 16];
    server.services().world().random(&mut id);
    let id = SessionId(id);
    let channels = channels(context, arguments, wants_callbacks);
    let persistent = persist(context, arguments, id, &channels).await;
    let asked = CreateSession {
        client: arguments.client,
        sequence: arguments.sequence,
        principal: principal(context),
        channels,
        // What is not granted is cleared: RDMA, and a reply cache that survives a restart where none can (RFC
        // 8881 §18.36.3).
        flags: if wants_callbacks { session_flags::CONN_BACK_CHAN } else { 0 }
            | if persistent { session_flags::PERSIST } else { 0 },
        id,
        connection: ConnectionId(context.call.connection.id()),
    };
    let outcome = server.state().create_session(&asked, server.services().now());
    if persistent {
        server.services().recovery().adopt_sessions([id]);
    }
    let creation = outcome?;
    let created = *creation.created();
    if let (Creation::New { .. }, Some(target)) = (&creation, target) {
        // Unless the client is gone again.
        if let Ok(session) = server.state().session(created.session) {
            server.services().callbacks().backchannels().insert_usable(&session, target);
        }
    }
    if created.flags & session_flags::CONN_BACK_CHAN != 0 {
        // That of a retry too, which may come over another connection.
        bind_conn_to_session::carry_callbacks(context, created.session);
    }
    if let Creation::New { replaced: Some(before), .. } = creation {
        server.services().clients().discard(&before).await;
    }
    Ok(CreateSessionResult {
        session: created.session,
        sequence: created.sequence,
        flags: created.flags,
        fore_channel: created.fore_channel.to_attributes(),
        back_channel: created.back_channel.to_attributes(),
    })
}

/// Writes the session down that is about to be made, where a persistent one is asked for and can be had. If
/// none is made after all, the record goes with the next tick.
async fn persist<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CreateSessionArgs,
    id: SessionId,
    channels: &Result<Channels, Status>,
) -> bool {
    let (server, principal) = (context.server, principal(context));
    let wanted =
        arguments.flags & session_flags::PERSIST != 0 && server.services().recovery().keeps_sessions();
    let (true, Ok(Channels { fore, .. })) = (wanted, channels) else { return false };
    // Whoever is refused writes nothing.
    let Some(client) = server.state().record_name_for(arguments.client, &principal) else { return false };
    let highest_slot = fore.requests_max.saturating_sub(1);
    let record = SessionRecord { client, principal: principal.0, highest_slot };
    server.services().recovery().keep_session(id, &record).await
}

fn channels<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CreateSessionArgs,
    wants_callbacks: bool,
) -> Result<Channels, Status> {
    if arguments.flags & !session_flags::ALL != 0 {
        return Err(Status::Invalid);
    }
    backchannel_ctl::check_gss(&arguments.callback_security)?;
    let limits = context.server.state().limits();
    negotiate_channels(&arguments.fore_channel, &arguments.back_channel, wants_callbacks, limits)
}
