//! Unpacking an archive onto the server.

mod member;
mod sparse;
mod time;

use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use tar::{Archive, Entry, EntryType};
use tokio::sync::mpsc;

use self::member::Records;
use self::sparse::Map;
use super::arrival::{ARRIVALS_MAX, Arrival, receive};
use super::local::{local_error, send_file};
use super::{TreeOptions, TreeReport};
use crate::error::{Error, Result};
use crate::items::Names;
use crate::shared::Shared;

impl Shared {
    /// Unpacks what `archive` brings into the directory `to`, which is made if it is not there.
    pub(crate) async fn extract_tar(
        self: &Arc<Self>,
        archive: impl Read + Send + 'static,
        to: &[u8],
        options: &TreeOptions,
    ) -> Result<TreeReport> {
        self.check_writable()?;
        let ground = self.tree_ground_made(to).await?;
        let (sender, arrivals) = mpsc::channel(ARRIVALS_MAX);
        let unpack = tokio::task::spawn_blocking(move || unpack(archive, &sender));
        let report = receive(ground, arrivals, options).await?;
        let read = unpack.await.map_err(|_| Error::Usage("the runtime is being shut down"))?;
        read.map_err(|error| local_error(&error))?;
        Ok(report)
    }
}

fn unpack(archive: impl Read, to: &mpsc::Sender<Arrival>) -> io::Result<()> {
    let mut archive = Archive::new(archive);
    let mut global = Records::default();
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.header().entry_type() == EntryType::XGlobalHeader {
            global.add_global(&mut entry)?;
            continue;
        }
        let path = Bytes::copy_from_slice(&entry.path_bytes());
        let sent = match send(&mut entry, &global, to) {
            Ok(sent) => sent,
            Err(error) => to.blocking_send(Arrival::Failed { path, error }).is_ok(),
        };
        if !sent {
            break;
        }
    }
    Ok(())
}

/// Sends a member of the archive on. Returns false when the receiver is gone.
fn send(entry: &mut Entry<'_, impl Read>, global: &Records, to: &mpsc::Sender<Arrival>) -> Result<bool> {
    let local = |error: io::Error| local_error(&error);
    let records = Records::of(entry, global).map_err(local)?;
    let sparse = records.sparse()?;
    let path = match sparse.as_ref().and_then(|sparse| sparse.name.clone()) {
        Some(name) => name,
        None => Bytes::copy_from_slice(&entry.path_bytes()),
    };
    let kind = entry.header().entry_type();
    // Leading slashes are dropped, and no entry leaves the directory.
    let at = Names::parse(&path)?;
    if at.is_empty() {
        return match kind {
            EntryType::Directory => Ok(true),
            _ => Err(Error::Usage("it has no name")),
        };
    }
    let meta = records.meta(entry).map_err(local)?;
    let target = entry.link_name_bytes().map(|target| Bytes::copy_from_slice(&target));
    let arrival = match (kind, target) {
        (EntryType::Directory, _) => Arrival::Directory { at, meta },
        (EntryType::Symlink, Some(target)) if !target.contains(&0) => Arrival::Symlink { at, target, meta },
        (EntryType::Link, Some(target)) => Arrival::Link { source: Names::parse(&target)?, at },
        (EntryType::Symlink | EntryType::Link, _) => return Err(Error::Usage("the link leads to no path")),
        (EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse, _) => {
            return match sparse {
                Some(sparse) => {
                    let map = Map::read(sparse, entry).map_err(local)?;
                    Ok(map.send(to, at, meta, entry))
                }
                None => {
                    let size = entry.size();
                    Ok(send_file(to, at, meta, size, entry))
                }
            };
        }
        (EntryType::Block | EntryType::Char | EntryType::Fifo, _) => {
            return Err(Error::Usage("devices and pipes are not unpacked"));
        }
        _ => return Err(Error::Usage("members of this type are not unpacked")),
    };
    Ok(to.blocking_send(arrival).is_ok())
}
