//! One export: a back end, where it appears, who may use it and as whom.

use rpc::Credential;
use vfs::{FileSystem, Identity};

use super::{Clients, ExportPath, Squash};

/// Tells exports apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExportId(pub u32);

/// How an export may be used.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    /// No operation changes anything.
    pub read_only: bool,
    /// Which callers act as nobody.
    pub squash: Squash,
    /// Which client addresses may use it.
    pub clients: Clients,
}

/// A caller's flavour of authentication is not enough (`AUTH_TOOWEAK`, RFC 5531 §9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the flavour of authentication is not accepted")]
pub struct WeakFlavor;

/// The flavours that every export accepts, best first: AUTH_SYS and AUTH_NONE (RFC 5531 §8.1).
const SECURITY_FLAVORS: &[u32] = &[1, 0];

/// A file system with its place and its rules.
#[derive(Debug)]
pub struct Export<F> {
    id: ExportId,
    path: ExportPath,
    file_system: F,
    options: ExportOptions,
}

impl<F: FileSystem> Export<F> {
    /// Exports `file_system` as `path`.
    pub fn new(id: ExportId, path: ExportPath, file_system: F, options: ExportOptions) -> Self {
        Self { id, path, file_system, options }
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

    /// True when no operation may change anything.
    pub fn read_only(&self) -> bool {
        self.options.read_only
    }

    /// Which client addresses may use it.
    pub fn clients(&self) -> &Clients {
        &self.options.clients
    }

    /// The flavours of authentication that it accepts, by RPC number, best first.
    pub fn security_flavors(&self) -> &[u32] {
        SECURITY_FLAVORS
    }

    /// True for a credential of a flavour that it accepts.
    pub fn accepts(&self, credential: &Credential) -> bool {
        matches!(credential, Credential::None | Credential::Sys(_))
    }

    /// Whose rights a caller with this credential has here. Allocates nothing for a caller without
    /// supplementary groups.
    ///
    /// # Errors
    /// For a flavour that is not accepted.
    pub fn identity(&self, credential: &Credential) -> Result<Identity, WeakFlavor> {
        match credential {
            Credential::None => Ok(self.options.squash.anonymous()),
            Credential::Sys(claim) => Ok(self.options.squash.apply(claim.uid, claim.gid, &claim.gids)),
            Credential::Other { .. } => Err(WeakFlavor),
        }
    }
}
