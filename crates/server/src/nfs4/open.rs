//! OPEN (RFC 8881 §18.16).

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeId, Bitmap};
use proto::nfs4::{
    Ace, ChangeInfo, CreateHow, DelegationType, OpenArgs, OpenClaim, OpenDelegation, OpenResult,
    ReadDelegation, SpaceLimit, StateId, Status, WhyNoDelegation, WriteDelegation, open_result, share,
};
use state::{DelegationKind, Open, Opened};
use vfs::{Access, Attributes, CreateMode, FileSystem, Identity, Name, SetAttributes};

use super::change::ChangeBefore;
use super::context::{Context, Object};

use super::{attributes, conflict, lookup, names, regular, status};
use crate::persistent::{Change, Named, Repetition, SlotKept, SlotRecord};

/// How often a name is looked up again that somebody else makes or removes at the same time.
const ATTEMPTS_MAX: usize = 3;
/// `ACE4_ACCESS_ALLOWED_ACE_TYPE` is 0; this ACE grants nothing, so that clients ask ACCESS.
const NO_PERMISSIONS: Ace = Ace { kind: 0, flags: 0, mask: 0, who: Bytes::new() };

/// The file that is opened, and what had to be done to have it.
struct Target<F: FileSystem> {
    object: Object<F>,
    change: ChangeInfo,
    /// The attributes of a file that was made.
    created: Option<Attributes>,
    attributes_set: Bitmap,
    truncate: bool,
}

pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: OpenArgs,
) -> Result<OpenResult, Status> {
    let access = arguments.share_access & share::ACCESS_MASK;
    check_arguments(context, &arguments, access)?;
    prepare_client(context, &arguments.claim).await?;
    let target = find(context, &arguments).await?;
    let object = &target.object;
    let identity = context.identity(object)?;
    if access & share::WRITE != 0 || target.truncate {
        context.writable(object)?;
    }
    if target.created.is_none() {
        let found = object.fs().attributes(&object.node).await.map_err(status::of)?;
        check_object(object, &found, &identity, access, target.truncate).await?;
    }
    let opened = open(context, object, &arguments, access).await?;
    if target.truncate {
        truncate(context, object, &identity, &opened).await?;
    }
    let result = OpenResult {
        state_id: opened.state_id,
        change: target.change,
        flags: open_result::LOCK_TYPE_POSIX | open_result::MAY_NOTIFY_LOCK,
        attributes_set: target.attributes_set,
        delegation: delegation(context, &opened, &arguments),
    };
    context.set_current(target.object);
    context.fresh = target.created;
    context.current_state = opened.state_id;
    Ok(result)
}

fn check_arguments<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &OpenArgs,
    access: u32,
) -> Result<(), Status> {
    context.object()?;
    if access == 0 || access & !share::BOTH != 0 || arguments.share_deny & !share::BOTH != 0 {
        return Err(Status::Invalid);
    }
    // Only a name can be created (RFC 8881 §18.16.3).
    if arguments.create.is_some() && !matches!(arguments.claim, OpenClaim::Null(_)) {
        return Err(Status::Invalid);
    }
    Ok(())
}

/// What keeps the client from being given state is found out before a file is made: a guarded create that has to be tried
/// again would run into its own file.
async fn prepare_client<F: FileSystem>(context: &Context<'_, F>, claim: &OpenClaim) -> Result<(), Status> {
    let (client, recaller) = (context.client()?, context.server.recaller());
    match claim {
        OpenClaim::Previous(_) => recaller.state().check_reclaim(client)?,
        _ => recaller.state().check_new_state(client)?,
    }
    recaller.record(client).await
}

