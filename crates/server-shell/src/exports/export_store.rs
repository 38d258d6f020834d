//! Opens the exports, and replaces them while the server runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rustix::io::Errno;
use server::exports::{
    BackEnd, Export, ExportId, ExportPath, ExportSet, Exports, HostDirectory, InvalidExports,
};
use tokio::sync::Mutex;
use vfs::local::raise_descriptor_limit;
use vfs::{AnyFileSystem, FileSystem, Timestamp};

use super::export_source::{ExportSource, Inode, check_outside, find_all, is_dead, is_directory};
use super::hosts::SystemDirectory;
use super::ids::ExportIds;
use super::mount_points::{self, LastFound};
use super::probe::{self, Probe, Probes, is_hung};
use super::{BackEndChoice, ExportSpec, overlap};
use crate::back_ends::{BackEnds, Opening as BackEndOpening};
use crate::descriptors::Descriptors;

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
    #[error("the state directory {} would be exported with its keys; name one outside with \
             --state-dir", path.display())]
    StateExported {
        /// Which.
        path: PathBuf,
    },
    /// The state directory cannot be used.
    #[error("cannot keep state in {}: {source}; name a directory that you may write with \
             --state-dir", path.display())]
    StateDirectory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Two of the directories overlap.
    #[error("{0}")]
    Overlap(String),
    /// No back end of the registry has that name.
    #[error("there is no back end `{name}` for {}; use one of {known}", path.display())]
    NoBackEnd {
        /// The name in the configuration.
        name: String,
        /// Which export.
        path: PathBuf,
        /// All that there are.
        known: String,
    },
    /// They cannot stand together.
    #[error("{reason}; {mend}", reason = .0, mend = mend(.0))]
    Invalid(#[from] InvalidExports),
    /// An export asks for TLS, and there is no certificate.
    #[error(
        "the export {path} accepts no plain connections, and the server has no certificate; name one in [tls]"
    )]
    NoCertificate {
        /// Its path.
        path: ExportPath,
    },
    /// An export names Kerberos, and the server has no key.
    #[error(
        "the export {path} is for clients with Kerberos, and the server has no table [kerberos]; add one, \
         with the keytab of its service"
    )]
    NoKerberos {
        /// Its path.
        path: ExportPath,
    },
    /// A rule of an export is for certificates of clients, and the server asks no client for one.
    #[error(
        "the export {path} has rules for certificates of clients, and the server has no authorities for \
         them; name them in [tls] as client_authorities"
    )]
    NoClientAuthorities {
        /// Its path.
        path: ExportPath,
    },
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
    /// The paths of those whose file system is dead. Each is left out until it answers again.
    pub unavailable: Vec<ExportPath>,
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
            ("unavailable", &self.unavailable),
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
pub(crate) type Exported = BackEnd<AnyFileSystem>;

/// A file system that is open.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    pub(super) spec: ExportSpec,
    /// The path without symbolic links. Another directory there is another export.
    found: ExportSource,
    pub(super) id: ExportId,
    pub(super) file_system: AnyFileSystem,
}

/// How all directories are opened.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// Where keys are kept.
    pub(crate) state_directory: Option<PathBuf>,
    /// It is to be known what other processes do in them.
    pub(crate) watches: bool,
    /// The back ends that open them.
    pub(crate) back_ends: BackEnds,
    /// The calls to their file systems that are under way.
    pub(crate) probes: Probes,
}

/// The exports of a server, and what is needed to replace them.
#[derive(Debug)]
pub(crate) struct ExportStore {
    terms: Terms,
    exports: Arc<Exports<Exported>>,
    kept: Mutex<StoredExports>,
}

#[derive(Debug)]
struct StoredExports {
    ids: ExportIds,
    directory: Arc<dyn HostDirectory>,
    opened: Vec<Opened>,
    /// The exports that were asked for last, and whether they are hidden.
    asked: (Vec<ExportSpec>, bool),
    /// Those of them that are left out because their file system is dead.
    unavailable: Vec<ExportPath>,
    mount_points: LastFound,
}

