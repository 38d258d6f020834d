//! Unpacking an archive onto the server.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use tar::{Archive, Entry, EntryType};
use tokio::sync::mpsc;

use super::arrival::{ARRIVALS_MAX, Arrival, Meta, receive};
use super::local::{local_error, send_file};
use super::{TreeOptions, TreeReport};
use crate::attributes::Time;
use crate::batch::Names;
use crate::error::{Error, Result};
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

fn unpack(archive: impl Read, to: &mpsc::Sender<Arrival>) -> std::io::Result<()> {
    let mut archive = Archive::new(archive);
    for entry in archive.entries()? {
        if !send(&mut entry?, to)? {
            break;
        }
    }
    Ok(())
}

/// False when nobody listens any more.
fn send(entry: &mut Entry<'_, impl Read>, to: &mpsc::Sender<Arrival>) -> std::io::Result<bool> {
    let path = Bytes::copy_from_slice(&entry.path_bytes());
    // Leading slashes are dropped, and no entry leaves the directory.
    let at = match Names::parse(&path) {
        Ok(at) if at.is_empty() => return Ok(true),
        Ok(at) => at,
        Err(error) => {
            return Ok(to.blocking_send(Arrival::Failed { path, error }).is_ok());
        }
    };
    let meta = match meta(entry) {
        Ok(meta) => meta,
        Err(error) => {
            return Ok(to.blocking_send(Arrival::Failed { path, error: local_error(&error) }).is_ok());
        }
    };
    let target = entry.link_name_bytes().map(|target| Bytes::copy_from_slice(&target));
    let arrival = match (entry.header().entry_type(), target) {
        (EntryType::Directory, _) => Arrival::Directory { at, meta },
        (EntryType::Symlink, Some(target)) => Arrival::Symlink { at, target, meta },
        (EntryType::Link, Some(target)) => match Names::parse(&target) {
            Ok(source) => Arrival::Link { source, at },
            Err(error) => Arrival::Failed { path, error },
        },
        (EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse, _) => {
            let size = entry.size();
            return Ok(send_file(to, at, meta, size, entry));
        }
        // They say something of others, and were heard.
        (EntryType::XGlobalHeader, _) => return Ok(true),
        _ => Arrival::Failed { path, error: Error::Usage("devices, pipes and sockets are not unpacked") },
    };
    Ok(to.blocking_send(arrival).is_ok())
}

fn meta(entry: &mut Entry<'_, impl Read>) -> std::io::Result<Meta> {
    let header = entry.header();
    let mut meta = Meta {
        mode: header.mode()?,
        uid: u32::try_from(header.uid()?).unwrap_or(u32::MAX),
        gid: u32::try_from(header.gid()?).unwrap_or(u32::MAX),
        accessed: None,
        modified: Time { seconds: i64::try_from(header.mtime()?).unwrap_or(i64::MAX), nanoseconds: 0 },
    };
    // What does not fit into the header, and parts of seconds, are in the records before it.
    for extension in entry.pax_extensions()?.into_iter().flatten() {
        let extension = extension?;
        let (Ok(key), Ok(value)) = (extension.key(), extension.value()) else { continue };
        match key {
            "mtime" => meta.modified = time(value).unwrap_or(meta.modified),
            "atime" => meta.accessed = time(value),
            "uid" => meta.uid = value.parse().unwrap_or(meta.uid),
            "gid" => meta.gid = value.parse().unwrap_or(meta.gid),
            _ => {}
        }
    }
    Ok(meta)
}

/// Seconds with a decimal fraction, as POSIX has them; what is below a nanosecond is cut off.
fn time(text: &str) -> Option<Time> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().ok()?;
    let digits: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    let nanoseconds: u32 = digits.parse().ok()?;
    Some(match text.starts_with('-') && nanoseconds > 0 {
        true => Time { seconds: seconds.checked_sub(1)?, nanoseconds: 1_000_000_000 - nanoseconds },
        false => Time { seconds, nanoseconds },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_parts_of_seconds() {
        let time = |text| time(text).map(|time| (time.seconds, time.nanoseconds));
        assert_eq!(time("12"), Some((12, 0)));
        assert_eq!(time("12.5"), Some((12, 500_000_000)));
        assert_eq!(time("12.1234567891"), Some((12, 123_456_789)));
        assert_eq!(time("-1.25"), Some((-2, 750_000_000)));
        assert_eq!(time("x"), None);
    }
}
