//! OPEN (RFC 8881 §18.16).

use bytes::Bytes;
use proto::nfs4::attributes::Bitmap;
use proto::nfs4::{
    Ace, ChangeInfo, CreateHow, DelegationType, OpenArgs, OpenClaim, OpenDelegation, OpenResult, Operation,
    ReadDelegation, SpaceLimit, StateId, Status, WhyNoDelegation, WriteDelegation, open_result, share,
};
use state::{DelegationKind, GrantedDelegation, Open, Opened, Reservation};
use vfs::{Access, Attributes, FileSystem, Identity, SetAttributes, Settling};
use xdr::{Decoder, Encoder};

use crate::nfs4::attributes::given::bad_attributes;
use crate::nfs4::engine::change::ChangeBefore;
use crate::nfs4::engine::context::{Context, Fresh, Object};
use crate::nfs4::engine::descriptor::{Descriptor, HANDLE_BYTES, OPENED_BYTES};
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, put};
use crate::nfs4::engine::status;
use crate::nfs4::engine::unsettled;
use crate::nfs4::engine::unsettled::{ResultPlace, Unsettled};
use crate::nfs4::engine::users;
use crate::nfs4::names::lookup;
use crate::nfs4::state::open_create;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: OPENED_BYTES + HANDLE_BYTES,
    runs_unsettled: true,
    replaced: &[
        (Status::NotPermitted, Status::NotPermitted),
        (Status::FileOpen, Status::AccessDenied),
        (Status::NotSupported, Status::Invalid),
    ],
    ..Descriptor::changes(Operation::Open)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    let decoded =
        OpenArgs::decode(arguments).map_err(|error| bad_attributes(error, context.minor_version))?;
    put(reply, &run(context, &decoded).await?)
}

/// `ACE4_ACCESS_ALLOWED_ACE_TYPE` is 0; this ACE grants nothing, so that clients ask ACCESS.
const NO_PERMISSIONS: Ace = Ace { kind: 0, flags: 0, mask: 0, who: Bytes::new() };

/// The bits of `share_access` that are known.
const SHARE_FLAGS: u32 = share::ACCESS_MASK
    | share::WANT_MASK
    | share::WANT_SIGNAL_WHEN_AVAILABLE
    | share::WANT_PUSH_WHEN_UNCONTENDED;
const SHARE_FLAGS_SINCE_2: u32 = share::WANT_DELEGATED_TIMESTAMPS | share::WANT_OPEN_XOR_DELEGATION;

/// The file that is opened, and what had to be done to have it.
pub(crate) struct Target<'e, F: FileSystem> {
    pub(crate) object: Object<'e, F>,
    pub(crate) change: ChangeInfo,
    /// The attributes of a file that was made.
    pub(crate) created: Option<Attributes>,
    pub(crate) attributes_set: Bitmap,
    pub(crate) truncate: bool,
    /// When a file that was made is on stable storage.
    pub(crate) settling: Settling,
}

async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &OpenArgs,
) -> Result<OpenResult, Status> {
    let access = arguments.share_access & share::ACCESS_MASK;
    check_arguments(context, arguments, access)?;
    if !makes(arguments) {
        unsettled::settle(context).await?;
    }
    let place = prepare_client(context, arguments).await?;
    let removals = context.server.state().removals();
    let target = find(context, arguments).await?;
    let object = &target.object;
    let identity = context.identity(object)?;
    if access & share::WRITE != 0 || target.truncate {
        context.writable(object)?;
    }
    context.client()?.users().note(identity.uid);
    let found = match target.created {
        Some(created) => created,
        None => {
            let found = object.attributes().await.map_err(status::of)?;
            check_object(object, &found, &identity, access, target.truncate).await?;
            found
        }
    };
    if delegates_by(&arguments.claim) {
        users::without_write_delegation(context, object, &identity).await?;
    }
    let opened = open(context, object, &found, &identity, arguments, access, place.as_ref()).await?;
    if context.server.state().removals() != removals {
        // Somebody may have removed it since it was found, and did not see this open.
        context.server.services().delegations().keep_if_nameless(object.fs(), &object.node).await;
    }
    if target.truncate {
        truncate(context, object, &identity, &opened).await?;
    }
    let result = OpenResult {
        state_id: opened.state_id,
        change: target.change,
        flags: open_result::LOCK_TYPE_POSIX | open_result::MAY_NOTIFY_LOCK | without_open(&opened),
        attributes_set: target.attributes_set,
        delegation: delegation(context, object, &opened, arguments),
    };
    if !target.settling.is_done()
        && let (Ok(directory), OpenClaim::Null(name)) = (context.object(), &arguments.claim)
    {
        let made = Unsettled {
            settling: target.settling,
            directory: directory.clone(),
            name: name.clone(),
            made: target.object.clone(),
            opened,
            place: ResultPlace { index: context.index, start: context.result_start },
        };
        context.unsettled.push(made);
    }
    context.set_current(target.object);
    context.fresh = target.created.map(|attributes| Fresh { attributes, ended_before: None });
    // Where there is no open, what the client goes on with is the delegation.
    context.current_state = match opened.delegation {
        Some(granted) if without_open(&opened) != 0 => granted.state_id,
        _ => opened.state_id,
    };
    Ok(result)
}

