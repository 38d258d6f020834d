//! What the local file system and an archive have in common as sources: metadata, and files in parts.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Mutex, mpsc};

use super::arrival::{Arrival, Meta};
use super::{PART_BYTES, PARTS_MAX, SMALL_BYTES_MAX};
use crate::attributes::Time;
use crate::error::Error;
use crate::holes::data_runs;
use crate::items::Names;

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

/// Sends a file of `size` bytes: a small one whole, a large one in parts and without its holes. A file with
/// more content than a small `size` says, such as those of `/proc`, is sent to its end. Returns false when
/// the receiver is gone.
pub(super) fn send_file(
    to: &mpsc::Sender<Arrival>,
    at: Names,
    meta: Meta,
    size: u64,
    from: &mut impl Read,
) -> bool {
    let mut first = Vec::new();
    if size <= SMALL_BYTES_MAX {
        first.reserve(size as usize + 1);
        let read = from.take(SMALL_BYTES_MAX + 1).read_to_end(&mut first);
        let arrival = match read {
            Ok(_) if first.len() as u64 > SMALL_BYTES_MAX => None,
            Ok(_) => {
                Some(Arrival::File { at: at.clone(), data: Bytes::from(std::mem::take(&mut first)), meta })
            }
            Err(error) => Some(Arrival::Failed { path: at.to_path(), error: local_error(&error) }),
        };
        if let Some(arrival) = arrival {
            return to.blocking_send(arrival).is_ok();
        }
    }
    let size = (size > SMALL_BYTES_MAX).then_some(size);
    let (sender, parts) = mpsc::channel(PARTS_MAX);
    let parts = Arc::new(Mutex::new(parts));
    if to.blocking_send(Arrival::Large { at, size, parts, meta }).is_err() {
        return false;
    }
    let mut offset = 0;
    loop {
        let mut part = std::mem::take(&mut first);
        let left = (PART_BYTES - part.len()) as u64;
        let part = from.by_ref().take(left).read_to_end(&mut part).map(|_| Bytes::from(part));
        let sent = match part {
            Ok(part) if part.is_empty() => return true,
            Ok(part) => {
                let at = offset;
                offset += part.len() as u64;
                match size {
                    // A hole stays one: the length of the file is set at the end.
                    Some(_) => data_runs(at, part).try_for_each(|run| sender.blocking_send(Ok(run))),
                    None => sender.blocking_send(Ok((at, part))),
                }
            }
            Err(error) => {
                let _ = sender.blocking_send(Err(local_error(&error)));
                return true;
            }
        };
        // The item has failed, and says why itself; what is left of the file is passed over by the source.
        if sent.is_err() {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(size: u64, content: &[u8]) -> (Arrival, Vec<(u64, Bytes)>) {
        let (to, mut arrivals) = mpsc::channel(1);
        let at = Names::parse(b"f").unwrap();
        let content = content.to_vec();
        let sending =
            std::thread::spawn(move || send_file(&to, at, Meta::default(), size, &mut &content[..]));
        let arrival = arrivals.blocking_recv().unwrap();
        let mut runs = Vec::new();
        if let Arrival::Large { parts, .. } = &arrival {
            let mut parts = parts.blocking_lock();
            while let Some(part) = parts.blocking_recv() {
                runs.push(part.unwrap());
            }
        }
        assert!(sending.join().unwrap());
        (arrival, runs)
    }

    #[test]
    fn file_that_is_said_to_be_empty_is_sent_to_its_end() {
        let (arrival, _) = sent(0, b"some");
        assert!(matches!(arrival, Arrival::File { data, .. } if &data[..] == b"some"));
        // Zeros too: only the parts give the length.
        for content in [vec![1; 3_000_000], vec![0; 3_000_000]] {
            let (arrival, runs) = sent(0, &content);
            assert!(matches!(arrival, Arrival::Large { size: None, .. }));
            let mut end = 0;
            for (offset, data) in runs {
                assert_eq!(offset, end);
                end += data.len() as u64;
            }
            assert_eq!(end, 3_000_000);
        }
    }

    #[test]
    fn holes_of_a_large_file_are_not_sent() {
        let (arrival, runs) = sent(3_000_000, &[0; 3_000_000]);
        assert!(matches!(arrival, Arrival::Large { size: Some(3_000_000), .. }));
        let bytes: usize = runs.iter().map(|(_, data)| data.len()).sum();
        assert!(bytes < 64 << 10, "no more than the last block, which is not whole");
    }
}
