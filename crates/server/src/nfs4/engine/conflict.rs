//! What may stand in the way of an operation on data, attributes or names: share reservations and
//! delegations.

use proto::nfs4::{StateId, Status};
use state::{Changing, FileId, Io, NameChange, Using};
use vfs::{FileSystem, Name};

use crate::delegations::TakenNames;
use crate::nfs4::engine::context::{Context, Object};

/// Checks a READ, and waits for write delegations of others where its stateid does not say that there are
/// none.
pub(crate) async fn before_read<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    state_id: &StateId,
) -> Result<Option<Using>, Status> {
    let client = context.client()?;
    let file = object.file();
    let using = begin(context, file, state_id, Io::Read).await?;
    if state_id.is_special() {
        context.server.services().delegations().before_read(file, Some(client.id())).await?;
    }
    Ok(using)
}

/// What must not happen as long as a WRITE is under way: that a delegation is granted, or that the writer's
/// is revoked.
pub(crate) struct Writing<'a> {
    _changing: Option<Changing<'a>>,
    _using: Option<Using>,
}

/// Checks a WRITE. Under an open no delegation of others is left; without one they are recalled.
pub(crate) async fn before_write<'a, F: FileSystem>(
    context: &'a Context<'_, F>,
    object: &Object<'_, F>,
    state_id: &StateId,
) -> Result<Writing<'a>, Status> {
    let client = context.client()?;
    let file = object.file();
    let using = begin(context, file, state_id, Io::Write).await?;
    let changing = if state_id.is_special() {
        Some(context.server.services().delegations().begin_change(file, Some(client.id())).await?)
    } else {
        None
    };
    Ok(Writing { _changing: changing, _using: using })
}

/// Waits for the delegations of others before attributes or names change. None is granted while the guard
/// lives.
pub(crate) async fn before_change<'a, F: FileSystem>(
    context: &'a Context<'_, F>,
    object: &Object<'_, F>,
) -> Result<Changing<'a>, Status> {
    let client = context.client()?.id();
    context.server.services().delegations().begin_change(object.file(), Some(client)).await
}

/// Waits for the delegations of a directory that others hold before its entries change. None is granted while
/// the guard lives.
pub(crate) async fn before_entry_change<'a, F: FileSystem>(
    context: &'a Context<'_, F>,
    directory: &Object<'_, F>,
) -> Result<Changing<'a>, Status> {
    let client = context.client()?.id();
    context.server.services().delegations().begin_entry_change(directory.file(), Some(client)).await
}

/// Waits for the delegations of others before names change: those of the directories and of the objects
/// that get, lose or change a name. Checks as well that nobody's denial of writing keeps the names of
/// `removed`. Nothing is granted while the outcome lives.
pub(crate) async fn before_name_change<'a, F: FileSystem>(
    context: &'a Context<'_, F>,
    names: &TakenNames,
    directories: &[&Object<'_, F>],
    objects: &[&Object<'_, F>],
    removed: Option<&Object<'_, F>>,
) -> Result<Vec<Changing<'a>>, Status> {
    let client = context.client()?.id();
    let files = |objects: &[&Object<'_, F>]| objects.iter().map(|object| object.file()).collect();
    let change = NameChange {
        directories: files(directories),
        objects: files(objects),
        removed: removed.map(Object::file),
    };
    context.server.services().delegations().begin_name_change(names, &change, Some(client)).await
}

/// Waits until nobody else is about to take one of these names away, and keeps it so while the outcome lives.
pub(crate) async fn take_names<F: FileSystem, const N: usize>(
    context: &Context<'_, F>,
    names: [(&Object<'_, F>, Name<'_>); N],
) -> Result<TakenNames, Status> {
    let names = names.map(|(directory, name)| (directory.file(), name.as_bytes()));
    context.server.services().delegations().take_names(names).await
}

/// Checks that a stateid allows to read or write the file, and lets its use begin.
pub(crate) async fn begin<F: FileSystem>(
    context: &Context<'_, F>,
    file: FileId,
    state_id: &StateId,
    io: Io,
) -> Result<Option<Using>, Status> {
    let (client, services) = (context.client()?, context.server.services());
    services
        .delegations()
        .hold(|| services.state().begin_io(client, file, state_id, io, services.now()))
        .await
}
