//! Which files a client may be delegated for writing, by the users that it acts for.
//!
//! A client sends what it does under a delegation with the holder's credential and stateid, and the server
//! cannot tell whose request it is: Linux's client truncates so for `open(O_RDONLY | O_TRUNC)` by a user
//! who may only read. So a file is delegated for writing only where every user of the client may write it.
//! A user is known once it has opened a file or asked for access to one, which a client does before it lets
//! the user open a file that is delegated.

use proto::nfs4::Status;
use state::KnownUsers;
use vfs::{Access, Attributes, FileKind, FileSystem, Identity};

use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::status;

/// Permission to write for the owner, the group and others.
const ALL_WRITE: u32 = 0o222;

/// True when all users of the client that are known may write a file that `opener` may write.
pub(crate) fn all_may_write<F: FileSystem>(
    context: &Context<'_, F>,
    opener: &Identity,
    file: &Attributes,
) -> Result<bool, Status> {
    let is_only = match context.client()?.users().known() {
        KnownUsers::None => true,
        KnownUsers::One(uid) => uid == opener.uid || uid == file.uid,
        KnownUsers::Several => false,
    };
    Ok(is_only || file.mode & ALL_WRITE == ALL_WRITE)
}

/// Notes the user of an ACCESS to a file, and waits until the client has no write delegation that it would
/// abuse.
pub(crate) async fn before_access<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    user: &Identity,
) -> Result<(), Status> {
    // Without a session only a reply is made again.
    let Ok(client) = context.client() else { return Ok(()) };
    let users = client.users();
    if !users.knows(user.uid) {
        // Root looks at directories before any user uses a mount, and may be squashed.
        let found = object.attributes().await.map_err(status::of)?;
        if found.kind == FileKind::Regular {
            users.note(user.uid);
        }
    }
    without_write_delegation(context, object, user).await
}

/// Recalls the client's own write delegation of a file that this user of it may not write, and waits for it.
pub(crate) async fn without_write_delegation<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    user: &Identity,
) -> Result<(), Status> {
    let (client, file, services) = (context.client()?.id(), object.file(), context.server.services());
    if !services.state().holds_write_delegation(client, file) {
        return Ok(());
    }
    let granted =
        object.fs().access(object.request(user), &object.node, Access::MODIFY).await.map_err(status::of)?;
    if granted.contains(Access::MODIFY) {
        return Ok(());
    }
    services
        .delegations()
        .hold(|| services.state().check_no_own_write_delegation(client, file, services.now()))
        .await
}
