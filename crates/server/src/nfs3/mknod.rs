//! MKNOD (RFC 1813 §3.3.11).

use proto::nfs3::{MkNodArgs, MkNodData, MkNodFail, MkNodOk, Status};
use vfs::{Attributes, FileSystem, NodeKind};

use super::context::{Context, Outcome, bare};
use super::object::{Object, to_wire};
use super::{attributes, names, status};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: MkNodArgs,
) -> Outcome<MkNodArgs> {
    let dir = context.object(&arguments.place.dir).await.map_err(bare)?;
    let before = dir.before().await;
    match make(context, &dir, &arguments).await {
        Ok((node, now)) => Ok(MkNodOk {
            object: Some(to_wire(&dir.fs().handle(&node))),
            attributes: Some(attributes::to_wire(&now)),
            dir: dir.around(before).await,
        }),
        Err(status) => Err((status, MkNodFail { dir: dir.around(before).await })),
    }
}

async fn make<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    dir: &Object<'_, F>,
    arguments: &MkNodArgs,
) -> Result<(F::Node, Attributes), Status> {
    let name = names::checked(&arguments.place.name, Status::Exists)?;
    dir.writable()?;
    let (kind, set) = match &arguments.what {
        MkNodData::Block(data) => (NodeKind::Block(data.device.major, data.device.minor), &data.attributes),
        MkNodData::Character(data) => {
            (NodeKind::Character(data.device.major, data.device.minor), &data.attributes)
        }
        MkNodData::Socket(set) => (NodeKind::Socket, set),
        MkNodData::Fifo(set) => (NodeKind::Fifo, set),
        MkNodData::Other(_) => return Err(Status::BadType),
    };
    if !dir.fs().capabilities().special_files {
        return Err(Status::NotSupported);
    }
    let set = dir.to_set(set);
    let _entry = context.before_entry_change(dir).await?;
    dir.fs().make_node(dir.request(), &dir.node, name, kind, &set).await.map_err(status::of_making)
}
