//! What became of an intent without a result: the file system tells, before the first request.

use bytes::Bytes;
use vfs::{Error, FileSystem, Name, Request, XattrName};

use super::record::{Change, Entry, Moved, Named, Setting, Xattr};
use crate::exports::ExportSet;

/// How an intent ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// It was carried out. The object that a name was given to, if it was one.
    Done(Option<vfs::Handle>),
    /// It was not.
    NotDone,
    /// It cannot be told.
    Ambiguous,
}

/// Asks the file system.
pub(crate) async fn resolve<F: FileSystem>(exports: &ExportSet<F>, change: &Change) -> Resolved {
    let outcome = match change {
        Change::Remove(removed) => remove(exports, removed).await,
        Change::Rename(moved) => rename(exports, moved).await,
        Change::Link(linked) => link(exports, linked).await,
        Change::Create(entry) | Change::Open(entry) => create(exports, entry).await,
        Change::SetAttributes(setting) => set_attributes(exports, setting).await,
        Change::SetXattr(set) => {
            get_xattr(exports, &set.xattr).await.map(|found| done_if(found.as_ref() == Some(&set.value)))
        }
        Change::RemoveXattr(removed) => {
            get_xattr(exports, removed).await.map(|found| done_if(found.is_none()))
        }
    };
    outcome.unwrap_or(Resolved::Ambiguous)
}

fn done_if(is_done: bool) -> Resolved {
    if is_done { Resolved::Done(None) } else { Resolved::NotDone }
}

async fn remove<F: FileSystem>(exports: &ExportSet<F>, removed: &Named) -> vfs::Result<Resolved> {
    let found = lookup(exports, &removed.at).await?;
    Ok(done_if(!is(found, &removed.object)))
}

async fn rename<F: FileSystem>(exports: &ExportSet<F>, moved: &Moved) -> vfs::Result<Resolved> {
    let is_old = is(lookup(exports, &moved.from).await?, &moved.object);
    let is_new = is(lookup(exports, &moved.to).await?, &moved.object);
    Ok(match (is_old, is_new) {
        (true, _) => Resolved::NotDone,
        (false, true) => Resolved::Done(None),
        // Neither: somebody else was here as well.
        (false, false) => Resolved::Ambiguous,
    })
}

async fn link<F: FileSystem>(exports: &ExportSet<F>, linked: &Named) -> vfs::Result<Resolved> {
    let found = lookup(exports, &linked.at).await?;
    Ok(done_if(is(found, &linked.object)))
}

async fn create<F: FileSystem>(exports: &ExportSet<F>, entry: &Entry) -> vfs::Result<Resolved> {
    let found = lookup(exports, entry).await?;
    Ok(found.map_or(Resolved::NotDone, |handle| Resolved::Done(Some(handle))))
}

async fn set_attributes<F: FileSystem>(exports: &ExportSet<F>, setting: &Setting) -> vfs::Result<Resolved> {
    let (export, node) = exports.find(Request::of_server(), &setting.object).await?;
    let now = export.file_system().attributes(Request::of_server(), &node).await?;
    Ok(match (now.change == setting.before, setting.is_visible(&now)) {
        (true, _) => Resolved::NotDone,
        (false, true) => Resolved::Done(None),
        (false, false) => Resolved::Ambiguous,
    })
}

/// The value of an extended attribute, if there is one.
async fn get_xattr<F: FileSystem>(exports: &ExportSet<F>, xattr: &Xattr) -> vfs::Result<Option<Bytes>> {
    let (export, node) = exports.find(Request::of_server(), &xattr.object).await?;
    let name = XattrName::new(&xattr.name)?;
    match export.file_system().get_xattr(Request::of_server(), &node, name).await {
        Ok(value) => Ok(Some(value)),
        Err(Error::NoXattr) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is(found: Option<vfs::Handle>, object: &[u8]) -> bool {
    found.is_some_and(|handle| handle.as_bytes() == object)
}

/// The handle of the object at a name, if there is one. Of a directory that is gone, or cannot be found,
/// nothing is told.
async fn lookup<F: FileSystem>(exports: &ExportSet<F>, entry: &Entry) -> vfs::Result<Option<vfs::Handle>> {
    let (export, directory) = exports.find(Request::of_server(), &entry.directory).await?;
    let fs = export.file_system();
    match fs.lookup(Request::of_server(), &directory, Name::new(&entry.name)?).await {
        Ok((node, _)) => Ok(Some(fs.handle(&node))),
        Err(Error::NotFound | Error::Stale) => Ok(None),
        Err(error) => Err(error),
    }
}
