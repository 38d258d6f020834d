//! OPEN of a name that may have to be made (RFC 8881 §18.16.3).

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeId, Bitmap};
use proto::nfs4::{CreateHow, Status, Verifier};
use vfs::{Attributes, CreateMode, FileSystem, Name, SetAttributes, Settling};

use crate::exclusive::verifier_of;
use crate::nfs4::attributes;
use crate::nfs4::engine::change::ChangeBefore;
use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::name::checked_name;
use crate::nfs4::engine::status;
use crate::nfs4::names::lookup;
use crate::nfs4::state::open::Target;
use crate::persistent::{Change, Named, Repetition, SlotContents, SlotRecord};

/// How often a name is looked up again that somebody else makes or removes at the same time.
const ATTEMPTS_MAX: usize = 3;

/// The file called `name`, made if it is not there.
pub(crate) async fn create<'e, F: FileSystem>(
    context: &Context<'e, F>,
    name: &Bytes,
    how: &CreateHow,
) -> Result<Target<'e, F>, Status> {
    let directory = context.object()?;
    if !lookup::accepts(context, directory)? {
        return Err(Status::WrongSecurity);
    }
    context.writable(directory)?;
    let checked = checked_name(name)?;
    let change = ChangeBefore::of(directory).await?;
    let (mode, values) = match how {
        CreateHow::Unchecked(values) | CreateHow::Guarded(values) => (
            CreateMode::Guarded(attributes::to_set(context, directory, values, attributes::SETTABLE).await?),
            values.present(),
        ),
        // RFC 8881 §18.16.3: GUARDED4 is as good there.
        CreateHow::Exclusive(_) if context.actor.outlives_crashes() => return Err(Status::Invalid),
        CreateHow::Exclusive(_) | CreateHow::Exclusive41(..)
            if !directory.fs().capabilities().exclusive_create =>
        {
            return Err(Status::NotSupported);
        }
        CreateHow::Exclusive(verifier) => {
            let (verifier, attributes) = (own(context, *verifier)?, SetAttributes::default());
            (CreateMode::Exclusive { verifier, attributes }, EXCLUSIVE_TIMES)
        }
        CreateHow::Exclusive41(verifier, values) => {
            let attributes =
                attributes::to_set(context, directory, values, attributes::SETTABLE_EXCLUSIVELY).await?;
            let verifier = own(context, *verifier)?;
            (CreateMode::Exclusive { verifier, attributes }, values.present() | EXCLUSIVE_TIMES)
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
                    let settling = Settling::DONE;
                    return Ok(Target { object, change, created: None, attributes_set, truncate, settling });
                }
                Err(Status::NoEntry) => {}
                Err(status) => return Err(status),
            }
        }
        match make(context, directory, checked, &mode).await {
            Ok((object, attributes, settling)) => {
                let change = change.after(directory).await?;
                let (created, attributes_set, truncate) = (Some(attributes), values, false);
                return Ok(Target { object, change, created, attributes_set, truncate, settling });
            }
            Err(Status::Exists) if is_repetition(context, directory, checked, how).await => {
                let (object, attributes) = made_before(context, directory, checked, &mode).await?;
                let change = change.after(directory).await?;
                let (created, attributes_set, truncate) = (Some(attributes), values, false);
                let settling = Settling::DONE;
                return Ok(Target { object, change, created, attributes_set, truncate, settling });
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

/// The verifier that the back end keeps of an exclusive create by this client.
fn own<F: FileSystem>(context: &Context<'_, F>, chosen: Verifier) -> Result<[u8; 8], Status> {
    Ok(verifier_of(context.client()?.owner(), chosen.0))
}

async fn make<'e, F: FileSystem>(
    context: &Context<'e, F>,
    directory: &Object<'e, F>,
    name: Name<'_>,
    mode: &CreateMode,
) -> Result<(Object<'e, F>, Attributes, Settling), Status> {
    let identity = context.identity(directory)?;
    // A RENAME that has found nobody to ask under this name must not replace what is made now.
    let _name = conflict::take_names(context, [(directory, name)]).await?;
    let _entry = conflict::before_entry_change(context, directory).await?;
    if context.is_persistent() && directory.is_free(name).await {
        context.intend(Change::Open(directory.entry(name))).await?;
    }
    let made = directory.fs().begin_create(directory.request(&identity), &directory.node, name, mode).await;
    let (made, settling) = made.map_err(status::of)?;
    Ok((directory.beside(made.node), made.attributes, settling))
}

/// True when this OPEN has made the file before the server restarted, and its answer was lost. No other is
/// taken for it later.
async fn is_repetition<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &Object<'_, F>,
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
    let services = context.server.services();
    let Some((session, slot)) = repetitions.take(Repetition { client, made }, services.now()) else {
        return false;
    };
    // Where this cannot be written, the next server may take one more OPEN for a repetition.
    let answered = SlotRecord { sequence: 0, digest: 0, kept: SlotContents::Nothing };
    let _ = services.recovery().keep_slot(session, slot, &answered).await;
    true
}

/// The file that an OPEN has made before, with the attributes that it may not have got any more.
async fn made_before<'e, F: FileSystem>(
    context: &Context<'e, F>,
    directory: &Object<'_, F>,
    name: Name<'_>,
    mode: &CreateMode,
) -> Result<(Object<'e, F>, Attributes), Status> {
    let (file, found) = lookup::child(context, name.as_bytes()).await?;
    let CreateMode::Guarded(set) = mode else { return Ok((file, found)) };
    let identity = context.identity(directory)?;
    // Its data may have come since.
    let set = SetAttributes { size: None, ..*set };
    let attributes =
        file.fs().set_attributes(file.request(&identity), &file.node, &set).await.map_err(status::of)?;
    Ok((file, attributes))
}