/// Exports that were opened.
struct Opening {
    set: ExportSet<Exported>,
    opened: Vec<Opened>,
    unavailable: Vec<ExportPath>,
    mount_points: LastFound,
}

impl ExportStore {
    /// Opens the directories; with `hides` nobody is told of exports and mounts that are not his. Blocks on
    /// the disk.
    ///
    /// # Errors
    /// See [`ExportsError`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) async fn open(specs: &[ExportSpec], hides: bool, terms: Terms) -> Result<Self, ExportsError> {
        let state_directory = terms.state_directory.as_deref();
        let ids = ExportIds::load(state_directory).map_err(|source| unkept(state_directory, source))?;
        let directory = Arc::new(SystemDirectory::new());
        let asked = (specs.to_vec(), hides);
        let (opened, unavailable, mount_points) = (Vec::new(), Vec::new(), LastFound::new());
        let mut kept = StoredExports { ids, directory, opened, asked, unavailable, mount_points };
        let opening = kept.open(specs, &terms).await?;
        let set = kept.take(opening);
        Ok(Self { terms, exports: Arc::new(set.with_hidden(hides).into()), kept: Mutex::new(kept) })
    }

    /// The exports, as they are now and will be.
    pub(crate) fn exports(&self) -> &Arc<Exports<Exported>> {
        &self.exports
    }

    /// The directories that are exported.
    pub(crate) async fn directories(&self) -> Vec<(ExportId, PathBuf)> {
        self.kept.lock().await.opened.iter().map(|open| (open.id, open.spec.directory.clone())).collect()
    }

    /// Replaces the exports: all or none. Those whose directory stays carry on with their open files. Blocks
    /// on the disk.
    ///
    /// # Errors
    /// See [`ExportsError`]; then everything is as it was.
    pub(crate) async fn reload(&self, specs: &[ExportSpec], hides: bool) -> Result<Reloaded, ExportsError> {
        self.replace(&mut *self.kept.lock().await, specs, hides).await
    }

    /// Looks whether exports that are left out are back, and takes them in. Blocks on the disk.
    pub(crate) async fn retry_unavailable(&self) {
        let mut kept = self.kept.lock().await;
        if kept.unavailable.is_empty() {
            return;
        }
        let (specs, hides) = kept.asked.clone();
        match self.replace(&mut kept, &specs, hides).await {
            Ok(reloaded) if !reloaded.added.is_empty() => {
                tracing::info!(%reloaded, "exports are available again");
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "exports that are left out could not be taken in"),
        }
    }

    /// Has all exports close files that were removed or are not used. To be called every second or so.
    pub(crate) fn sweep(&self) {
        // While exports are replaced it is left out.
        let Ok(kept) = self.kept.try_lock() else { return };
        for open in &kept.opened {
            open.file_system.sweep();
        }
    }

    async fn replace(
        &self,
        kept: &mut StoredExports,
        specs: &[ExportSpec],
        hides: bool,
    ) -> Result<Reloaded, ExportsError> {
        let opening = kept.open(specs, &self.terms).await?;
        let unavailable = opening.unavailable.clone();
        let reloaded = Reloaded { unavailable, ..compare(&kept.opened, &opening.opened) };
        kept.asked = (specs.to_vec(), hides);
        let set = kept.take(opening);
        self.exports.replace(set.with_hidden(hides));
        Ok(reloaded)
    }
}

impl StoredExports {
    /// Keeps what was opened, and returns the exports.
    fn take(&mut self, opening: Opening) -> ExportSet<Exported> {
        self.opened = opening.opened;
        self.unavailable = opening.unavailable;
        self.mount_points = opening.mount_points;
        opening.set
    }

