//! EXPORT (RFC 1813 §5.2.5).

use bytes::Bytes;
use proto::mount3::{Export, ExportList, Group};
use vfs::FileSystem;
use xdr::List;

use crate::exports::{Clients, ExportOptions, ExportSet};

/// All exports with the networks that may use them.
pub(super) fn list<F: FileSystem>(exports: &ExportSet<F>) -> ExportList {
    let exports = exports.mountable().map(|export| Export {
        dir: export.path().as_bytes().clone(),
        groups: List(groups(export.options())),
    });
    ExportList(List(exports.collect()))
}

/// Who may use an export; nobody in particular is everybody.
fn groups(options: &ExportOptions) -> Vec<Group> {
    let networks = options.rules.iter().map(|rule| match &rule.clients {
        Clients::All => None,
        Clients::Networks(networks) => Some(networks),
    });
    let networks: Option<Vec<_>> = networks.collect();
    let groups = networks.unwrap_or_default().into_iter().flatten();
    groups.map(|network| Group(Bytes::from(network.to_string()))).collect()
}
