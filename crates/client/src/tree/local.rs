//! What the local file system and an archive have in common as sources: metadata, and files in parts.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Mutex, mpsc};

use super::arrival::{Arrival, Meta};
use super::{PART_BYTES, PARTS_MAX, SMALL_BYTES_MAX};
use crate::attributes::Time;
use crate::batch::Names;
use crate::error::Error;

/// What went wrong with the local file system or an archive.
pub(super) fn local_error(error: &std::io::Error) -> Error {
    Error::Local { kind: error.kind(), cause: error.to_string() }
}

pub(super) fn meta(of: &std::fs::Metadata) -> Meta {
    let time = |seconds, nanoseconds| Time { seconds, nanoseconds: u32::try_from(nanoseconds).unwrap_or(0) };
    Meta {
        mode: of.mode() & 0o7777,
        uid: of.uid(),
        gid: of.gid(),
        accessed: Some(time(of.atime(), of.atime_nsec())),
        modified: time(of.mtime(), of.mtime_nsec()),
    }
}

/// Hands a file of `size` bytes on: a small one whole, a large one in parts. False when nobody listens any more.
pub(super) fn send_file(
    to: &mpsc::Sender<Arrival>,
    at: Names,
    meta: Meta,
    size: u64,
    from: &mut impl Read,
) -> bool {
    if size <= SMALL_BYTES_MAX {
        let mut data = Vec::with_capacity(size as usize);
        // Not more than a file of this size has, whatever becomes of it meanwhile.
        let arrival = match from.take(SMALL_BYTES_MAX).read_to_end(&mut data) {
            Ok(_) => Arrival::File { at, data: Bytes::from(data), meta },
            Err(error) => Arrival::Failed { path: at.to_path(), error: local_error(&error) },
        };
        return to.blocking_send(arrival).is_ok();
    }
    let (sender, parts) = mpsc::channel(PARTS_MAX);
    let parts = Arc::new(Mutex::new(parts));
    if to.blocking_send(Arrival::Large { at, size, parts, meta }).is_err() {
        return false;
    }
    let mut offset = 0;
    loop {
        let mut part = Vec::with_capacity(PART_BYTES);
        let part = from.by_ref().take(PART_BYTES as u64).read_to_end(&mut part).map(|_| part);
        let length = part.as_ref().map_or(0, Vec::len);
        let sent = match part {
            Ok(part) if part.is_empty() => return true,
            // A hole stays one: the length of the file is set at the end.
            Ok(part) if part.iter().all(|byte| *byte == 0) => Ok(()),
            Ok(part) => sender.blocking_send(Ok((offset, Bytes::from(part)))),
            Err(error) => {
                let _ = sender.blocking_send(Err(local_error(&error)));
                return true;
            }
        };
        // The item has failed, and says why itself; what is left of the file is passed over by the source.
        if sent.is_err() {
            return true;
        }
        offset += length as u64;
    }
}
