//! The longer defaults of [`FileSystem`]'s methods: the answers of a read-only back end.

use crate::{
    Access, Attributes, Committed, CreateMode, Created, Error, FileKind, FileSystem, Name, Request, Result,
    permissions,
};

/// Which of `wanted` the mode, owner and group of `node` give to the caller: none to change a read-only back
/// end.
pub(crate) async fn access_by_mode<F: FileSystem + ?Sized>(
    fs: &F,
    request: Request<'_>,
    node: &F::Node,
    wanted: Access,
) -> Result<Access> {
    let found = fs.attributes(request, node).await?;
    let granted =
        permissions::granted(found.kind, wanted, |bits| permissions::allows(request.identity, &found, bits));
    let changes = Access::MODIFY.0 | Access::EXTEND.0 | Access::DELETE.0;
    Ok(if fs.capabilities().changes { granted } else { Access(granted.0 & !changes) })
}

/// Commits a file without unstable writes.
pub(crate) async fn commit_nothing<F: FileSystem + ?Sized>(
    fs: &F,
    request: Request<'_>,
    node: &F::Node,
) -> Result<Committed> {
    check_regular(&fs.attributes(request, node).await?)?;
    Ok(Committed { verifier: fs.write_verifier() })
}

/// Opens the file at `(dir, name)` as [`FileSystem::create`] does where nothing can be made.
pub(crate) async fn open_existing<F: FileSystem + ?Sized>(
    fs: &F,
    request: Request<'_>,
    dir: &F::Node,
    name: Name<'_>,
    mode: &CreateMode,
) -> Result<Created<F::Node>> {
    let (node, attributes) = match fs.lookup(request, dir, name).await {
        Err(Error::NotFound) => return Err(Error::ReadOnly),
        found => found?,
    };
    let CreateMode::Unchecked(set) = mode else { return Err(Error::Exists) };
    check_regular(&attributes)?;
    if set.size == Some(0) { Err(Error::ReadOnly) } else { Ok(Created { node, attributes, created: false }) }
}

fn check_regular(object: &Attributes) -> Result<()> {
    match object.kind {
        FileKind::Regular => Ok(()),
        FileKind::Directory => Err(Error::IsDirectory),
        FileKind::Symlink => Err(Error::IsSymlink),
        _ => Err(Error::WrongType),
    }
}
