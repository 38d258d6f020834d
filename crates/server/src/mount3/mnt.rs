//! MNT (RFC 1813 §5.2.1).

use proto::mount3::{DirPath, MntOk, MntReply, PATH_BYTES_MAX, Status};
use proto::nfs3::FileHandle;
use vfs::{Error, FileKind, FileSystem, Name};

use crate::exports::{Caller, Denied, ExportPath, ExportSet};

/// The path as it is remembered, and what the client gets; or why not.
pub(super) type Outcome = Result<(ExportPath, MntOk), Status>;

/// The most names that are looked up for one path, those of symbolic links included.
const LOOKUPS_MAX: usize = 1024;

/// Finds the directory at `path`: the root of an export or a directory below it.
///
/// The path is walked with the server's own rights, as mounting is done by root, which most exports squash:
/// a handle opens nothing by itself, every use of it is checked. Symbolic links are followed, in the tree
/// of exports.
pub(super) async fn run<F: FileSystem>(
    exports: &ExportSet<F>,
    caller: &Caller<'_>,
    path: &DirPath,
) -> Outcome {
    let DirPath(path) = path;
    if path.len() > PATH_BYTES_MAX as usize {
        return Err(Status::NameTooLong);
    }
    let path = ExportPath::of_client(path).map_err(status)?;
    let (mut at, mut lookups) = (path.clone(), LOOKUPS_MAX);
    loop {
        match walk(exports, caller, &at, &mut lookups).await? {
            Walked::Directory(found) => return Ok((path, found)),
            Walked::Elsewhere(next) => at = next,
        }
    }
}

/// Where a path leads.
enum Walked {
    Directory(MntOk),
    /// Through a symbolic link, which this path has its target for.
    Elsewhere(ExportPath),
}

/// Walks to the first symbolic link, or to the end.
async fn walk<F: FileSystem>(
    exports: &ExportSet<F>,
    caller: &Caller<'_>,
    path: &ExportPath,
    lookups: &mut usize,
) -> Result<Walked, Status> {
    let (export, mut components) = exports.at(path);
    let rule = export.rule(caller).map_err(|denied| match denied {
        Denied::Client | Denied::Port | Denied::Flavor | Denied::Transport => Status::AccessDenied,
        Denied::Later => Status::ServerFault,
    })?;
    let fs = export.file_system();
    let request = caller.line.request_of_server();
    let mut node = fs.root();
    while let Some(name) = components.next() {
        *lookups = lookups.checked_sub(1).ok_or(Status::Invalid)?;
        let (child, attributes) = fs.lookup(request, &node, name).await.map_err(status)?;
        match attributes.kind {
            FileKind::Directory => node = child,
            FileKind::Symlink => {
                let target = fs.read_link(request, &child).await.map_err(status)?;
                let rest: Vec<_> = components.collect();
                let names: Vec<_> = path.components().collect();
                let directory = &names[..names.len() - rest.len() - 1];
                return followed(directory, &target, &rest).map(Walked::Elsewhere);
            }
            _ => return Err(Status::NotDirectory),
        }
    }
    let handle = FileHandle::new(fs.handle(&node).as_bytes()).expect("a back end's handle fits NFSv3");
    let flavors = rule.flavors.iter().map(|flavor| flavor.number()).collect();
    Ok(Walked::Directory(MntOk { handle, flavors }))
}

/// The path through a symbolic link: its target, seen from the `directory` that the link is in, and the
/// `rest` of the names. An absolute target begins at the root of the exports, as it does for an NFSv4
/// client.
fn followed(directory: &[Name<'_>], target: &[u8], rest: &[Name<'_>]) -> Result<ExportPath, Status> {
    let mut above = if target.starts_with(b"/") { 0 } else { directory.len() };
    let mut names = target.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")).peekable();
    // The names before the link are directories; `..` after a name that may be a link is refused below.
    while names.next_if(|name| *name == b"..").is_some() {
        above = above.saturating_sub(1);
    }
    let directory = directory[..above].iter().map(Name::as_bytes);
    let all: Vec<_> = directory.chain(names).chain(rest.iter().map(Name::as_bytes)).collect();
    let path = all.join(&b'/');
    if path.len() > PATH_BYTES_MAX as usize {
        return Err(Status::NameTooLong);
    }
    ExportPath::of_client(&path).map_err(status)
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
