//! LOOKUP (RFC 1813 §3.3.3).

use proto::nfs3::{LookupArgs, LookupFail, LookupOk, Status};
use vfs::{Access, Attributes, Error, FileKind, FileSystem};

use super::context::{Context, Outcome, bare};
use super::object::{Object, to_wire};
use super::{names, status};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: LookupArgs,
) -> Outcome<LookupArgs> {
    let dir = context.object(&arguments.what.dir).await.map_err(bare)?;
    let found = match &arguments.what.name[..] {
        b"." => itself(&dir).await,
        b".." => parent(&dir).await,
        name => child(&dir, name).await,
    };
    match found {
        Ok((node, now)) => Ok(LookupOk {
            object: to_wire(&dir.fs().handle(&node)),
            attributes: context.found(&dir, &node, &now),
            dir: dir.post_op().await,
        }),
        Err(status) => Err((status, LookupFail { dir: dir.post_op().await })),
    }
}

async fn child<F: FileSystem>(dir: &Object<'_, F>, name: &[u8]) -> Result<(F::Node, Attributes), Status> {
    let name = names::checked(name, Status::AccessDenied)?;
    dir.fs().lookup(dir.request(), &dir.node, name).await.map_err(|error| match error {
        Error::Invalid => Status::AccessDenied,
        Error::IsSymlink => Status::NotDirectory,
        other => status::of_finding(other),
    })
}

/// `.` is the directory itself, for who may search it (RFC 1813 §3.2 item 2).
async fn itself<F: FileSystem>(dir: &Object<'_, F>) -> Result<(F::Node, Attributes), Status> {
    let now = dir.attributes().await?;
    if now.kind != FileKind::Directory {
        return Err(Status::NotDirectory);
    }
    let granted = dir.fs().access(dir.request(), &dir.node, Access::LOOKUP).await.map_err(status::of)?;
    if granted.contains(Access::LOOKUP) { Ok((dir.node.clone(), now)) } else { Err(Status::AccessDenied) }
}

/// `..` is the directory above (RFC 1813 §3.2 item 3); nothing is above the root of an export but itself.
async fn parent<F: FileSystem>(dir: &Object<'_, F>) -> Result<(F::Node, Attributes), Status> {
    match dir.fs().lookup_parent(dir.request(), &dir.node).await {
        Ok(above) => {
            let now = dir.fs().attributes(dir.request(), &above).await.map_err(status::of)?;
            Ok((above, now))
        }
        Err(Error::NotFound) => itself(dir).await,
        Err(error) => Err(status::of_finding(error)),
    }
}
