//! CREATE (RFC 1813 §3.3.8).

use proto::nfs3::{CreateArgs, CreateFail, CreateHow, CreateOk, Status};
use vfs::{CreateMode, Created, Error, FileSystem, SetAttributes};

use super::context::{Context, Outcome, bare};
use super::object::{Object, to_wire};
use super::{attributes, names, status};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: CreateArgs,
) -> Outcome<CreateArgs> {
    let dir = context.object(&arguments.place.dir).await.map_err(bare)?;
    let before = dir.before().await;
    match create(context, &dir, &arguments).await {
        Ok(created) => Ok(CreateOk {
            object: Some(to_wire(&dir.fs().handle(&created.node))),
            attributes: Some(attributes::to_wire(&created.attributes)),
            dir: dir.around(before).await,
        }),
        Err(status) => Err((status, CreateFail { dir: dir.around(before).await })),
    }
}

async fn create<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    dir: &Object<'_, F>,
    arguments: &CreateArgs,
) -> Result<Created<F::Node>, Status> {
    let name = names::checked(&arguments.place.name, Status::Exists)?;
    dir.writable()?;
    let mode = match arguments.how {
        CreateHow::Unchecked(set) => CreateMode::Unchecked(dir.to_set(&set)),
        CreateHow::Guarded(set) => CreateMode::Guarded(dir.to_set(&set)),
        CreateHow::Exclusive(_) if !dir.fs().capabilities().exclusive_create => {
            return Err(Status::NotSupported);
        }
        // The attributes follow in a SETATTR.
        CreateHow::Exclusive(verifier) => {
            let verifier = context.exclusive_verifier(verifier.0);
            CreateMode::Exclusive { verifier, attributes: SetAttributes::default() }
        }
    };
    if let CreateMode::Unchecked(SetAttributes { size: Some(0), .. }) = mode {
        // Truncates what is there.
        let _changing = context.before_write_name(dir, name).await?;
    }
    // A RENAME that has found nobody to ask under this name must not replace what is made now.
    let _name = context.take_names([(dir, name)]).await?;
    let _entry = context.before_entry_change(dir).await?;
    dir.fs().create(dir.request(), &dir.node, name, &mode).await.map_err(|error| match error {
        // The name is taken by something that is no file.
        Error::IsDirectory | Error::IsSymlink | Error::WrongType => Status::Exists,
        other => status::of_making(other),
    })
}
