//! Reading files: from the cache, from reads under way, from the server; and ahead of sequential readers.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{FuturesOrdered, TryStreamExt};

use crate::cache::DataKey;
use crate::error::{Error, Result};
use crate::fetch::Fetch;
use crate::file::OpenFile;

/// How often data that were fetched may be gone from a crowded cache before they are read around it.
const ATTEMPTS_MAX: usize = 4;
/// Pieces of one readahead window. The server decides how long a piece is, so their number needs a bound of
/// its own.
const AHEAD_PIECES_MAX: usize = 1024;

/// How much of a file is asked for at once, in bytes: more might not stay in the cache until all of it has
/// come.
const WINDOW_BYTES: usize = 64 << 20;
/// The epoch of data that are not to be cached.
const NO_EPOCH: u64 = u64::MAX;

/// Data from the server, and whether the file ends there.
struct Piece {
    data: Bytes,
    eof: bool,
}

impl OpenFile {
    /// Up to `length` bytes at `offset`. Memory is taken for data that have arrived, whatever the length is
    /// said to be.
    pub(crate) async fn read(self: &Arc<Self>, offset: u64, length: usize) -> Result<Bytes> {
        if length <= WINDOW_BYTES {
            return self.read_window(offset, length).await;
        }
        if offset.checked_add(length as u64).is_none() {
            return Err(Error::Usage("the range ends beyond 2^64"));
        }
        let mut whole = BytesMut::new();
        while whole.len() < length {
            let wanted = (length - whole.len()).min(WINDOW_BYTES);
            let data = self.read_window(offset + whole.len() as u64, wanted).await?;
            whole.extend_from_slice(&data);
            if data.len() < wanted {
                break;
            }
        }
        Ok(whole.freeze())
    }

    /// Up to [`WINDOW_BYTES`].
    async fn read_window(self: &Arc<Self>, offset: u64, length: usize) -> Result<Bytes> {
        let end = offset.checked_add(length as u64).ok_or(Error::Usage("the range ends beyond 2^64"))?;
        self.check_not_lost()?;
        let mut range = offset..end;
        self.note_use(None);
        if self.shared.options.data_cache
            && let Some(data) = self.node.writer().and_then(|writer| writer.read(&range))
        {
            return Ok(data);
        }
        self.node.write_out_overlapping(&range).await;
        if !self.shared.options.data_cache {
            return self.read_through(range).await;
        }
        let mut may_wait_in_stream = true;
        for _ in 0..ATTEMPTS_MAX {
            let (key, size) = self.cache_place();
            let (key, size) = match size {
                Some(size) => (key, size),
                // The server would say that the file ends before data that it has not got.
                None if self.node.unwritten_end() > Some(range.start) => {
                    self.shared.write_out(&self.node).await;
                    continue;
                }
                // Without believed attributes nothing cached may be used; the reply to READ brings them.
                None if self.shared.data.lock().missing(key, range.clone()) == [range.clone()] => {
                    let first = range.start..range.end.min(range.start + u64::from(self.piece_bytes()));
                    let piece = self.fetch(key, &first).await?;
                    if let Some(piece) = piece.filter(|piece| piece.eof || first == range) {
                        return Ok(piece.data);
                    }
                    continue;
                }
                None => {
                    let attributes = self.shared.revalidate(&self.node).await?;
                    let state = self.node.state.lock();
                    if !state.known.is_of(&attributes) {
                        // Something else was told meanwhile: what is cached may be of neither.
                        continue;
                    }
                    (state.data_key(self.node.key), attributes.size)
                }
            };
            if range.end > size && self.shared.write_out(&self.node).await {
                // The file is longer than the server has told.
                continue;
            }
            range.end = range.end.min(size.max(range.start));
            if range.is_empty() {
                return Ok(Bytes::new());
            }
            if may_wait_in_stream {
                self.read_ahead(&range, size, key);
            }
            let cached = self.shared.data.lock().read(key, range.clone());
            if let Some(data) = cached {
                return Ok(data);
            }
            if may_wait_in_stream {
                self.readahead.lock().reader_waited();
                may_wait_in_stream = false;
            }
            let missing = self.shared.data.lock().missing(key, range.clone());
            if missing == [range.clone()] && range.end - range.start <= u64::from(self.piece_bytes()) {
                if let Some(piece) = self.fetch(key, &range).await? {
                    return Ok(piece.data);
                }
                continue;
            }
            if let Some(file_end) = self.fetch_all(key, &missing).await? {
                range.end = range.end.min(file_end.max(range.start));
            }
        }
        self.read_through(range).await
    }

