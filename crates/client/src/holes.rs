//! Finds the holes of files and keeps them in copies.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{self, DataContent};

use crate::attributes::SetAttributes;
use crate::error::{Error, Result, Status};
use crate::file::OpenFile;

/// The length and the alignment, in bytes, of a run of zeros that a copy leaves out. A copy writes shorter
/// runs: one more request costs more.
const HOLE_BYTES: u64 = 64 << 10;
/// The bytes of one step of a copy.
const PIECE_BYTES: u64 = 4 << 20;

/// Returns the parts of `data`, which begins at `offset` of a file, without the aligned blocks of zeros.
pub fn data_runs(offset: u64, data: Bytes) -> impl Iterator<Item = (u64, Bytes)> {
    let end = data.len();
    let mut at = 0;
    std::iter::from_fn(move || {
        let block = |at: usize| {
            let next = (offset + at as u64) / HOLE_BYTES * HOLE_BYTES + HOLE_BYTES - offset;
            at..(next as usize).min(end)
        };
        let is_zero = |at: usize| {
            let range = block(at);
            is_whole(offset, &range) && data[range].iter().all(|byte| *byte == 0)
        };
        while at < end && is_zero(at) {
            at = block(at).end;
        }
        let begin = at;
        while at < end && !is_zero(at) {
            at = block(at).end;
        }
        (begin < at).then(|| (offset + begin as u64, data.slice(begin..at)))
    })
}

fn is_whole(offset: u64, range: &std::ops::Range<usize>) -> bool {
    (offset + range.start as u64).is_multiple_of(HOLE_BYTES) && range.len() as u64 == HOLE_BYTES
}

impl OpenFile {
    /// Returns where data may begin at or after `offset`, or `None` when a hole reaches to the end. Without
    /// SEEK (RFC 7862 §15.11) that is `offset`. An answer below `offset` or above 2^63 - 1 is an error.
    pub(crate) async fn next_data(self: &Arc<Self>, offset: u64) -> Result<Option<u64>> {
        match self.seek(offset, DataContent::Data).await {
            Err(error) if is_unsupported(&error) => Ok(Some(offset)),
            Ok(Some(found)) if found < offset => Err(Error::misbehaved("SEEK", "it goes back")),
            Ok(Some(found)) if i64::try_from(found).is_err() => {
                Err(Error::misbehaved("SEEK", "no file is that long"))
            }
            found => found,
        }
    }

    /// Returns true for a file that uses less space than its size.
    pub(crate) async fn may_have_holes(self: &Arc<Self>) -> Result<bool> {
        let known = self.shared.attributes(&self.node).await?;
        Ok(known.used < known.size)
    }

    /// Copies the whole file into the empty `target`, keeps its holes, and returns its length.
    pub(crate) async fn copy_whole(self: &Arc<Self>, target: &Arc<Self>) -> Result<u64> {
        if !self.may_have_holes().await? {
            return self.copy_range(&.., target, 0).await;
        }
        let size = self.shared.attributes(&self.node).await?.size;
        let written = match self.copy_data(size, target).await {
            Err(error) if is_unsupported(&error) => self.copy_runs(size, target).await?,
            written => written?,
        };
        if written < size {
            let set = SetAttributes { size: Some(size), ..SetAttributes::default() };
            target.shared.set_attributes(&target.node, &set, Some(target)).await?;
        }
        Ok(size)
    }

    /// Copies the data that SEEK finds and returns where the last of them end.
    async fn copy_data(self: &Arc<Self>, size: u64, target: &Arc<Self>) -> Result<u64> {
        let mut at = 0;
        while at < size
            && let Some(data) = self.seek(at, DataContent::Data).await?
        {
            // The file has grown meanwhile.
            if data >= size {
                break;
            }
            let end = self.seek(data, DataContent::Hole).await?.unwrap_or(size).min(size);
            if data < at || end <= data {
                return Err(Error::misbehaved("SEEK", "data end before they begin"));
            }
            at = data + self.copy_range(&(data..end), target, data).await?;
            // The file has become shorter.
            if at < end {
                break;
            }
        }
        Ok(at)
    }

    /// Reads the whole file, writes all but blocks of zeros, and returns where the last write ends.
    async fn copy_runs(self: &Arc<Self>, size: u64, target: &Arc<Self>) -> Result<u64> {
        let (mut at, mut written) = (0, 0);
        while at < size {
            let data = self.read(at, (size - at).min(PIECE_BYTES) as usize).await?;
            if data.is_empty() {
                break;
            }
            let begin = at;
            at += data.len() as u64;
            for (offset, run) in data_runs(begin, data) {
                written = offset + run.len() as u64;
                target.write(offset, run).await?;
            }
        }
        Ok(written)
    }
}

/// Returns true when the server does not support SEEK.
fn is_unsupported(error: &Error) -> bool {
    matches!(
        error,
        Error::Unsupported { .. } | Error::Server { status: Status::Nfs4(nfs4::Status::NotSupported), .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLE: usize = HOLE_BYTES as usize;

    fn runs(offset: u64, data: Vec<u8>) -> Vec<(u64, usize)> {
        data_runs(offset, data.into()).map(|(at, run)| (at, run.len())).collect()
    }

    #[test]
    fn whole_blocks_of_zeros_are_left_out() {
        assert_eq!(runs(0, vec![0; 3 * HOLE]), []);
        assert_eq!(runs(0, vec![1; 3 * HOLE]), [(0, 3 * HOLE)]);
        let mut data = vec![0; 4 * HOLE];
        data[HOLE + 5] = 1;
        data[2 * HOLE] = 1;
        assert_eq!(runs(0, data.clone()), [(HOLE_BYTES, 2 * HOLE)]);
        // Blocks are those of the file, not of the part.
        assert_eq!(runs(10, data)[0].0, 10);
        assert_eq!(runs(10, vec![0; HOLE]), [(10, HOLE)]);
        assert_eq!(runs(HOLE_BYTES, vec![0; HOLE + 1]), [(2 * HOLE_BYTES, 1)]);
        assert_eq!(runs(7, Vec::new()), []);
    }

    #[test]
    fn runs_put_together_are_the_data() {
        let mut data: Vec<u8> = vec![0; 9 * HOLE + 77];
        for at in [0, HOLE - 1, 3 * HOLE, 5 * HOLE + 9, 9 * HOLE + 76] {
            data[at] = 7;
        }
        for offset in [0, 1, HOLE_BYTES - 1, HOLE_BYTES] {
            let mut copy = vec![0; data.len()];
            for (at, run) in data_runs(offset, data.clone().into()) {
                let at = (at - offset) as usize;
                copy[at..at + run.len()].copy_from_slice(&run);
            }
            assert!(copy == data, "{offset}");
        }
    }
}
