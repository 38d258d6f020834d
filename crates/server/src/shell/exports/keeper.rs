//! Opens what is exported, and replaces it while the server runs.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Mutex;
use tokio::task::block_in_place;
use vfs::Timestamp;
use vfs::local::{Durability, Local, LocalOptions};

use super::hosts::SystemDirectory;
use super::ids::ExportIds;
use super::{ExportSpec, overlap};
use crate::exports::{
    BackEnd, Export, ExportId, ExportPath, ExportSet, Exports, HostDirectory, InvalidExports,
};

/// Delegated files and directories of an export that are watched; beyond, none is delegated. Each keeps about a kilobyte of the
/// kernel's memory.
const WATCHES_MAX: usize = 1 << 16;

/// Why these exports cannot be served, in one sentence with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ExportsError {
    /// The directory cannot be exported.
    #[error("cannot export {}: {source}; name an existing directory that you may read", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: vfs::Error,
    },
    /// The state directory is a part of what is exported.
    #[error("the state directory {} would be exported with its keys; name one outside with --state-dir", path.display())]
    StateExported {
        /// Which.
        path: PathBuf,
    },
    /// The state directory cannot be used.
    #[error("cannot keep state in {}: {source}; name a directory that you may write with --state-dir", path.display())]
    StateDirectory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Two of the directories overlap.
    #[error("{0}")]
    Overlap(String),
    /// They cannot stand together.
    #[error("{reason}; {mend}", reason = .0, mend = mend(.0))]
    Invalid(#[from] InvalidExports),
}

/// What became of the exports of a running server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reloaded {
    /// The paths of those that came.
    pub added: Vec<ExportPath>,
    /// The paths of those that went. Their handles are stale.
    pub removed: Vec<ExportPath>,
    /// The paths of those with other rules than before. Files that are open stay open.
    pub changed: Vec<ExportPath>,
    /// The paths of those that are as they were.
    pub kept: Vec<ExportPath>,
    /// What else is different in the new configuration, and waits for the next start.
    pub needs_restart: Vec<&'static str>,
}

impl std::fmt::Display for Reloaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lists = [
            ("added", &self.added),
            ("removed", &self.removed),
            ("changed", &self.changed),
            ("kept", &self.kept),
        ];
        let mut said = false;
        for (what, paths) in lists.into_iter().filter(|(_, paths)| !paths.is_empty()) {
            let paths: Vec<_> = paths.iter().map(ToString::to_string).collect();
            write!(f, "{}{what} {}", if said { "; " } else { "" }, paths.join(" "))?;
            said = true;
        }
        if !said {
            f.write_str("there are none")?;
        }
        if !self.needs_restart.is_empty() {
            write!(f, "; changes of {} wait for the next start", self.needs_restart.join(", "))?;
        }
        Ok(())
    }
}

/// What is behind an export.
pub(in crate::shell) type Exported = BackEnd<Local>;

/// A directory that is open.
#[derive(Debug, Clone)]
struct Opened {
    spec: ExportSpec,
    /// Device and inode: another directory at the same path is another export.
    inode: (u64, u64),
    id: ExportId,
    local: Local,
}

/// How all directories are opened.
#[derive(Debug, Clone)]
pub(in crate::shell) struct Terms {
    /// Where keys are kept.
    pub(in crate::shell) state_directory: Option<PathBuf>,
    /// It is to be known what other processes do in them.
    pub(in crate::shell) watches: bool,
}

/// The exports of a server, and what is needed to replace them.
#[derive(Debug)]
pub(in crate::shell) struct Keeper {
    terms: Terms,
    exports: Arc<Exports<Exported>>,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    ids: ExportIds,
    directory: Arc<dyn HostDirectory>,
    opened: Vec<Opened>,
}

impl Keeper {
    /// Opens the directories; with `hides` nobody is told of exports and mounts that are not his. Blocks on the disk.
    ///
    /// # Errors
    /// See [`ExportsError`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(in crate::shell) async fn open(
        specs: &[ExportSpec],
        hides: bool,
        terms: Terms,
    ) -> Result<Self, ExportsError> {
        let state_directory = terms.state_directory.as_deref();
        let ids = ExportIds::load(state_directory).map_err(|source| unkept(state_directory, source))?;
        let directory = Arc::new(SystemDirectory::new());
        let mut kept = Kept { ids, directory, opened: Vec::new() };
        let (set, opened) = kept.open(specs, &terms).await?;
        kept.opened = opened;
        Ok(Self { terms, exports: Arc::new(set.with_hidden(hides).into()), kept: Mutex::new(kept) })
    }

    /// The exports, as they are now and will be.
    pub(in crate::shell) fn exports(&self) -> &Arc<Exports<Exported>> {
        &self.exports
    }

    /// The directories that are exported.
    pub(in crate::shell) async fn directories(&self) -> Vec<(ExportId, PathBuf)> {
        self.kept.lock().await.opened.iter().map(|open| (open.id, open.spec.directory.clone())).collect()
    }

    /// Replaces the exports: all or none. Those whose directory stays carry on with their open files. Blocks on the disk.
    ///
    /// # Errors
    /// See [`ExportsError`]; then everything is as it was.
    pub(in crate::shell) async fn reload(
        &self,
        specs: &[ExportSpec],
        hides: bool,
    ) -> Result<Reloaded, ExportsError> {
        let mut kept = self.kept.lock().await;
        let (set, opened) = kept.open(specs, &self.terms).await?;
        let reloaded = compare(&kept.opened, &opened);
        kept.opened = opened;
        self.exports.replace(set.with_hidden(hides));
        Ok(reloaded)
    }
}

