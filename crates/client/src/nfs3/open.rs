//! Opening in NFSv3, which has no such request: a name is looked up or created, and close-to-open coherence
//! comes from asking for the name and the attributes anew.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use proto::nfs3;

use super::Mount;
use super::convert::{attributes, effect, from_handle};
use super::transport::failure;
use crate::attributes::{Attributes, FileType, SetAttributes};
use crate::error::{Error, Result};
use crate::nfs4;
use crate::node::Node;
use crate::open::{OpenOptions, Opened, Outcome, check_type};
use crate::permission;
use crate::protocol::FoundObject;
use crate::shared::Shared;

/// Opens `name` in `dir`.
pub(crate) async fn open(
    shared: &Arc<Shared>,
    mount: &Mount,
    dir: &Arc<Node>,
    name: &Bytes,
    options: &OpenOptions,
) -> Result<Outcome> {
    if options.create
        && let Some(outcome) = create(shared, mount, dir, name, options).await?
    {
        return Ok(outcome);
    }
    let (node, now) = look_up(shared, mount, dir, name).await?;
    check_type(now.kind)?;
    if now.kind == FileType::Symlink {
        return Ok(Outcome::Symlink);
    }
    check_permission(shared, &node, &now, options).await?;
    if options.truncate && now.size > 0 {
        let empty = SetAttributes { size: Some(0), ..SetAttributes::default() };
        shared.set_attributes(&node, &empty, None).await?;
    }
    Ok(opened(node))
}

/// Opens an object that is known by its handle.
pub(crate) async fn open_object(
    shared: &Arc<Shared>,
    node: &Arc<Node>,
    options: &OpenOptions,
) -> Result<Opened> {
    let now = shared.revalidate_at_open(node).await?;
    check_permission(shared, node, &now, options).await?;
    if options.truncate && now.size > 0 {
        let empty = SetAttributes { size: Some(0), ..SetAttributes::default() };
        shared.set_attributes(node, &empty, None).await?;
    }
    Ok(Opened { node: Arc::clone(node), v4: nfs4::FileState::default(), gate: None })
}

/// CREATE, without looking first. `None` when the name is taken by something that CREATE does not open.
async fn create(
    shared: &Arc<Shared>,
    mount: &Mount,
    dir: &Arc<Node>,
    name: &Bytes,
    options: &OpenOptions,
) -> Result<Option<Outcome>> {
    let set = nfs3::SetAttributes {
        mode: Some(options.mode),
        size: (options.truncate || options.exclusive).then_some(0),
        ..nfs3::SetAttributes::default()
    };
    // GUARDED takes one request where EXCLUSIVE takes two. What it lacks is knowing a repetition of itself,
    // which is made good below.
    let how = match options.exclusive {
        true => nfs3::CreateHow::Guarded(set),
        false => nfs3::CreateHow::Unchecked(set),
    };
    let args = nfs3::CreateArgs { place: mount.place(&dir.handle, name)?, how };
    let connections = mount.transport.generations();
    let asked = Instant::now();
    let outcome = mount.transport.reply(&args).await;
    let reply = shared.or_forget(dir, name, outcome)?;
    let ok = match reply.into_result() {
        Ok(ok) => ok,
        Err((nfs3::Status::Exists | nfs3::Status::IsDirectory, _)) if !options.exclusive => return Ok(None),
        Err((status, fail)) => {
            shared.learn_effect(dir, effect(&fail.dir), asked);
            shared.forget_name(dir, name);
            if status == nfs3::Status::Exists && mount.transport.generations() != connections {
                // The first answer may have been lost with a connection, and this one be about our own file.
                return Err(Error::UncertainOutcome { operation: "CREATE" });
            }
            return Err(failure(nfs3::Procedure::Create, status));
        }
    };
    shared.learn_effect(dir, effect(&ok.dir), asked);
    let found = match (ok.object, ok.attributes) {
        (Some(object), Some(known)) => {
            FoundObject { handle: from_handle(&object), attributes: attributes(&known) }
        }
        _ => mount.look_up_one(&dir.handle, name).await?,
    };
    check_type(found.attributes.kind)?;
    let node = match options.truncate {
        true => shared.learn_overwritten(dir, name, &found, asked),
        false => shared.learn_opened(dir, name, &found, asked),
    };
    Ok(Some(opened(node)))
}

/// The object, with attributes that are newer than the call. What is remembered of the name is not believed:
/// LOOKUP costs no more than the GETATTR that would be needed in any case, and tells both.
async fn look_up(
    shared: &Arc<Shared>,
    mount: &Mount,
    dir: &Arc<Node>,
    name: &Bytes,
) -> Result<(Arc<Node>, Attributes)> {
    let asked = Instant::now();
    match mount.look_up_one(&dir.handle, name).await {
        Ok(found) => {
            let node = shared.learn_opened(dir, name, &found, asked);
            Ok((node, found.attributes))
        }
        Err(error) => {
            if error.is_not_found() {
                shared.learn_name(dir, name, None, asked);
            }
            Err(error)
        }
    }
}

/// Refuses what READ or WRITE would be refused later. Where the mode bits permit, nothing is asked.
async fn check_permission(
    shared: &Arc<Shared>,
    node: &Arc<Node>,
    now: &Attributes,
    options: &OpenOptions,
) -> Result<()> {
    if permission::mode_permits(now, &shared.options, options) {
        return Ok(());
    }
    let needed = permission::needed(options);
    match shared.access(node, needed).await?.contains(needed) {
        true => Ok(()),
        false => Err(failure(nfs3::Procedure::Access, nfs3::Status::AccessDenied)),
    }
}

fn opened(node: Arc<Node>) -> Outcome {
    Outcome::Opened(Opened { node, v4: nfs4::FileState::default(), gate: None })
}