/// True for an OPEN that makes its file or fails.
fn makes(arguments: &OpenArgs) -> bool {
    arguments.create.as_deref().is_some_and(|how| !matches!(how, CreateHow::Unchecked(_)))
}

/// The flag for an OPEN that has brought a delegation alone.
fn without_open(opened: &Opened) -> u32 {
    if opened.state_id == StateId::ANONYMOUS { open_result::NO_OPEN_STATE_ID } else { 0 }
}

fn check_arguments<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &OpenArgs,
    access: u32,
) -> Result<(), Status> {
    context.object()?;
    // RFC 8178 §8.2: a flag that the minor version does not know.
    let since_2 = if context.minor_version < 2 { 0 } else { SHARE_FLAGS_SINCE_2 };
    if arguments.share_access & !(SHARE_FLAGS | since_2) != 0 {
        return Err(Status::Invalid);
    }
    if context.minor_version < 2 && is_of_2(&arguments.claim) {
        return Err(Status::BadXdr);
    }
    if access == 0 || access & !share::BOTH != 0 || arguments.share_deny & !share::BOTH != 0 {
        return Err(Status::Invalid);
    }
    // Only a name can be created (RFC 8881 §18.16.3).
    if arguments.create.is_some() && !matches!(arguments.claim, OpenClaim::Null(_)) {
        return Err(Status::Invalid);
    }
    Ok(())
}

/// A switch case that minor version 1 does not know (RFC 8178 §8.2).
fn is_of_2(claim: &OpenClaim) -> bool {
    let kinds = [DelegationType::ReadAttributes, DelegationType::WriteAttributes];
    matches!(claim, OpenClaim::Previous(kind) if kinds.contains(kind))
}

/// What keeps the client from being given state is found out before a file is made: a guarded create that has
/// to be tried again would run into its own file.
async fn prepare_client<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &OpenArgs,
) -> Result<Option<Reservation>, Status> {
    let (client, services) = (context.client()?, context.server.services());
    match arguments.claim {
        OpenClaim::Previous(_) => services.state().check_reclaim(client)?,
        _ => services.state().check_new_state(client)?,
    }
    let place = match arguments.create {
        Some(_) => Some(services.state().reserve(client)?),
        None => None,
    };
    services.recovery().record(client).await?;
    Ok(place)
}

async fn find<'e, F: FileSystem>(
    context: &Context<'e, F>,
    arguments: &OpenArgs,
) -> Result<Target<'e, F>, Status> {
    let found = |object| Target {
        object,
        change: ChangeInfo { atomic: true, before: 0, after: 0 },
        created: None,
        attributes_set: Bitmap::EMPTY,
        truncate: false,
        settling: Settling::DONE,
    };
    match &arguments.claim {
        OpenClaim::Null(name) => match &arguments.create {
            Some(how) => open_create::create(context, name, how).await,
            None => {
                let (object, _) = lookup::child(context, name).await?;
                let change = ChangeBefore::of(context.object()?).await?;
                Ok(Target { change: change.unchanged(), ..found(object) })
            }
        },
        OpenClaim::Handle | OpenClaim::Previous(_) => Ok(found(context.object()?.clone())),
        OpenClaim::DelegateCurrentHandle(id) => {
            let object = context.object()?.clone();
            check_delegation(context, &object, id)?;
            Ok(found(object))
        }
        OpenClaim::DelegateCurrent(claim) => {
            let (object, _) = lookup::child(context, &claim.name).await?;
            check_delegation(context, &object, &claim.state_id)?;
            Ok(found(object))
        }
        // Delegations do not survive a client's restart here (RFC 8881 §18.16.3).
        OpenClaim::DelegatePrevious(_) | OpenClaim::DelegatePreviousHandle => Err(Status::NotSupported),
    }
}

