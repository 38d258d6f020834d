//! All exports of a server at one time.

use std::sync::Arc;

use rpc::{AuthStatus, Refusal};
use vfs::{Error, FileSystem, Name, ObjectId, Request, Result, Timestamp};

use super::directory::Needs;
use super::junctions::{Above, Junction, Junctions};
use super::mount_points::{MountPoint, MountPoints, NoPlace};
use super::pseudo::PseudoTree;
use super::{
    BackEnd, Caller, Denied, Export, ExportId, ExportOptions, ExportPath, Flavor, HostDirectory, Question,
    Rule, Version, Versions,
};

/// The exports, of which one is the root `/`, or leads there. Never changes: a request works with one set
/// from beginning to end.
#[derive(Debug)]
pub struct ExportSet<F> {
    /// The deepest path first.
    list: Vec<Arc<Export<F>>>,
    root: Arc<Export<F>>,
    /// The directories that lead to all others, for NFSv4.
    way: Option<Arc<Export<F>>>,
    junctions: Junctions<F>,
    /// There were others before.
    has_former: bool,
    needs: Needs,
    /// Those in which one of them can be used.
    versions: Versions,
    /// One of them does not accept every port.
    looks_at_ports: bool,
    /// Nobody is told of exports and mounts that are not his.
    hides: bool,
}

/// The number of the directories that lead to exports.
const WAY: ExportId = ExportId(0);

