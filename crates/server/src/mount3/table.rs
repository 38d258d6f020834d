//! Who has mounted what, as far as clients have told. For people to look at; nothing depends on it.

use std::collections::BTreeSet;
use std::net::IpAddr;

use bytes::Bytes;
use parking_lot::Mutex;
use proto::mount3::{Mount, MountList};
use xdr::List;

use crate::exports::ExportPath;

/// The most mounts that are remembered; further ones are not listed.
const MOUNTS_MAX: usize = 1024;

/// A set of clients and paths.
#[derive(Debug, Default)]
pub(super) struct MountTable(Mutex<BTreeSet<(IpAddr, ExportPath)>>);

impl MountTable {
    pub(super) fn add(&self, client: IpAddr, path: &ExportPath) {
        let mut mounts = self.0.lock();
        if mounts.len() < MOUNTS_MAX {
            mounts.insert((client, path.clone()));
        }
    }

    pub(super) fn remove(&self, client: IpAddr, path: &ExportPath) {
        self.0.lock().remove(&(client, path.clone()));
    }

    pub(super) fn remove_all(&self, client: IpAddr) {
        self.0.lock().retain(|(other, _)| *other != client);
    }

    pub(super) fn all(&self) -> Vec<(IpAddr, ExportPath)> {
        self.0.lock().iter().cloned().collect()
    }

    /// All mounts, or those of one client.
    pub(super) fn list(&self, only: Option<IpAddr>) -> MountList {
        let mounts = self.0.lock();
        let mounts = mounts.iter().filter(|(client, _)| only.is_none_or(|only| *client == only)).map(
            |(client, path)| Mount {
                host: Bytes::from(client.to_canonical().to_string()),
                dir: path.as_bytes().clone(),
            },
        );
        MountList(List(mounts.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_bounded() {
        let table = MountTable::default();
        for client in 0..MOUNTS_MAX as u32 + 10 {
            table.add(IpAddr::from(client.to_be_bytes()), &ExportPath::root());
        }
        assert_eq!(table.list(None).0.0.len(), MOUNTS_MAX);
    }
}