async fn find<F: FileSystem>(context: &Context<'_, F>, arguments: &OpenArgs) -> Result<Target<F>, Status> {
    let found = |object| Target {
        object,
        change: ChangeInfo { atomic: true, before: 0, after: 0 },
        created: None,
        attributes_set: Bitmap::EMPTY,
        truncate: false,
    };
    match &arguments.claim {
        OpenClaim::Null(name) => match &arguments.create {
            Some(how) => create(context, name, how).await,
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
    object: &Object<F>,
    id: &StateId,
) -> Result<(), Status> {
    let id = context.resolve_state(*id)?;
    context.server.state().check_delegation(context.client()?, object.file(), &id)
}

/// The file called `name`, made if it is not there.
async fn create<F: FileSystem>(
    context: &Context<'_, F>,
    name: &Bytes,
    how: &CreateHow,
) -> Result<Target<F>, Status> {
    let directory = context.object()?;
    context.writable(directory)?;
    let checked = names::checked(name)?;
    let change = ChangeBefore::of(directory).await?;
    let (mode, values) = match how {
        CreateHow::Unchecked(values) | CreateHow::Guarded(values) => (
            CreateMode::Guarded(
                attributes::to_set(context.server, directory.fs(), values, attributes::SETTABLE).await?,
            ),
            values.present(),
        ),
        // RFC 8881 §18.16.3: GUARDED4 is as good there.
        CreateHow::Exclusive(_)
            if context.session.as_ref().is_some_and(|own| own.session().is_persistent()) =>
        {
            return Err(Status::Invalid);
        }
        CreateHow::Exclusive(verifier) => {
            let attributes = SetAttributes::default();
            (CreateMode::Exclusive { verifier: verifier.0, attributes }, EXCLUSIVE_TIMES)
        }
        CreateHow::Exclusive41(verifier, values) => {
            let attributes =
                attributes::to_set(context.server, directory.fs(), values, attributes::SETTABLE_EXCLUSIVELY)
                    .await?;
            (CreateMode::Exclusive { verifier: verifier.0, attributes }, values.present() | EXCLUSIVE_TIMES)
        }
    };
    for _ in 0..ATTEMPTS_MAX {
        if let CreateHow::Unchecked(values) = how {
            match lookup::child(context, name).await {
                Ok((object, _)) => {
                    let truncate = values.size == Some(0);
                    let attributes_set =
                        if truncate { Bitmap::of(&[AttributeId::Size]) } else { Bitmap::EMPTY };
                    let change = change.after(directory).await?;
                    return Ok(Target { object, change, created: None, attributes_set, truncate });
                }
                Err(Status::NoEntry) => {}
                Err(status) => return Err(status),
            }
        }
        match make(context, directory, checked, &mode).await {
            Ok((object, attributes)) => {
                let change = change.after(directory).await?;
                let created = Some(attributes);
                return Ok(Target { object, change, created, attributes_set: values, truncate: false });
            }
            Err(Status::Exists) if is_repetition(context, directory, checked, how).await => {
                let (object, attributes) = made_before(context, directory, checked, &mode).await?;
                let change = change.after(directory).await?;
                let created = Some(attributes);
                return Ok(Target { object, change, created, attributes_set: values, truncate: false });
            }
            // Somebody was quicker: an unchecked create opens that file.
            Err(Status::Exists) if matches!(how, CreateHow::Unchecked(_)) => {}
            Err(status) => return Err(status),
        }
    }
    Err(Status::Delay)
}

/// Where the back end keeps the verifier of an exclusive create: the client sets the times anew
/// (RFC 8881 §18.16.3).
const EXCLUSIVE_TIMES: Bitmap = Bitmap::of(&[AttributeId::TimeAccess, AttributeId::TimeModify]);

async fn make<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &Object<F>,
    name: Name<'_>,
    mode: &CreateMode,
) -> Result<(Object<F>, Attributes), Status> {
    let identity = context.identity(directory)?;
    let _entry = conflict::before_entry_change(context, directory).await?;
    if context.is_persistent() && directory.is_free(name).await {
        context.intend(Change::Open(directory.entry(name))).await?;
    }
    let made = directory.fs().create(&identity, &directory.node, name, mode).await.map_err(status::of)?;
    Ok((Object { export: directory.export.clone(), node: made.node }, made.attributes))
}

/// True when this OPEN has made the file before the server restarted, and its answer was lost. No other is taken for it later.
async fn is_repetition<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &Object<F>,
    name: Name<'_>,
    how: &CreateHow,
) -> bool {
    let repetitions = context.server.repetitions();
    if repetitions.is_empty() || !matches!(how, CreateHow::Guarded(_)) {
        return false;
    }
    let Ok(client) = context.client().map(|client| client.record_name()) else { return false };
    let Ok((file, _)) = lookup::child(context, name.as_bytes()).await else { return false };
    let made = Named { at: directory.entry(name), object: file.handle() };
    let recaller = context.server.recaller();
    let Some((session, slot)) = repetitions.take(Repetition { client, made }, recaller.now()) else {
        return false;
    };
    // Where this cannot be written, the next server may take one more OPEN for a repetition.
    let answered = SlotRecord { sequence: 0, digest: 0, kept: SlotKept::Nothing };
    let _ = recaller.keep_slot(session, slot, &answered).await;
    true
}

/// The file that an OPEN has made before, with the attributes that it may not have got any more.
async fn made_before<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &Object<F>,
    name: Name<'_>,
    mode: &CreateMode,
) -> Result<(Object<F>, Attributes), Status> {
    let (file, found) = lookup::child(context, name.as_bytes()).await?;
    let CreateMode::Guarded(set) = mode else { return Ok((file, found)) };
    let identity = context.identity(directory)?;
    // Its data may have come since.
    let set = SetAttributes { size: None, ..*set };
    let attributes = file.fs().set_attributes(&identity, &file.node, &set).await.map_err(status::of)?;
    Ok((file, attributes))
}

