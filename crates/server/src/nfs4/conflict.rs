//! What may stand in the way of an operation on data, attributes or names: share reservations and delegations.

use proto::nfs4::{StateId, Status};
use state::{Changing, Io};
use vfs::FileSystem;

use super::context::{Context, Object};
use crate::recall::NotYet;

/// Checks a READ, and waits for write delegations of others where its stateid does not say that there are none.
pub(crate) async fn before_read<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<F>,
    state_id: &StateId,
) -> Result<(), Status> {
    let client = context.client()?;
    let file = object.file();
    context.server.state().check_io(client, file, state_id, Io::Read)?;
    if !state_id.is_special() {
        return Ok(());
    }
    context.server.recaller().before_read(file, Some(client.id())).await.map_err(delay)
}

/// Checks a WRITE. Under an open no delegation of others is left; without one they are recalled.
pub(crate) async fn before_write<'a, F: FileSystem>(
    context: &'a Context<'_, F>,
    object: &Object<F>,
    state_id: &StateId,
) -> Result<Option<Changing<'a>>, Status> {
    let client = context.client()?;
    let file = object.file();
    context.server.state().check_io(client, file, state_id, Io::Write)?;
    if !state_id.is_special() {
        return Ok(None);
    }
    context.server.recaller().begin_change(file, Some(client.id())).await.map(Some).map_err(delay)
}

/// Waits for the delegations of others before attributes or names change. None is granted while the guard lives.
pub(crate) async fn before_change<'a, F: FileSystem>(
    context: &'a Context<'_, F>,
    object: &Object<F>,
) -> Result<Changing<'a>, Status> {
    let client = context.client()?.id();
    context.server.recaller().begin_change(object.file(), Some(client)).await.map_err(delay)
}

/// The status for a recall that takes too long: the client comes again.
pub(crate) fn delay(_: NotYet) -> Status {
    Status::Delay
}