fn check_delegation<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    id: &StateId,
) -> Result<(), Status> {
    let id = context.resolve_state(*id)?;
    let services = context.server.services();
    services.state().check_delegation(context.client()?, object.file(), &id, services.now())
}

/// Type and permissions of a file that was there before.
async fn check_object<F: FileSystem>(
    object: &Object<'_, F>,
    found: &Attributes,
    identity: &Identity,
    access: u32,
    truncate: bool,
) -> Result<(), Status> {
    if let Some(status) = regular::wrong_kind(found.kind) {
        return Err(status);
    }
    let mut wanted = Access(0);
    if access & share::READ != 0 {
        wanted.0 |= Access::READ.0;
    }
    if access & share::WRITE != 0 || truncate {
        wanted.0 |= Access::MODIFY.0;
    }
    let mut granted = object
        .fs()
        .access(object.request(identity), &object.node, Access(wanted.0 | Access::EXECUTE.0))
        .await
        .map_err(status::of)?;
    // A client opens a file for reading to run it (RFC 8881 §6.2.1.3.1). Other ways of opening are not for
    // running.
    if wanted == Access::READ && granted.contains(Access::EXECUTE) {
        granted.0 |= Access::READ.0;
    }
    if granted.contains(wanted) { Ok(()) } else { Err(Status::AccessDenied) }
}

async fn open<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    found: &Attributes,
    identity: &Identity,
    arguments: &OpenArgs,
    access: u32,
    place: Option<&Reservation>,
) -> Result<Opened, Status> {
    let client = context.client()?;
    let services = context.server.services();
    let delegate = match wanted_delegation(context, object, arguments) {
        Some(DelegationKind::Write) if !users::all_may_write(context, identity, found)? => None,
        wanted => wanted,
    };
    let asked = Open {
        file: object.file(),
        owner: arguments.owner.owner.clone(),
        claim: claim(arguments),
        access,
        deny: arguments.share_deny,
        delegate,
        timestamps: keeps_times(context, object, arguments),
        delegation_alone: arguments.share_access & share::WANT_OPEN_XOR_DELEGATION != 0,
    };
    // A client that seemed to be idle may have been forgotten while the file was found.
    services.recovery().record(client).await?;
    let attempt = |asked: &Open| match place {
        Some(place) => services.state().open_reserved(place, asked, services.now()),
        None => services.state().open(client, asked, services.now()),
    };
    let opened = services.delegations().hold(|| attempt(&asked)).await?;
    let Some(GrantedDelegation { state_id: id, kind }) = opened.delegation else { return Ok(opened) };
    let told = match kind {
        DelegationKind::Write => object.attributes().await.ok(),
        DelegationKind::Read => None,
    };
    // Another user may have come since the users were looked at, and has seen no delegation.
    let is_new_write = kind == DelegationKind::Write && delegates_by(&arguments.claim);
    let is_safe = !is_new_write || users::all_may_write(context, identity, found)?;
    if !is_safe || !is_still_named(context, object, arguments).await {
        context.withdraw_delegation(&id)?;
    } else if context.note_grant(object, &id, kind.of_file(opened.timestamps), told)? {
        return Ok(opened);
    }
    if opened.state_id != StateId::ANONYMOUS {
        return Ok(Opened { delegation: None, timestamps: false, ..opened });
    }
    // The delegation would have taken the place of the open.
    let asked = Open { delegate: None, ..asked };
    services.delegations().hold(|| attempt(&asked)).await
}

/// True when the name that was opened leads to the object now that its delegation is granted. The holder
/// opens by that name without asking from here on (RFC 8881 §10.4), and who renamed or removed it after it
/// was found and before the grant had nothing to recall.
async fn is_still_named<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    arguments: &OpenArgs,
) -> bool {
    match &arguments.claim {
        OpenClaim::Null(name) => {
            lookup::child(context, name).await.is_ok_and(|(now, _)| now.id() == object.id())
        }
        _ => true,
    }
}