impl Kept {
    async fn open(
        &mut self,
        specs: &[ExportSpec],
        terms: &Terms,
    ) -> Result<(ExportSet<Exported>, Vec<Opened>), ExportsError> {
        let state_directory = terms.state_directory.as_deref();
        if let Some(state_directory) = state_directory {
            check_state_is_outside(specs, state_directory)?;
        }
        let mut found = Vec::with_capacity(specs.len());
        for spec in specs {
            found.push(
                find(&spec.directory).map_err(|source| unusable(&spec.directory, in_terms_of_vfs(source)))?,
            );
        }
        let directories = found.iter().map(|(directory, _)| directory.as_path());
        overlap::check(&directories.clone().collect::<Vec<_>>()).map_err(ExportsError::Overlap)?;
        let ids = self.ids.of(directories).map_err(|source| unkept(state_directory, source))?;
        let mut opened = Vec::with_capacity(specs.len());
        for ((spec, (_, inode)), id) in specs.iter().zip(found).zip(ids) {
            let local = match self.opened.iter().find(|open| open.serves(spec, id, inode)) {
                Some(open) => open.local.clone(),
                None => open_local(spec, id, terms).map_err(|source| unusable(&spec.directory, source))?,
            };
            opened.push(Opened { spec: spec.clone(), inode, id, local });
        }
        let list = opened.iter().map(|open| open.export(Arc::clone(&self.directory))).collect();
        let set = ExportSet::joined(list, now()).await?;
        set.learn_hosts().await;
        Ok((set.with_former(self.ids.len() > opened.len()), opened))
    }
}

impl Opened {
    /// True when an export of this kind can go on with what is open.
    fn serves(&self, spec: &ExportSpec, id: ExportId, inode: (u64, u64)) -> bool {
        let is_same_way = |other: &ExportSpec| (other.asynchronous, other.is_read_only());
        self.id == id && self.inode == inode && is_same_way(&self.spec) == is_same_way(spec)
    }

    fn export(&self, directory: Arc<dyn HostDirectory>) -> Export<Local> {
        let (path, options) = (self.spec.path.clone(), self.spec.options.clone());
        let export = Export::new(self.id, path, self.local.clone(), options);
        export.with_mount_path(self.spec.mount_path.clone()).with_directory(directory)
    }
}

fn open_local(spec: &ExportSpec, id: ExportId, terms: &Terms) -> vfs::Result<Local> {
    let options = LocalOptions {
        state_dir: terms.state_directory.clone(),
        watches_max: if terms.watches { WATCHES_MAX } else { 0 },
        durability: if spec.asynchronous { Durability::Async } else { Durability::Sync },
        read_only: spec.is_read_only(),
        name_space: id.0,
        wait_in_place: Some(wait_in_place),
        ..LocalOptions::default()
    };
    let local = Local::open(&spec.directory, &options)?;
    if let Some(why) = local.unwatched() {
        tracing::warn!(
            directory = %spec.directory.display(), %why,
            "what other processes change here cannot be seen, and recalls no delegations"
        );
    }
    Ok(local)
}

/// Runs `job`, which waits for the disk, while another thread takes over what this one has to do; false where there is none.
fn wait_in_place(job: &mut dyn FnMut()) -> bool {
    let is_of_several =
        Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if is_of_several {
        block_in_place(job);
    }
    is_of_several
}

/// The directory without symbolic links, and its device and inode.
fn find(directory: &Path) -> io::Result<(PathBuf, (u64, u64))> {
    let metadata = std::fs::metadata(directory)?;
    Ok((directory.canonicalize()?, (metadata.dev(), metadata.ino())))
}

fn compare(before: &[Opened], now: &[Opened]) -> Reloaded {
    let mut reloaded = Reloaded::default();
    for open in now {
        let path = open.spec.path.clone();
        match before.iter().find(|other| other.id == open.id && other.inode == open.inode) {
            None => reloaded.added.push(path),
            Some(other) if other.spec == open.spec => reloaded.kept.push(path),
            Some(_) => reloaded.changed.push(path),
        }
    }
    let is_gone = |open: &&Opened| !now.iter().any(|new| new.id == open.id && new.inode == open.inode);
    reloaded.removed = before.iter().filter(is_gone).map(|open| open.spec.path.clone()).collect();
    reloaded
}

fn in_terms_of_vfs(error: io::Error) -> vfs::Error {
    Errno::from_io_error(&error).map_or(vfs::Error::Io(error), vfs::Error::from)
}

/// Checks that no client could read the keys in the state directory.
///
/// # Errors
/// `StateExported`.
pub(in crate::shell) fn check_state_is_outside(
    specs: &[ExportSpec],
    state_directory: &Path,
) -> Result<(), ExportsError> {
    if specs.iter().any(|spec| is_inside(state_directory, &spec.directory)) {
        return Err(ExportsError::StateExported { path: state_directory.to_owned() });
    }
    Ok(())
}

/// True when `path`, of which the end may not exist yet, is in `directory`.
fn is_inside(path: &Path, directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = absolute.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    existing.is_some_and(|existing| existing.starts_with(directory))
}

fn mend(invalid: &InvalidExports) -> &'static str {
    match invalid {
        InvalidExports::NoRoot | InvalidExports::Twice => "give every export a path of its own",
        InvalidExports::NoPlace(_) => "make that directory, or choose another `pseudo` path",
    }
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp { seconds: since.as_secs() as i64, nanoseconds: since.subsec_nanos() }
}

fn unusable(path: &Path, source: vfs::Error) -> ExportsError {
    ExportsError::Directory { path: path.to_owned(), source }
}

fn unkept(state_directory: Option<&Path>, source: io::Error) -> ExportsError {
    ExportsError::StateDirectory { path: state_directory.unwrap_or(Path::new("")).to_owned(), source }
}
