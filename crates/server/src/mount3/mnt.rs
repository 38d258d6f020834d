//! MNT (RFC 1813 §5.2.1).

use proto::mount3::{DirPath, MntOk, MntReply, PATH_BYTES_MAX, Status};
use proto::nfs3::FileHandle;
use vfs::{Error, FileKind, FileSystem, Identity};

use crate::exports::{Caller, Denied, ExportPath, ExportSet};

/// The path as it is remembered, and what the client gets; or why not.
pub(super) type Outcome = Result<(ExportPath, MntOk), Status>;

/// Finds the directory at `path`: the root of an export or a directory below it.
///
/// The path is walked with the server's own rights, as mounting is done by root, which most exports squash: a
/// handle opens nothing by itself, every use of it is checked. Symbolic links are not followed.
pub(super) async fn run<F: FileSystem>(
    exports: &ExportSet<F>,
    caller: &Caller<'_>,
    path: &DirPath,
) -> Outcome {
    let DirPath(path) = path;
    if path.len() > PATH_BYTES_MAX as usize {
        return Err(Status::NameTooLong);
    }
    let path = ExportPath::new(path).map_err(status)?;
    let (export, components) = exports.at(&path);
    let rule = export.rule(caller).map_err(|denied| match denied {
        Denied::Client | Denied::Port | Denied::Flavor => Status::AccessDenied,
        Denied::Later => Status::ServerFault,
    })?;
    let fs = export.file_system();
    let who = Identity::root();
    let mut node = fs.root();
    for name in components {
        let (child, attributes) = fs.lookup(&who, &node, name).await.map_err(status)?;
        if attributes.kind != FileKind::Directory {
            return Err(Status::NotDirectory);
        }
        node = child;
    }
    let handle = FileHandle::new(fs.handle(&node).as_bytes()).expect("a back end's handle fits NFSv3");
    let flavors = rule.flavors.iter().map(|flavor| flavor.number()).collect();
    Ok((path, MntOk { handle, flavors }))
}

/// On the wire.
pub(super) fn reply(outcome: Outcome) -> MntReply {
    match outcome {
        Ok((_, ok)) => MntReply::Ok(ok),
        Err(status) => MntReply::Err(status),
    }
}

fn status(error: Error) -> Status {
    match error {
        Error::NotFound => Status::NoEntry,
        Error::NotDirectory => Status::NotDirectory,
        Error::AccessDenied => Status::AccessDenied,
        Error::NotPermitted => Status::NotPermitted,
        Error::NameTooLong => Status::NameTooLong,
        Error::InvalidName | Error::Invalid => Status::Invalid,
        Error::NotSupported => Status::NotSupported,
        Error::Io(error) => {
            tracing::error!(%error, "the file system failed");
            Status::Io
        }
        other => {
            tracing::warn!(error = %other, "a path could not be mounted");
            Status::ServerFault
        }
    }
}
