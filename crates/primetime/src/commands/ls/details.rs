//! What a long list has besides the replies to READDIR.

use bytes::Bytes;
use client::Batch;

use super::{Entry, Listing};
use crate::remote::{Spot, remote_path};

/// Entries that are asked for together.
const ENTRIES_PER_BATCH: usize = 1024;
/// The targets of links that are held together, in bytes. Each has up to 8 KiB.
const TARGETS_BYTES_MAX: usize = 1 << 30;

impl Listing<'_> {
    /// Asks for attributes that the server left out of its list, and for where symbolic links lead.
    pub(super) async fn complete(&self, spot: &Spot, rows: &mut [Entry]) {
        if !self.wants_details() {
            return;
        }
        let mut unknown: Vec<&mut Entry> = rows.iter_mut().filter(|row| row.attributes.is_none()).collect();
        for rows in unknown.chunks_mut(ENTRIES_PER_BATCH) {
            let mut batch = Batch::new();
            for row in rows.iter() {
                batch.symlink_metadata(remote_path::join(&spot.path, &row.name));
            }
            for (row, result) in rows.iter_mut().zip(spot.client.run(batch).await) {
                match result {
                    Ok(output) => row.attributes = output.into_attributes(),
                    Err(error) => self.session.failed("list", row.url(), &error),
                }
            }
        }
        let mut bytes = 0;
        let mut links: Vec<&mut Entry> = rows.iter_mut().filter(|row| row.is_symlink()).collect();
        for links in links.chunks_mut(ENTRIES_PER_BATCH) {
            if bytes > TARGETS_BYTES_MAX {
                let error = client::Error::Usage("the targets of its links have more than 1 GiB; give -U");
                self.session.failed("read links in", &spot.url, &error);
                return;
            }
            let mut batch = Batch::new();
            for link in links.iter() {
                batch.read_link(remote_path::join(&spot.path, &link.name));
            }
            for (link, result) in links.iter_mut().zip(spot.client.run(batch).await) {
                match result {
                    Ok(output) => {
                        // A copy, as the bytes are a part of a whole reply.
                        link.target = output.into_data().map(|target| Bytes::copy_from_slice(&target));
                        bytes += link.target.as_ref().map_or(0, Bytes::len);
                    }
                    Err(error) => self.session.failed("read the link", link.url(), &error),
                }
            }
        }
    }
}
