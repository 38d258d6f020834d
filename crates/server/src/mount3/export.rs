//! EXPORT (RFC 1813 §5.2.5).

use std::sync::Arc;

use bytes::Bytes;
use proto::mount3::{ExportList, Group};
use vfs::FileSystem;
use xdr::List;

use crate::exports::{Caller, Clients, Export, ExportOptions, ExportSet};

/// All exports that the caller is told of, with the clients that may use them.
pub(super) fn list<F: FileSystem>(exports: &ExportSet<F>, caller: &Caller<'_>) -> ExportList {
    let is_told = |export: &&Arc<Export<F>>| !exports.hides() || export.rule(caller).is_ok();
    let exports = exports.mountable().filter(is_told).map(|export| proto::mount3::Export {
        dir: export.mount_path().as_bytes().clone(),
        groups: List(groups(export.options())),
    });
    ExportList(List(exports.collect()))
}

/// Who may use an export; nobody in particular is everybody.
fn groups(options: &ExportOptions) -> Vec<Group> {
    let mut groups = Vec::new();
    for rule in &options.rules {
        match &rule.clients {
            Clients::All => return Vec::new(),
            Clients::Networks(networks) => groups.extend(networks.iter().map(ToString::to_string)),
            Clients::Named(pattern) => groups.push(pattern.to_string()),
        }
    }
    groups.into_iter().map(|group| Group(Bytes::from(group))).collect()
}
