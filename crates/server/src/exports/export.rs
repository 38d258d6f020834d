//! One export: a back end, where it appears, and its rules.

use std::sync::OnceLock;

use rpc::Credential;
use vfs::{FileSystem, Identity};

use super::{Caller, Denied, ExportPath, Rule, Versions};

/// Tells exports apart. The same for as long as the export lives, over restarts too: locks and handles are bound to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExportId(pub u32);

/// How an export may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportOptions {
    /// Tried in this order: the first that is for a client decides. A client that none is for may not use the export.
    pub rules: Vec<Rule>,
    /// In other versions it is not there.
    pub versions: Versions,
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
        Self { rules: vec![rule], versions: Versions::ALL, delegations: true }
    }
}

/// A file system with its place and its rules.
#[derive(Debug)]
pub struct Export<F> {
    id: ExportId,
    path: ExportPath,
    file_system: F,
    options: ExportOptions,
    /// The file id of the directory that its root covers, where there is one.
    mounted_on: OnceLock<u64>,
}

impl<F: FileSystem> Export<F> {
    /// Exports `file_system` as `path`.
    pub fn new(id: ExportId, path: ExportPath, file_system: F, options: impl Into<ExportOptions>) -> Self {
        Self { id, path, file_system, options: options.into(), mounted_on: OnceLock::new() }
    }

    /// The same with another back end.
    pub(super) fn map<G>(self, to: impl FnOnce(F) -> G) -> Export<G> {
        let Self { id, path, file_system, options, mounted_on } = self;
        Export { id, path, file_system: to(file_system), options, mounted_on }
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

    /// True for a credential of a flavour that is accepted from somebody.
    pub fn accepts(&self, credential: &Credential) -> bool {
        self.options.rules.iter().any(|rule| rule.accepts(credential))
    }

    /// The rule for a caller, whatever its flavour of authentication is.
    ///
    /// # Errors
    /// `Client` when there is none or the version is not served, `Port` when the rule does not accept that.
    pub fn rule(&self, caller: &Caller<'_>) -> Result<&Rule, Denied> {
        if !self.options.versions.contains(caller.version) {
            return Err(Denied::Client);
        }
        let address = caller.peer.ip();
        let rule =
            self.options.rules.iter().find(|rule| rule.clients.allow(address)).ok_or(Denied::Client)?;
        rule.check_port(caller)?;
        Ok(rule)
    }

    /// Whose rights a caller has here. Allocates nothing for a caller without supplementary groups.
    ///
    /// # Errors
    /// As [`Export::rule`], and `Flavor` when that is not accepted.
    pub fn identity(&self, caller: &Caller<'_>) -> Result<Identity, Denied> {
        self.rule(caller)?.identity(caller.credential)
    }
}
