//! EXCHANGE_ID (RFC 8881 §18.35).

use proto::nfs4::{
    ExchangeIdArgs, ExchangeIdResult, ImplementationId, Operation, ServerOwner, StateProtect,
    StateProtectResult, Status, Time, exchange_flags,
};
use state::{ClientAddress, ExchangeId, Principal};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{Descriptor, OperationOrder};
use crate::nfs4::engine::result::{Failure, decode, put};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    place: OperationOrder::InSessionOrAlone,
    room_bytes: 4096,
    replaced: &[(Status::NotPermitted, Status::NotPermitted)],
    ..Descriptor::changes(Operation::ExchangeId)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: ExchangeIdArgs,
) -> Result<ExchangeIdResult, Status> {
    // To be fenced may be wished for in minor version 2, and is not promised: what is under way is told to
    // come again instead.
    let since_2 = if context.minor_version < 2 { 0 } else { exchange_flags::SUPP_FENCE_OPS };
    if arguments.flags & !(exchange_flags::REQUEST_MASK | since_2) != 0 {
        return Err(Status::Invalid);
    }
    // A client that wants protection by its machine's credential or by a shared secret must ask with
    // RPCSEC_GSS and integrity (RFC 8881 §18.35.3), and no request comes here with that.
    if arguments.state_protect != StateProtect::None {
        return Err(Status::Invalid);
    }
    let asked = ExchangeId {
        owner: arguments.owner.id,
        verifier: arguments.owner.verifier,
        principal: principal(context),
        address: address(context),
        update: arguments.flags & exchange_flags::UPDATE_CONFIRMED_RECORD != 0,
        minor_version: context.minor_version,
    };
    let server = context.server;
    let exchanged = server.state().exchange_id(&asked, server.services().now())?;
    if let Some(before) = &exchanged.replaced {
        server.services().clients().discard(before).await;
    }
    Ok(ExchangeIdResult {
        client: exchanged.client,
        sequence: exchanged.sequence,
        // No pNFS, referrals, migration, or stateids that are bound to principals: whatever was asked for.
        flags: exchanged.flags() | exchange_flags::USE_NON_PNFS,
        state_protect: StateProtectResult::None,
        server_owner: ServerOwner { minor_id: 0, major_id: server.identity().clone() },
        server_scope: server.identity().clone(),
        implementation: vec![ImplementationId {
            domain: "primetime.invalid".into(),
            name: concat!("primetime ", env!("CARGO_PKG_VERSION")).into(),
            date: Time { seconds: 0, nanoseconds: 0 },
        }],
    })
}

/// The address that the call came from, without its port; all of one IPv6 network count as one, for a host
/// has as many as it likes.
fn address<F: FileSystem>(context: &Context<'_, F>) -> ClientAddress {
    let bytes = match context.caller.peer.ip().to_canonical() {
        std::net::IpAddr::V4(address) => address.octets().to_vec(),
        std::net::IpAddr::V6(address) => address.octets()[..8].to_vec(),
    };
    ClientAddress(bytes.into())
}

/// What tells clients apart: the flavour, the user, and the name of the machine. The network address is left
/// out, for a client may have several, and so are the user's groups, which may change while a client lives.
///
/// Whoever makes a client must also make its sessions and end it. The operations inside a session are those
/// of any user.
pub(crate) fn principal<F: FileSystem>(context: &Context<'_, F>) -> Principal {
    Principal(context.call.caller.principal().clone())
}
