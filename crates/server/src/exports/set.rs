//! All exports of a server at one time.

use std::sync::Arc;

use rpc::{AuthStatus, Credential, Refusal};
use vfs::{Error, FileSystem, Name, Result};

use super::{Caller, Denied, Export, ExportPath};

/// The exports, of which one is the root `/`. Never changes: a request works with one set from beginning to end.
#[derive(Debug)]
pub struct ExportSet<F> {
    /// The deepest path first.
    list: Vec<Arc<Export<F>>>,
    root: Arc<Export<F>>,
    /// There were others before.
    has_former: bool,
}

/// Exports that cannot stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidExports {
    /// None is `/`.
    #[error("no export has the path /")]
    NoRoot,
    /// Two have the same path or id.
    #[error("two exports have the same path or id")]
    Twice,
}

/// Why a handle leads nowhere.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    /// `BadHandle` when no back end issued it; else what the back end that did says.
    #[error(transparent)]
    Handle(#[from] Error),
    /// The caller may not use the export.
    #[error(transparent)]
    Denied(#[from] Denied),
}

impl<F: FileSystem> ExportSet<F> {
    /// The given exports.
    ///
    /// # Errors
    /// When none is `/` or two are at the same place.
    pub fn new(list: Vec<Export<F>>) -> std::result::Result<Self, InvalidExports> {
        let mut list: Vec<_> = list.into_iter().map(Arc::new).collect();
        for (index, export) in list.iter().enumerate() {
            let others = &list[index + 1..];
            if others.iter().any(|other| other.path() == export.path() || other.id() == export.id()) {
                return Err(InvalidExports::Twice);
            }
        }
        list.sort_by_key(|export| std::cmp::Reverse(export.path().components().count()));
        let root = list.iter().find(|export| *export.path() == ExportPath::root());
        let root = Arc::clone(root.ok_or(InvalidExports::NoRoot)?);
        Ok(Self { list, root, has_former: false })
    }

    /// Exactly one export; its path should be `/`.
    pub fn single(export: Export<F>) -> Self {
        let root = Arc::new(export);
        Self { list: vec![Arc::clone(&root)], root, has_former: false }
    }

    /// Says whether there were exports before that are gone. A handle that nobody knows may then be one of theirs, and is
    /// stale: what was a handle once must not be called none (RFC 8881 §15.1.2.1).
    #[must_use]
    pub fn with_former(self, has_former: bool) -> Self {
        Self { has_former, ..self }
    }

    /// All exports, the deepest path first.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Export<F>>> {
        self.list.iter()
    }

    /// Refuses a credential that no export accepts, before anything is looked at.
    ///
    /// # Errors
    /// `AUTH_TOOWEAK` (RFC 5531 §9).
    pub fn check_flavor(&self, credential: &Credential) -> std::result::Result<(), Refusal> {
        if self.list.iter().any(|export| export.accepts(credential)) {
            Ok(())
        } else {
            Err(Refusal::Authentication(AuthStatus::TooWeak))
        }
    }

    /// The root export and its root.
    pub fn root(&self) -> (&Arc<Export<F>>, F::Node) {
        (&self.root, self.root.file_system().root())
    }

    /// The export and object that `handle` names. Handles are authenticated by the back end that issued them, so
    /// the first that knows it is the one. The flavour of the caller's authentication is not looked at:
    /// [`Export::identity`] does.
    ///
    /// # Errors
    /// See [`Unreachable`].
    pub async fn resolve(
        &self,
        handle: &[u8],
        caller: &Caller<'_>,
    ) -> std::result::Result<(&Arc<Export<F>>, F::Node), Unreachable> {
        let (export, node) = self.find(handle).await?;
        export.rule(caller)?;
        Ok((export, node))
    }

    /// As [`ExportSet::resolve`], for the server itself.
    ///
    /// # Errors
    /// Those of the back end.
    pub(crate) async fn find(&self, handle: &[u8]) -> Result<(&Arc<Export<F>>, F::Node)> {
        for export in &self.list {
            match export.file_system().resolve(handle).await {
                Err(Error::BadHandle) => {}
                found => return Ok((export, found?)),
            }
        }
        Err(if self.has_former { Error::Stale } else { Error::BadHandle })
    }

    /// The export that holds `path`, and the components below its root.
    pub fn at<'p>(&self, path: &'p ExportPath) -> (&Arc<Export<F>>, impl Iterator<Item = Name<'p>>) {
        let holder = self.list.iter().find_map(|export| Some((export, export.path().depth_above(path)?)));
        let (export, depth) = holder.unwrap_or((&self.root, 0));
        (export, path.components().skip(depth))
    }
}
#[cfg(test)]
mod tests {
    use vfs::memory::{Memory, MemoryOptions};

    use super::*;
    use crate::exports::{ExportId, ExportOptions};

    fn export(id: u32, path: &str) -> Export<Memory> {
        let memory = Memory::new(MemoryOptions::default()).unwrap();
        Export::new(ExportId(id), ExportPath::new(path.as_bytes()).unwrap(), memory, ExportOptions::default())
    }

    #[test]
    fn one_export_must_be_the_root_and_none_may_be_there_twice() {
        assert_eq!(ExportSet::new(vec![export(1, "/a")]).unwrap_err(), InvalidExports::NoRoot);
        assert_eq!(ExportSet::new(vec![export(1, "/"), export(2, "/")]).unwrap_err(), InvalidExports::Twice);
        assert_eq!(ExportSet::new(vec![export(1, "/"), export(1, "/a")]).unwrap_err(), InvalidExports::Twice);
        assert!(ExportSet::new(vec![export(1, "/"), export(2, "/a")]).is_ok());
    }

    #[test]
    fn the_deepest_export_holds_a_path() {
        let exports = ExportSet::new(vec![export(1, "/"), export(2, "/a"), export(3, "/a/b")]).unwrap();
        for (path, id, rest) in
            [("/x/y", 1, 2), ("/a", 2, 0), ("/a/x", 2, 1), ("/a/b/c/d", 3, 2), ("/", 1, 0)]
        {
            let path = ExportPath::new(path.as_bytes()).unwrap();
            let (export, components) = exports.at(&path);
            assert_eq!((export.id(), components.count()), (ExportId(id), rest), "{path:?}");
        }
    }
}