    async fn open(&mut self, specs: &[ExportSpec], terms: &Terms) -> Result<Opening, ExportsError> {
        let state_directory = terms.state_directory.as_deref();
        let mut unavailable =
            Unavailable { before: &self.unavailable, is_alone: specs.len() < 2, now: Vec::new() };
        check_back_ends(specs, &terms.back_ends)?;
        let found = self.find(specs, terms, &mut unavailable)?;
        if let Some(state_directory) = state_directory {
            check_outside(found.iter().map(|(_, found)| found), state_directory)?;
        }
        let is_directory = |found: &&(&ExportSpec, ExportSource)| found.1.inode.is_some();
        let directories = found.iter().filter(is_directory).map(|(_, found)| found.directory.as_path());
        overlap::check(&directories.collect::<Vec<_>>()).map_err(ExportsError::Overlap)?;
        let names = found.iter().map(|(_, found)| found.directory.as_path());
        let ids = self.ids.of(names).map_err(|source| unkept(state_directory, source))?;
        let descriptors = Descriptors::of(raise_descriptor_limit()).files_of_each(found.len());
        let opening: Vec<_> = found
            .into_iter()
            .zip(ids)
            .map(|((spec, found), id)| {
                let open = self.opened.iter().find(|open| open.serves(spec, id, found.inode));
                let file_system = match open {
                    Some(open) => OpeningFileSystem::Open(open.file_system.clone()),
                    None => OpeningFileSystem::begin(spec, id, terms),
                };
                (spec, found, id, file_system)
            })
            .collect();
        let deadline = probe::deadline();
        let mut opened = Vec::with_capacity(opening.len());
        for (spec, found, id, file_system) in opening {
            let file_system = match file_system.wait(deadline) {
                Ok(file_system) => file_system?,
                Err(error) => {
                    unavailable.leave_out(spec, error)?;
                    continue;
                }
            };
            file_system.set_descriptors_max(descriptors);
            opened.push(Opened { spec: spec.clone(), found, id, file_system });
        }
        let (at, mount_points) =
            mount_points::find(&mut opened, &self.mount_points, &terms.probes, &mut unavailable)?;
        let unavailable = unavailable.now;
        let list = opened.iter().map(|open| open.export(Arc::clone(&self.directory))).collect();
        let set = ExportSet::joined_at(list, now(), &at).await?;
        set.learn_hosts().await;
        let set = set.with_former(self.ids.len() > opened.len());
        Ok(Opening { set, opened, unavailable, mount_points })
    }

    /// Finds the directories whose file systems answer. An export that is open and whose file system hangs
    /// stays as it is: its requests wait, and its handles must not become stale.
    fn find<'a>(
        &self,
        specs: &'a [ExportSpec],
        terms: &Terms,
        unavailable: &mut Unavailable<'_>,
    ) -> Result<Vec<(&'a ExportSpec, ExportSource)>, ExportsError> {
        let mut all = Vec::with_capacity(specs.len());
        for (spec, found) in specs.iter().zip(find_all(specs, &terms.back_ends, &terms.probes)) {
            let is_open = |open: &&Opened| open.spec.directory == spec.directory;
            match (found, self.opened.iter().find(is_open)) {
                (Ok(found), _) => all.push((spec, found)),
                (Err(error), Some(open)) if is_hung(&error) => {
                    let directory = spec.directory.display();
                    tracing::warn!(%directory, %error, "the export stays, and its requests wait");
                    all.push((spec, open.found.clone()));
                }
                (Err(error), _) => unavailable.leave_out(spec, error)?,
            }
        }
        Ok(all)
    }
}

/// The exports that are left out because their file system is dead, which must not keep the others from
/// being served.
pub(super) struct Unavailable<'a> {
    before: &'a [ExportPath],
    /// There is no other export.
    is_alone: bool,
    now: Vec<ExportPath>,
}

impl Unavailable<'_> {
    /// Leaves an export out if its file system is dead and there are others.
    ///
    /// # Errors
    /// `Directory`.
    pub(super) fn leave_out(&mut self, spec: &ExportSpec, error: io::Error) -> Result<(), ExportsError> {
        if self.is_alone || !is_dead(&error) {
            return Err(unusable(&spec.directory, in_terms_of_vfs(error)));
        }
        if !self.before.contains(&spec.path) {
            let directory = spec.directory.display();
            tracing::error!(%directory, %error, "the file system of an export is dead; it is left out until \
                                                 it answers");
        }
        self.now.push(spec.path.clone());
        Ok(())
    }
}

