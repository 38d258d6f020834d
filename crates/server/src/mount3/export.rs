//! EXPORT (RFC 1813 §5.2.5).

use bytes::Bytes;
use proto::mount3::{Export, ExportList, Group};
use vfs::FileSystem;
use xdr::List;

use crate::exports::{Clients, Exports};

/// All exports with the networks that may use them.
pub(super) fn list<F: FileSystem>(exports: &Exports<F>) -> ExportList {
    let exports = exports.iter().map(|export| Export {
        dir: export.path().as_bytes().clone(),
        groups: List(match export.clients() {
            Clients::All => Vec::new(),
            Clients::Networks(networks) => {
                networks.iter().map(|network| Group(Bytes::from(network.to_string()))).collect()
            }
        }),
    });
    ExportList(List(exports.collect()))
}