    /// Where the data are cached, and how long the file is if that is believed.
    fn cache_place(&self) -> (DataKey, Option<u64>) {
        let state = self.node.state.lock();
        let attributes = state.believed(Instant::now());
        (state.data_key(self.node.key), attributes.map(|attributes| attributes.size))
    }

    /// Reads `range`, at most one READ's worth. `None` when somebody else was reading it: now it may be in
    /// the cache.
    async fn fetch(self: &Arc<Self>, key: DataKey, range: &Range<u64>) -> Result<Option<Piece>> {
        match self.node.fetches.begin(key.epoch, range) {
            // Another's may have ended since it was found missing.
            Ok(_) if self.shared.data.lock().missing(key, range.clone()).is_empty() => Ok(None),
            Ok(fetch) => self.fetch_announced(key, range, fetch).await.map(Some),
            Err(mut other) => {
                // Ends with an error when the other's read is over, which is what is waited for.
                let _ = other.changed().await;
                Ok(None)
            }
        }
    }

    /// As [`OpenFile::fetch`], for a read that others have been told of.
    async fn fetch_announced(
        self: &Arc<Self>,
        mut key: DataKey,
        range: &Range<u64>,
        _fetch: Fetch,
    ) -> Result<Piece> {
        let writes = self.node.state.lock().writes;
        let asked = Instant::now();
        let piece = self.read_piece(range, &mut key.epoch).await?;
        let mut state = self.node.state.lock();
        if key.epoch != NO_EPOCH && state.writes == writes {
            self.shared.note_cached(&mut state, asked);
            drop(state);
            self.shared.data.lock().insert(key, range.start, &piece.data);
        }
        Ok(piece)
    }

    /// Reads ranges in parallel, in their order. Returns where the file ends, if a piece met its end.
    ///
    /// Nothing behind that is asked for, since the size that the server has reported may be any number.
    /// READs that are under way are waited for: an abandoned one costs a request, which asks what became of
    /// its slot.
    async fn fetch_all(self: &Arc<Self>, key: DataKey, ranges: &[Range<u64>]) -> Result<Option<u64>> {
        let piece_bytes = u64::from(self.piece_bytes());
        let mut pieces = ranges.iter().cloned().flat_map(move |range| split(&range, piece_bytes));
        let mut fetches = FuturesOrdered::new();
        let mut file_end = None;
        loop {
            while file_end.is_none()
                && fetches.len() < in_flight_max(piece_bytes)
                && let Some(range) = pieces.next()
            {
                fetches.push_back(async move {
                    let piece = self.fetch(key, &range).await?;
                    let end =
                        piece.filter(|piece| piece.eof).map(|piece| range.start + piece.data.len() as u64);
                    Ok::<_, Error>(end)
                });
            }
            match fetches.try_next().await? {
                Some(end) => file_end = file_end.or(end),
                None => return Ok(file_end),
            }
        }
    }

    /// Reads `range` without any cache.
    async fn read_through(self: &Arc<Self>, range: Range<u64>) -> Result<Bytes> {
        if self.node.unwritten_end() > Some(range.start) {
            self.shared.write_out(&self.node).await;
        }
        let piece_bytes = u64::from(self.piece_bytes());
        if range.end - range.start <= piece_bytes {
            return Ok(if range.is_empty() {
                Bytes::new()
            } else {
                self.read_piece(&range, &mut 0).await?.data
            });
        }
        let mut pieces = split(&range, piece_bytes);
        let mut reads = FuturesOrdered::new();
        let mut whole =
            BytesMut::with_capacity(usize::try_from(range.end - range.start).unwrap_or(0).min(WINDOW_BYTES));
        let mut ended = false;
        loop {
            while !ended
                && reads.len() < in_flight_max(piece_bytes)
                && let Some(piece) = pieces.next()
            {
                reads.push_back(async move { self.read_piece(&piece, &mut 0).await });
            }
            let Some(piece) = reads.try_next().await? else { return Ok(whole.freeze()) };
            // Data behind the end belong to a file that has grown meanwhile.
            if !ended {
                whole.extend_from_slice(&piece.data);
                ended = piece.eof;
            }
        }
    }