/// Type and permissions of a file that was there before.
async fn check_object<F: FileSystem>(
    object: &Object<F>,
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
        .access(identity, &object.node, Access(wanted.0 | Access::EXECUTE.0))
        .await
        .map_err(status::of)?;
    // Who may run a file must be able to have it read (RFC 1813 §4.4 has the same for NFSv3).
    if granted.contains(Access::EXECUTE) {
        granted.0 |= Access::READ.0;
    }
    if granted.contains(wanted) { Ok(()) } else { Err(Status::AccessDenied) }
}

async fn open<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<F>,
    arguments: &OpenArgs,
    access: u32,
) -> Result<Opened, Status> {
    let client = context.client()?;
    let recaller = context.server.recaller();
    let asked = Open {
        file: object.file(),
        owner: arguments.owner.owner.clone(),
        claim: claim(arguments),
        access,
        deny: arguments.share_deny,
        delegate: wanted_delegation(context, arguments),
    };
    // A client that seemed to be idle may have been forgotten while the file was made.
    recaller.record(client).await?;
    let opened = recaller.hold(|| recaller.state().open(client, &asked, recaller.now())).await?;
    if let Some((id, kind)) = &opened.delegation {
        // Where the attributes cannot be had, the holder is never found unmodified: that is safe.
        let change = match kind {
            DelegationKind::Write => object.fs().attributes(&object.node).await.map_or(0, |now| now.change),
            DelegationKind::Read => 0,
        };
        context.note_delegation(object, id, change)?;
    }
    Ok(opened)
}

fn claim(arguments: &OpenArgs) -> state::OpenClaim {
    match arguments.claim {
        OpenClaim::Previous(DelegationType::Read) => state::OpenClaim::Reclaim(Some(DelegationKind::Read)),
        OpenClaim::Previous(DelegationType::Write) => state::OpenClaim::Reclaim(Some(DelegationKind::Write)),
        OpenClaim::Previous(_) => state::OpenClaim::Reclaim(None),
        _ => state::OpenClaim::New,
    }
}

async fn truncate<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<F>,
    identity: &Identity,
    opened: &Opened,
) -> Result<(), Status> {
    let set = SetAttributes { size: Some(0), ..SetAttributes::default() };
    let cut = object.fs().set_attributes(identity, &object.node, &set).await;
    cut.map(|_| ()).map_err(|error| {
        // The client gets an error and will never close what it does not know.
        if let Ok(client) = context.client() {
            let _ = context.server.state().close(client, &opened.state_id);
        }
        status::of(error)
    })
}

fn want(arguments: &OpenArgs) -> u32 {
    arguments.share_access & share::WANT_MASK
}

/// The delegation that may be granted: of the kind that the client wishes, and that its access can use.
fn wanted_delegation<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &OpenArgs,
) -> Option<DelegationKind> {
    let by_claim = matches!(arguments.claim, OpenClaim::Null(_) | OpenClaim::Handle);
    if !by_claim || !context.server.delegations() || !context.callbacks_work() {
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

/// What OPEN tells of a delegation. A reason is given to a client that expressed a wish (RFC 8881 §18.16.3).
fn delegation<F: FileSystem>(
    context: &Context<'_, F>,
    opened: &Opened,
    arguments: &OpenArgs,
) -> OpenDelegation {
    match opened.delegation {
        Some((state_id, DelegationKind::Read)) => {
            return OpenDelegation::Read(ReadDelegation {
                state_id,
                recall: false,
                permissions: NO_PERMISSIONS,
            });
        }
        Some((state_id, DelegationKind::Write)) => {
            return OpenDelegation::Write(WriteDelegation {
                state_id,
                recall: false,
                space_limit: SpaceLimit::Size(u64::MAX),
                permissions: NO_PERMISSIONS,
            });
        }
        None => {}
    }
    match want(arguments) {
        share::WANT_NO_PREFERENCE => OpenDelegation::None,
        share::WANT_NO_DELEGATION => OpenDelegation::NoneExt(WhyNoDelegation::NotWanted),
        share::WANT_CANCEL => OpenDelegation::NoneExt(WhyNoDelegation::Cancelled),
        _ if !context.server.delegations() || !context.callbacks_work() => {
            OpenDelegation::NoneExt(WhyNoDelegation::Resource(false))
        }
        _ => OpenDelegation::NoneExt(WhyNoDelegation::Contention(false)),
    }
}