/// Exports that cannot stand together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidExports {
    /// None is `/`.
    #[error("no export has the path /")]
    NoRoot,
    /// Two have the same path or id.
    #[error("two exports have the same path or id")]
    Twice,
    /// One has no place in another.
    #[error(transparent)]
    NoPlace(#[from] NoPlace),
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

/// An object that a caller's handle names.
pub struct Reached<'s, F: FileSystem> {
    /// Its export.
    pub export: &'s Arc<Export<F>>,
    /// The object.
    pub node: F::Node,
    /// The rule for the caller there.
    pub rule: &'s Rule,
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
        Ok(Self::of(list, root))
    }

    /// Exactly one export; its path should be `/`.
    pub fn single(export: Export<F>) -> Self {
        let root = Arc::new(export);
        Self::of(vec![Arc::clone(&root)], root)
    }

    fn of(list: Vec<Arc<Export<F>>>, root: Arc<Export<F>>) -> Self {
        let mut needs = Needs::default();
        list.iter().for_each(|export| export.add_needs(&mut needs));
        let real = || list.iter().filter(|export| export.id() != WAY).map(|export| export.options());
        let versions = real().flat_map(|options| options.versions.iter()).collect();
        let looks_at_ports = real().any(|options| options.rules.iter().any(|rule| rule.privileged_port));
        Self {
            root,
            way: None,
            junctions: Junctions::default(),
            has_former: false,
            needs,
            versions,
            looks_at_ports,
            hides: false,
            list,
        }
    }

    /// Waits, but not for long, until what the rules look at is known of a caller. To be called once for a
    /// request; where the rules look at nothing but the call, this is nothing.
    pub async fn prepare(&self, caller: &Caller<'_>) {
        if !self.needs.of_a_caller() {
            return;
        }
        if let Some(directory) = self.directory() {
            directory.learn(&self.needs.question(caller)).await;
        }
    }

    /// Waits, but not for long, until the addresses of the hosts and the members of the netgroups that the
    /// rules name are known.
    pub async fn learn_hosts(&self) {
        let Needs { hosts, netgroups, .. } = &self.needs;
        if hosts.is_empty() && netgroups.is_empty() {
            return;
        }
        if let Some(directory) = self.directory() {
            directory.learn(&Question { address: None, hosts, netgroups, uid: None }).await;
        }
    }

    fn directory(&self) -> Option<&Arc<dyn HostDirectory>> {
        self.list.iter().find_map(|export| export.directory())
    }

    /// Says whether there were exports before that are gone. A handle that nobody knows may then be one of
    /// theirs, and is stale: what was a handle once must not be called none (RFC 8881 §15.1.2.1).
    #[must_use]
    pub fn with_former(self, has_former: bool) -> Self {
        Self { has_former, ..self }
    }

    /// All exports, the deepest path first.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Export<F>>> {
        self.list.iter()
    }

    /// The exports that NFSv3 clients can mount.
    pub fn mountable(&self) -> impl Iterator<Item = &Arc<Export<F>>> {
        self.list.iter().filter(|export| export.options().versions.contains(Version::V3))
    }

    /// Tells nobody of exports that he may not use, and of others' mounts, when `hides` is set.
    #[must_use]
    pub fn with_hidden(self, hides: bool) -> Self {
        Self { hides, ..self }
    }

    /// True when nobody is told of exports and mounts that are not his.
    pub fn hides(&self) -> bool {
        self.hides
    }

    /// The versions in which there is an export.
    pub fn versions(&self) -> Versions {
        self.versions
    }

    /// Refuses a caller before anything is looked at: one whose flavour of authentication no export accepts,
    /// and one whose port is not accepted by any that is for it.
    ///
    /// # Errors
    /// `AUTH_TOOWEAK` (RFC 5531 §9).
    pub fn check(&self, caller: &Caller<'_>) -> std::result::Result<(), Refusal> {
        if !self.list.iter().any(|export| export.accepts(caller.rpc)) {
            return Err(Refusal::Authentication(AuthStatus::TooWeak));
        }
        self.check_port(caller)
    }

    /// As [`ExportSet::check`] for MOUNT, which tells callers of every known flavor the ones that an export
    /// accepts (RFC 1813 §5.2.1): clients mount with AUTH_SYS and then use Kerberos.
    ///
    /// # Errors
    /// `AUTH_TOOWEAK`.
    pub fn check_for_mount(&self, caller: &Caller<'_>) -> std::result::Result<(), Refusal> {
        if Flavor::of(caller.rpc).is_none() {
            return Err(Refusal::Authentication(AuthStatus::TooWeak));
        }
        self.check_port(caller)
    }

    fn check_port(&self, caller: &Caller<'_>) -> std::result::Result<(), Refusal> {
        if !self.looks_at_ports {
            return Ok(());
        }
        let mut rules = self.list.iter().map(|export| export.rule(caller).err());
        if rules.clone().any(|denied| denied == Some(Denied::Port))
            && rules.all(|denied| matches!(denied, Some(Denied::Port | Denied::Client)))
        {
            return Err(Refusal::Authentication(AuthStatus::TooWeak));
        }
        Ok(())
    }

    /// The root export and its root.
    pub fn root(&self) -> (&Arc<Export<F>>, F::Node) {
        (&self.root, self.root.file_system().root())
    }

    /// The root for an NFSv4 client: that of the root export, or of the tree that leads to what else it may
    /// use.
    ///
    /// # Errors
    /// When there is neither for the caller.
    pub(crate) fn root_for(
        &self,
        caller: &Caller<'_>,
    ) -> std::result::Result<(&Arc<Export<F>>, F::Node), Denied> {
        let root = match (self.root.rule(caller), &self.way) {
            (Ok(_), _) => &self.root,
            // Who is sent elsewhere stays there, so it must be known.
            (Err(Denied::Later), _) => return Err(Denied::Later),
            (Err(_), Some(way)) => way,
            (Err(denied), None) => return Err(denied),
        };
        Ok((root, root.file_system().root()))
    }

    /// Where `name` in the directory `dir` of `export` leads, when that is not for the back end alone to say.
    pub(crate) fn junction(&self, export: ExportId, dir: ObjectId, name: &[u8]) -> Option<&Junction<F>> {
        self.junctions.of(export, dir)?.get(name)
    }

    /// The directory over the root of an export, as far as this caller can see it.
    pub(crate) fn above(&self, export: ExportId, caller: &Caller<'_>) -> Option<&Above<F>> {
        self.junctions.above(export, caller)
    }

    /// The object that `handle` names. Handles are authenticated by the back end that issued them, so
    /// the first that knows it is the one. The flavour of the caller's authentication is not looked at:
    /// [`Export::identity`] does.
    ///
    /// # Errors
    /// See [`Unreachable`].
    pub async fn resolve(
        &self,
        handle: &[u8],
        caller: &Caller<'_>,
    ) -> std::result::Result<Reached<'_, F>, Unreachable> {
        let (export, node) = self.find(caller.line.request_of_server(), handle).await?;
        let rule = export.rule(caller)?;
        Ok(Reached { export, node, rule })
    }

    /// Like [`ExportSet::resolve`], but checks no rule: for the server itself and for its administrator.
    ///
    /// # Errors
    /// `BadHandle` when no back end has issued `handle`, `Stale` when an earlier back end may have; otherwise
    /// the error of the back end that has.
    pub async fn find(&self, request: Request<'_>, handle: &[u8]) -> Result<(&Arc<Export<F>>, F::Node)> {
        for export in &self.list {
            match export.file_system().resolve(request, handle).await {
                Err(Error::BadHandle) => {}
                found => return Ok((export, found?)),
            }
        }
        Err(if self.has_former { Error::Stale } else { Error::BadHandle })
    }

    /// The export that holds `path` for an NFSv3 client, and the components below its root.
    pub fn at<'p>(&self, path: &'p ExportPath) -> (&Arc<Export<F>>, impl Iterator<Item = Name<'p>>) {
        let depth = |export: &Arc<Export<F>>| {
            export.mount_path().depth_above(path).max(export.path().depth_above(path))
        };
        let holders = self.mountable().filter_map(|export| Some((export, depth(export)?)));
        let holder = holders.max_by_key(|(_, depth)| *depth);
        let (export, depth) = holder.unwrap_or((&self.root, 0));
        (export, path.components().skip(depth))
    }
}
impl<F: FileSystem> ExportSet<BackEnd<F>> {
    /// The given exports in one tree. NFSv4 clients find each where its path says: in a directory of the
    /// export that the path leads through, or by directories that are made up for the purpose and show
    /// everybody only what leads on for him (RFC 8881 §7.3). `now` is when the latter changed.
    ///
    /// # Errors
    /// When two are at the same place, or the export that a path leads through has no directory there.
    pub async fn joined(list: Vec<Export<F>>, now: Timestamp) -> std::result::Result<Self, InvalidExports> {
        Self::joined_at(list, now, &MountPoints::default()).await
    }

