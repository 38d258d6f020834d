//! One export: a back end, where it appears, and its rules.

use std::sync::{Arc, OnceLock};

use vfs::{FileSystem, Identity};

use super::directory::Needs;
use super::{Caller, Clients, Denied, ExportPath, HostDirectory, NamePattern, Rule, Versions};

/// Tells exports apart. The same for as long as the export lives, over restarts too: locks and handles are
/// bound to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExportId(pub u32);

/// How an export may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportOptions {
    /// Tried in this order: the first that is for a client decides. A client that none is for may not use the
    /// export.
    pub rules: Vec<Rule>,
    /// In other versions it is not there.
    pub versions: Versions,
    /// The supplementary groups of a user are those that this host knows, and not those that the client
    /// claims.
    pub manage_gids: bool,
    /// NFSv4 clients are granted delegations, where the server grants any.
    pub delegations: bool,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Rule::default().into()
    }
}

impl From<Rule> for ExportOptions {
    fn from(rule: Rule) -> Self {
        Self { rules: vec![rule], versions: Versions::ALL, manage_gids: false, delegations: true }
    }
}

/// A file system with its place and its rules.
#[derive(Debug)]
pub struct Export<F> {
    id: ExportId,
    path: ExportPath,
    file_system: F,
    options: ExportOptions,
    directory: Option<Arc<dyn HostDirectory>>,
    mount_path: Option<ExportPath>,
    /// The file id of the directory that its root covers, where there is one.
    mounted_on: OnceLock<u64>,
}

impl<F: FileSystem> Export<F> {
    /// Exports `file_system` as `path`.
    pub fn new(id: ExportId, path: ExportPath, file_system: F, options: impl Into<ExportOptions>) -> Self {
        let options = options.into();
        Self {
            id,
            path,
            file_system,
            options,
            directory: None,
            mount_path: None,
            mounted_on: OnceLock::new(),
        }
    }

    /// The same with another back end.
    pub(super) fn map<G>(self, to: impl FnOnce(F) -> G) -> Export<G> {
        let Self { id, path, file_system, options, directory, mount_path, mounted_on } = self;
        Export { id, path, file_system: to(file_system), options, directory, mount_path, mounted_on }
    }

    /// Knows names of hosts and groups of users from `directory`. Without one no host has a name, and nobody
    /// is in a group that this host would have to know.
    #[must_use]
    pub fn with_directory(self, directory: Arc<dyn HostDirectory>) -> Self {
        Self { directory: Some(directory), ..self }
    }

    /// Under which path NFSv3 clients may mount it as well.
    #[must_use]
    pub fn with_mount_path(self, mount_path: Option<ExportPath>) -> Self {
        Self { mount_path, ..self }
    }

    /// The path that NFSv3 clients are told to mount.
    pub fn mount_path(&self) -> &ExportPath {
        self.mount_path.as_ref().unwrap_or(&self.path)
    }

    pub(super) fn directory(&self) -> Option<&Arc<dyn HostDirectory>> {
        self.directory.as_ref()
    }

    /// Tells it apart.
    pub fn id(&self) -> ExportId {
        self.id
    }

    /// Where it appears.
    pub fn path(&self) -> &ExportPath {
        &self.path
    }

    /// The back end.
    pub fn file_system(&self) -> &F {
        &self.file_system
    }

    /// The file id of the directory that its root covers for NFSv4 clients.
    pub(crate) fn mounted_on(&self) -> Option<u64> {
        self.mounted_on.get().copied()
    }

    /// Notes the directory that its root covers: the first counts.
    pub(super) fn set_mounted_on(&self, fileid: u64) {
        self.mounted_on.get_or_init(|| fileid);
    }

    /// Its rules and the like.
    pub fn options(&self) -> &ExportOptions {
        &self.options
    }

    /// True for a caller of a flavor that is accepted from somebody.
    pub fn accepts(&self, caller: &rpc::Caller) -> bool {
        self.options.rules.iter().any(|rule| rule.accepts_flavor(caller))
    }

    /// The rule for a caller, whatever its flavour of authentication is.
    ///
    /// # Errors
    /// `Client` when there is none or the version is not served, `Port` when the rule does not accept that,
    /// `Later` when it depends on what is not known yet.
    pub fn rule(&self, caller: &Caller<'_>) -> Result<&Rule, Denied> {
        if !self.options.versions.contains(caller.version) {
            return Err(Denied::Client);
        }
        let (address, directory) = (caller.peer.ip(), self.directory.as_deref());
        for rule in self.options.rules.iter().filter(|rule| rule.is_for_certificate(caller)) {
            match rule.clients.contain(address, directory) {
                Some(false) => {}
                Some(true) => {
                    rule.check_port(caller)?;
                    return Ok(rule);
                }
                // A later rule might allow what this one denies.
                None => return Err(Denied::Later),
            }
        }
        Err(Denied::Client)
    }

    /// Whose rights a caller has here. Allocates nothing for a caller without supplementary groups.
    ///
    /// # Errors
    /// As [`Export::rule`], and `Flavor` or `Transport` when that is not accepted.
    pub fn identity(&self, caller: &Caller<'_>) -> Result<Identity, Denied> {
        self.identity_under(self.rule(caller)?, caller)
    }

    /// As [`Export::identity`], under the rule that was found for the caller.
    pub(crate) fn identity_under(&self, rule: &Rule, caller: &Caller<'_>) -> Result<Identity, Denied> {
        if !rule.transports.contains(caller.transport) {
            return Err(Denied::Transport);
        }
        let groups = self.directory.as_deref().filter(|_| self.options.manage_gids);
        rule.identity(caller.rpc, groups)
    }

    /// As [`Export::identity`], but the anonymous user where the rule does not accept the flavor of
    /// authentication or the protection of the connection.
    ///
    /// # Errors
    /// As [`Export::rule`], and `Later` when the caller's groups are not known.
    pub(crate) fn identity_or_nobody(&self, caller: &Caller<'_>) -> Result<Identity, Denied> {
        let rule = self.rule(caller)?;
        match self.identity_under(rule, caller) {
            Err(Denied::Flavor | Denied::Transport) => Ok(rule.squash.anonymous()),
            identity => identity,
        }
    }

    /// What the rules look at besides the call.
    pub(super) fn add_needs(&self, needs: &mut Needs) {
        needs.groups |= self.options.manage_gids;
        for rule in &self.options.rules {
            match &rule.clients {
                Clients::Named(NamePattern::Host(host)) => needs.hosts.push(host.clone()),
                Clients::Named(NamePattern::Wildcard(_)) => needs.names = true,
                Clients::Named(NamePattern::Netgroup(group)) => {
                    needs.names = true;
                    needs.netgroups.push(group.clone());
                }
                Clients::All | Clients::Networks(_) => {}
            }
        }
    }
}