/// The file system of an export: open already, or being opened.
enum OpeningFileSystem {
    Open(AnyFileSystem),
    Begun(PathBuf, Probe<vfs::Result<AnyFileSystem>>),
}

impl OpeningFileSystem {
    fn begin(spec: &ExportSpec, id: ExportId, terms: &Terms) -> Self {
        let (its, terms) = (spec.clone(), terms.clone());
        let probe = terms.probes.clone().begin(&spec.directory, move || open_file_system(&its, id, &terms));
        Self::Begun(spec.directory.clone(), probe)
    }

    /// # Errors
    /// The outer one when the file system does not answer, the inner one when it cannot be exported.
    fn wait(self, deadline: Instant) -> io::Result<Result<AnyFileSystem, ExportsError>> {
        match self {
            Self::Open(file_system) => Ok(Ok(file_system)),
            Self::Begun(directory, probe) => {
                Ok(probe.wait(deadline)?.map_err(|source| unusable(&directory, source)))
            }
        }
    }
}

impl Opened {
    /// True when an export of this kind can go on with what is open.
    fn serves(&self, spec: &ExportSpec, id: ExportId, inode: Option<Inode>) -> bool {
        let is_same_way = |other: &ExportSpec| (other.asynchronous, other.is_read_only());
        self.id == id
            && self.found.inode == inode
            && self.spec.back_end == spec.back_end
            && is_same_way(&self.spec) == is_same_way(spec)
    }

    fn export(&self, directory: Arc<dyn HostDirectory>) -> Export<AnyFileSystem> {
        let (path, options) = (self.spec.path.clone(), self.spec.options.clone());
        let export = Export::new(self.id, path, self.file_system.clone(), options);
        export.with_mount_path(self.spec.mount_path.clone()).with_directory(directory)
    }
}

fn open_file_system(spec: &ExportSpec, id: ExportId, terms: &Terms) -> vfs::Result<AnyFileSystem> {
    let asked = BackEndOpening {
        location: &spec.directory,
        name_space: id.0,
        state_directory: terms.state_directory.as_deref(),
        is_asynchronous: spec.asynchronous,
        is_read_only: spec.is_read_only(),
        watches: terms.watches,
    };
    terms.back_ends.find(&spec.back_end).ok_or(vfs::Error::NotSupported)?.open(&asked)
}

/// Checks that every export names a back end that there is, and that those which are no directories have
/// names of their own: their numbers and handles depend on it.
fn check_back_ends(specs: &[ExportSpec], back_ends: &BackEnds) -> Result<(), ExportsError> {
    for (index, spec) in specs.iter().enumerate() {
        if !is_directory(spec, back_ends)
            && specs[..index].iter().any(|other| other.directory == spec.directory)
        {
            let name = spec.directory.display();
            let wrong = format!("two exports are called {name}; give each a name of its own");
            return Err(ExportsError::Overlap(wrong));
        }
        if let (BackEndChoice::Named(name), None) = (&spec.back_end, back_ends.find(&spec.back_end)) {
            let known = back_ends.names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            return Err(ExportsError::NoBackEnd { name: name.clone(), path: spec.directory.clone(), known });
        }
    }
    Ok(())
}

fn compare(before: &[Opened], now: &[Opened]) -> Reloaded {
    let is_same = |one: &Opened, other: &Opened| one.id == other.id && one.found.inode == other.found.inode;
    let mut reloaded = Reloaded::default();
    for open in now {
        let path = open.spec.path.clone();
        match before.iter().find(|other| is_same(other, open)) {
            None => reloaded.added.push(path),
            Some(other) if other.spec == open.spec => reloaded.kept.push(path),
            Some(_) => reloaded.changed.push(path),
        }
    }
    let is_gone = |open: &&Opened| !now.iter().any(|new| is_same(new, open));
    reloaded.removed = before.iter().filter(is_gone).map(|open| open.spec.path.clone()).collect();
    reloaded
}

fn in_terms_of_vfs(error: io::Error) -> vfs::Error {
    Errno::from_io_error(&error).map_or(vfs::Error::Io(error), vfs::Error::from)
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
