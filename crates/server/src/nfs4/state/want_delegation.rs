//! WANT_DELEGATION (RFC 8881 §18.49): a delegation without an open. Wishes are not kept: what cannot be had
//! now is refused.

use proto::nfs4::{
    DelegationClaim, DelegationType, OpenDelegation, Operation, Status, WantDelegationArgs, WhyNoDelegation,
    share,
};
use state::DelegationKind;
use vfs::{Access, Attributes, FileKind, FileSystem};
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::descriptor::{Descriptor, OPENED_BYTES};
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;
use crate::nfs4::engine::users;
use crate::nfs4::state::open;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { room_bytes: OPENED_BYTES, ..Descriptor::changes(Operation::WantDelegation) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: WantDelegationArgs,
) -> Result<OpenDelegation, Status> {
    let object = context.object()?;
    let found = object.attributes().await.map_err(status::of)?;
    // Directories have an operation of their own.
    if found.kind == FileKind::Directory {
        return Err(Status::WrongType);
    }
    let (kind, reclaim) = match (arguments.claim, arguments.want & share::WANT_MASK) {
        // Delegations do not survive a client's restart here.
        (DelegationClaim::PreviousHandle, _) => return Err(Status::NotSupported),
        (DelegationClaim::Previous(DelegationType::Read | DelegationType::ReadAttributes), _) => {
            (DelegationKind::Read, true)
        }
        (DelegationClaim::Previous(DelegationType::Write | DelegationType::WriteAttributes), _) => {
            (DelegationKind::Write, true)
        }
        (DelegationClaim::Previous(_), _) => return Err(Status::Invalid),
        (DelegationClaim::Handle, share::WANT_READ_DELEGATION | share::WANT_ANY_DELEGATION) => {
            (DelegationKind::Read, false)
        }
        (DelegationClaim::Handle, share::WANT_WRITE_DELEGATION) => (DelegationKind::Write, false),
        (DelegationClaim::Handle, share::WANT_CANCEL) => {
            return Ok(OpenDelegation::NoneExt(WhyNoDelegation::Cancelled));
        }
        // Neither a wish nor its end.
        (DelegationClaim::Handle, _) => return Err(Status::Invalid),
    };
    if found.kind != FileKind::Regular {
        let why = match kind {
            DelegationKind::Read => WhyNoDelegation::UnsupportedFileType,
            DelegationKind::Write => WhyNoDelegation::WriteUnsupportedFileType,
        };
        return Ok(OpenDelegation::NoneExt(why));
    }
    let services = context.server.services();
    let may_have = context.server.delegations()
        && context.callbacks_work()
        && may_use(context, object, kind, &found).await?;
    if !may_have && !reclaim {
        return Ok(OpenDelegation::NoneExt(WhyNoDelegation::Resource(false)));
    }
    let client = context.client()?;
    if reclaim {
        services.state().check_reclaim(client)?;
    } else {
        services.state().check_new_state(client)?;
    }
    services.recovery().record(client).await?;
    let granted = services.state().delegate_file(client, object.file(), kind, reclaim, services.now())?;
    let Some(id) = granted else {
        return Ok(OpenDelegation::NoneExt(WhyNoDelegation::Contention(false)));
    };
    if !context.note_grant(object, &id, kind.of_file(false), Some(found))? {
        return Ok(OpenDelegation::NoneExt(WhyNoDelegation::Resource(false)));
    }
    context.current_state = id;
    Ok(open::granted(id, kind, false))
}

/// The status for who may not use it is not in the operation's list, and a delegation opens nothing that
/// ACCESS forbids; but to hold one is to keep others from the file.
async fn may_use<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    kind: DelegationKind,
    found: &Attributes,
) -> Result<bool, Status> {
    if kind == DelegationKind::Write && context.writable(object).is_err() {
        return Ok(false);
    }
    let wanted = match kind {
        DelegationKind::Read => Access::READ,
        DelegationKind::Write => Access(Access::READ.0 | Access::MODIFY.0),
    };
    let identity = context.identity(object)?;
    context.client()?.users().note(identity.uid);
    if kind == DelegationKind::Write && !users::all_may_write(context, &identity, found)? {
        return Ok(false);
    }
    let may =
        object.fs().access(object.request(&identity), &object.node, wanted).await.map_err(status::of)?;
    Ok(may.contains(wanted))
}