    /// Reads `range`, at most one READ's worth, with as many READs as a server that gives less than asked for
    /// takes.
    ///
    /// `epoch` is the one that the data belong to. When a reply itself tells that the file has changed, they
    /// belong to the epoch that begins with it, if it told so before it had read them; when it began for
    /// another reason, as a lock, they are too old for it.
    async fn read_piece(self: &Arc<Self>, range: &Range<u64>, epoch: &mut u64) -> Result<Piece> {
        let mut whole = BytesMut::new();
        loop {
            let asked = Instant::now();
            let offset = range.start + whole.len() as u64;
            let wanted = (range.end - offset) as u32;
            let reply = self.shared.protocol().read(self, offset, wanted).await?;
            self.shared.tap.data_read(reply.data.len());
            if reply.data.len() > wanted as usize {
                return Err(Error::misbehaved("READ", "more data than were asked for"));
            }
            if let Some(attributes) = reply.attributes {
                let fits = reply.described_first || self.node.state.lock().known.is_last(&attributes);
                let (before, after) = self.shared.learn(&self.node, attributes, asked);
                if before == *epoch {
                    *epoch = if fits { after } else { NO_EPOCH };
                }
            }
            let complete = reply.eof || reply.data.len() == wanted as usize;
            if complete && whole.is_empty() {
                return Ok(Piece { data: reply.data, eof: reply.eof });
            }
            if reply.data.is_empty() && !reply.eof {
                return Err(Error::misbehaved("READ", "no data before the end of the file"));
            }
            whole.extend_from_slice(&reply.data);
            if complete {
                return Ok(Piece { data: whole.freeze(), eof: reply.eof });
            }
        }
    }

    /// Starts to fetch what a sequential reader will want next, and asks for it in that order: a reader whose
    /// next piece comes behind the others waits for all of them, and has nothing further fetched meanwhile.
    fn read_ahead(self: &Arc<Self>, range: &Range<u64>, size: u64, key: DataKey) {
        let Some(ahead) = self.readahead.lock().advance(range, size) else { return };
        let missing = self.shared.data.lock().missing(key, ahead);
        let piece_bytes = u64::from(self.piece_bytes());
        let pieces = missing.iter().flat_map(|range| split_aligned(range, piece_bytes));
        for piece in pieces.take(AHEAD_PIECES_MAX) {
            // Announced before the reader goes on, or it would ask for the same itself.
            let Ok(fetch) = self.node.fetches.begin(key.epoch, &piece) else { continue };
            let file = Arc::clone(self);
            self.ahead.begin(async move {
                if let Err(error) = file.fetch_announced(key, &piece, fetch).await {
                    // The reader will meet it itself, if it gets there.
                    tracing::debug!(%error, "readahead");
                }
            });
        }
    }

    fn piece_bytes(&self) -> u32 {
        self.shared.limits().read_bytes_max
    }
}

/// How many READs or WRITEs of this size one call keeps in flight: 64 MiB together, but 16 to 1024 of them.
pub(crate) fn in_flight_max(piece_bytes: u64) -> usize {
    ((64 << 20) / piece_bytes.max(1)).clamp(16, 1024) as usize
}

/// `range` in pieces of at most `piece_bytes`.
fn split(range: &Range<u64>, piece_bytes: u64) -> impl Iterator<Item = Range<u64>> + use<> {
    let (start, end) = (range.start, range.end);
    (start..end).step_by(piece_bytes as usize).map(move |at| at..at.saturating_add(piece_bytes).min(end))
}

/// As [`split`], with cuts at multiples of `piece_bytes`.
fn split_aligned(range: &Range<u64>, piece_bytes: u64) -> impl Iterator<Item = Range<u64>> + use<> {
    let (mut at, end) = (range.start, range.end);
    std::iter::from_fn(move || {
        let start = at;
        at = (start / piece_bytes).saturating_add(1).saturating_mul(piece_bytes).min(end);
        (start < end).then_some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_into_pieces() {
        assert_eq!(split(&(5..26), 10).collect::<Vec<_>>(), [5..15, 15..25, 25..26]);
        assert_eq!(split_aligned(&(5..26), 10).collect::<Vec<_>>(), [5..10, 10..20, 20..26]);
        assert_eq!(split_aligned(&(10..20), 10).next(), Some(10..20));
        assert_eq!(split_aligned(&(5..5), 10).count(), 0);
    }

    #[test]
    fn pieces_at_the_end_of_all_offsets_do_not_wrap() {
        let last = u64::MAX - 3..u64::MAX;
        assert_eq!(split(&last, 10).collect::<Vec<_>>(), std::slice::from_ref(&last));
        assert_eq!(split_aligned(&last, 1 << 40).collect::<Vec<_>>(), [last]);
    }

    #[test]
    fn pieces_in_flight_are_bounded_in_bytes_and_number() {
        assert_eq!([1, 512, 1 << 20, 1 << 30].map(in_flight_max), [1024, 1024, 64, 16]);
    }
}