fn claim(arguments: &OpenArgs) -> state::OpenClaim {
    match arguments.claim {
        OpenClaim::Previous(DelegationType::Read | DelegationType::ReadAttributes) => {
            state::OpenClaim::Reclaim(Some(DelegationKind::Read))
        }
        OpenClaim::Previous(DelegationType::Write | DelegationType::WriteAttributes) => {
            state::OpenClaim::Reclaim(Some(DelegationKind::Write))
        }
        OpenClaim::Previous(_) => state::OpenClaim::Reclaim(None),
        _ => state::OpenClaim::New,
    }
}

async fn truncate<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    identity: &Identity,
    opened: &Opened,
) -> Result<(), Status> {
    let set = SetAttributes { size: Some(0), ..SetAttributes::default() };
    let cut = object.fs().set_attributes(object.request(identity), &object.node, &set).await;
    cut.map(|_| ()).map_err(|error| {
        context.give_up(opened);
        status::of(error)
    })
}

fn want(arguments: &OpenArgs) -> u32 {
    arguments.share_access & share::WANT_MASK
}

/// True for an OPEN that is no part of returning or reclaiming a delegation.
fn delegates_by(claim: &OpenClaim) -> bool {
    matches!(claim, OpenClaim::Null(_) | OpenClaim::Handle)
}

/// The delegation that may be granted: of the kind that the client wishes, and that its access can use.
fn wanted_delegation<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    arguments: &OpenArgs,
) -> Option<DelegationKind> {
    if !delegates_by(&arguments.claim) || !context.delegates(object) || !context.callbacks_work() {
        return None;
    }
    let writes = arguments.share_access & share::WRITE != 0;
    match want(arguments) {
        share::WANT_NO_DELEGATION | share::WANT_CANCEL => None,
        share::WANT_WRITE_DELEGATION if !writes => None,
        share::WANT_READ_DELEGATION if writes => None,
        _ if writes => Some(DelegationKind::Write),
        _ => Some(DelegationKind::Read),
    }
}

/// True for a client that would keep the times under a write delegation, where those may change, or has kept
/// them before the server restarted (RFC 9754).
fn keeps_times<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    arguments: &OpenArgs,
) -> bool {
    let wanted = arguments.share_access & share::WANT_DELEGATED_TIMESTAMPS != 0;
    let had = matches!(arguments.claim, OpenClaim::Previous(DelegationType::WriteAttributes));
    context.minor_version >= 2 && (wanted || had) && context.writable(object).is_ok()
}

/// How a delegation is told.
pub(crate) fn granted(state_id: StateId, kind: DelegationKind, timestamps: bool) -> OpenDelegation {
    let (recall, permissions) = (false, NO_PERMISSIONS);
    match kind {
        DelegationKind::Read => OpenDelegation::Read(ReadDelegation { state_id, recall, permissions }),
        DelegationKind::Write => {
            let space_limit = SpaceLimit::Size(u64::MAX);
            let granted = WriteDelegation { state_id, recall, space_limit, permissions };
            if timestamps { OpenDelegation::WriteAttributes(granted) } else { OpenDelegation::Write(granted) }
        }
    }
}

/// What OPEN tells of a delegation. A reason is given to a client that expressed a wish (RFC 8881 §18.16.3).
fn delegation<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    opened: &Opened,
    arguments: &OpenArgs,
) -> OpenDelegation {
    if let Some(GrantedDelegation { state_id, kind }) = opened.delegation {
        return granted(state_id, kind, opened.timestamps);
    }
    match want(arguments) {
        share::WANT_NO_PREFERENCE => OpenDelegation::None,
        share::WANT_NO_DELEGATION => OpenDelegation::NoneExt(WhyNoDelegation::NotWanted),
        share::WANT_CANCEL => OpenDelegation::NoneExt(WhyNoDelegation::Cancelled),
        _ if !context.delegates(object) || !context.callbacks_work() => {
            OpenDelegation::NoneExt(WhyNoDelegation::Resource(false))
        }
        _ => OpenDelegation::NoneExt(WhyNoDelegation::Contention(false)),
    }
}