    /// Like [`ExportSet::joined`], but does not ask file systems for the mount points in `known`.
    ///
    /// # Errors
    /// Those of [`ExportSet::joined`].
    pub async fn joined_at(
        list: Vec<Export<F>>,
        now: Timestamp,
        known: &MountPoints,
    ) -> std::result::Result<Self, InvalidExports> {
        let tree = PseudoTree::new(list.iter().map(Export::path), now);
        let way = Export::new(WAY, ExportPath::root(), BackEnd::Right(tree), way_options());
        let mut list: Vec<_> = list.into_iter().map(|export| export.map(BackEnd::Left)).collect();
        let is_root = |export: &Export<BackEnd<F>>| *export.path() == ExportPath::root();
        let mut set = match list.iter().position(is_root) {
            Some(_) => Self::new(list)?,
            None => {
                list.push(way);
                let set = Self::new(list)?;
                return Self { way: Some(Arc::clone(&set.root)), ..set }.with_junctions(known).await;
            }
        };
        // The root export may not be for everybody who may use another.
        if set.list.len() > 1 {
            let way = Arc::new(way);
            set.list.push(Arc::clone(&way));
            set.way = Some(way);
        }
        set.with_junctions(known).await
    }

    async fn with_junctions(mut self, known: &MountPoints) -> std::result::Result<Self, InvalidExports> {
        let Some(way) = &self.way else { return Ok(self) };
        let others = || self.list.iter().filter(|export| export.id() != WAY);
        let mut junctions = Junctions::default();
        let is_seen = |export: &&Arc<Export<_>>| {
            let versions = export.options().versions;
            versions.iter().any(|version| version != Version::V3) && *export.path() != ExportPath::root()
        };
        for child in others().filter(is_seen) {
            let is_above = |export: &&Arc<Export<_>>| {
                export.id() != child.id() && export.path().depth_above(child.path()).is_some()
            };
            // The deepest comes first.
            if let Some(parent) = others().find(is_above) {
                let at = match known.get(parent.id(), child.id()) {
                    Some(at) => *at,
                    None => MountPoint::find(parent.file_system(), parent.path(), child.path()).await?,
                };
                junctions.mount(parent, child, &at);
            }
            let at = MountPoint::find(way.file_system(), way.path(), child.path()).await?;
            junctions.mount(way, child, &at);
            junctions.lead(way, child).await?;
        }
        self.junctions = junctions;
        Ok(self)
    }
}

/// The way is for NFSv4 alone: NFSv3 clients name the path of an export when they mount it.
fn way_options() -> ExportOptions {
    let rule = Rule { read_only: true, ..Rule::default() };
    let versions = Version::ALL.into_iter().filter(|version| *version != Version::V3).collect();
    ExportOptions { versions, delegations: false, ..rule.into() }
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
