//! Record marking (RFC 5531 §11), with bounds on what a peer may announce. It does no I/O.

use bytes::{Buf, Bytes, BytesMut};

const LAST: u32 = 1 << 31;
/// Room to read into when nothing larger is expected, in bytes.
const READ_BYTES: usize = 64 << 10;
/// A fragment gets its whole room at once up to this size; a larger one when 1/16 of it has come.
const TRUSTED_BYTES: usize = 256 << 10;

/// What a peer may send.
#[derive(Debug, Clone, Copy)]
pub struct RecordLimits {
    /// The longest record in bytes.
    pub record_bytes_max: usize,
    /// The most fragments of a record.
    pub fragments_max: usize,
}

/// Why a stream of records cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A record is longer than allowed.
    #[error("a record of more than {0} bytes")]
    TooLong(usize),
    /// A record has more fragments than allowed.
    #[error("a record of more than {0} fragments")]
    TooManyFragments(usize),
}

/// The allocation that a record lies in. Records in the same allocation keep its bytes in memory once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Distinguishes the allocations of one reader.
    pub id: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Puts records together from the bytes of a stream. A record in one fragment is a slice of what was read.
#[derive(Debug)]
pub struct RecordReader {
    limits: RecordLimits,
    buffer: BytesMut,
    /// Counts the allocations that `buffer` had.
    chunk: u64,
    /// The bytes of its present allocation.
    chunk_bytes: usize,
    assembled: BytesMut,
    fragments: usize,
    /// Counts records in several fragments.
    assemblies: u64,
    /// The length of the last record, if it was such a one.
    assembled_bytes: usize,
}

impl RecordReader {
    /// A reader at the start of a stream.
    pub fn new(limits: RecordLimits) -> Self {
        Self {
            limits,
            buffer: BytesMut::new(),
            chunk: 0,
            chunk_bytes: 0,
            assembled: BytesMut::new(),
            fragments: 0,
            assemblies: 0,
            assembled_bytes: 0,
        }
    }

    /// The buffer to read into, with room. Memory is reserved in proportion to what has arrived.
    #[inline]
    pub fn buffer(&mut self) -> &mut BytesMut {
        let wanted = self.missing().max(READ_BYTES);
        let trusted = TRUSTED_BYTES.max(self.buffer.len().saturating_mul(16));
        let free = self.buffer.capacity() - self.buffer.len();
        if free < wanted.min(READ_BYTES) || (wanted > free && wanted <= trusted) {
            self.reserve(wanted.min(trusted));
        }
        &mut self.buffer
    }

    fn reserve(&mut self, bytes: usize) {
        let (start, before) = (self.buffer.as_ptr(), self.buffer.capacity());
        self.buffer.reserve(bytes);
        if self.buffer.as_ptr() == start {
            // It has grown where it is.
            self.chunk_bytes += self.buffer.capacity() - before;
        } else {
            self.chunk += 1;
            self.chunk_bytes = self.buffer.capacity();
        }
    }

    /// Returns the allocation that the last record lies in. A call keeps that memory until it ends.
    #[inline]
    pub fn chunk(&self) -> Chunk {
        const ASSEMBLED: u64 = 1 << 63;
        match self.assembled_bytes {
            0 => Chunk { id: self.chunk, bytes: self.chunk_bytes as u64 },
            bytes => Chunk { id: ASSEMBLED | self.assemblies, bytes: bytes as u64 },
        }
    }

    /// Returns how many bytes are reserved beyond the 64 KiB that every connection has.
    #[inline]
    pub fn extra_bytes(&self) -> u64 {
        (self.chunk_bytes.saturating_sub(READ_BYTES) + self.assembled.capacity()) as u64
    }

    /// Frees a buffer of more than 64 KiB that has no bytes; true when there was one.
    pub fn shrink(&mut self) -> bool {
        let is_wasted = self.buffer.is_empty() && self.chunk_bytes > READ_BYTES;
        if is_wasted {
            self.buffer = BytesMut::new();
            self.chunk += 1;
            self.chunk_bytes = 0;
        }
        is_wasted
    }

    /// True when a part of a record waits for the rest.
    #[inline]
    pub fn is_partial(&self) -> bool {
        !self.buffer.is_empty() || self.fragments > 0
    }

    /// The next complete record.
    ///
    /// # Errors
    /// When the peer announces more than the limits allow; the stream cannot be read any further.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Bytes>, RecordError> {
        loop {
            let Some((length, last)) = self.fragment() else { return Ok(None) };
            let total = self.assembled.len().saturating_add(length);
            if total > self.limits.record_bytes_max {
                return Err(RecordError::TooLong(self.limits.record_bytes_max));
            }
            if self.fragments >= self.limits.fragments_max {
                return Err(RecordError::TooManyFragments(self.limits.fragments_max));
            }
            if self.buffer.len() < 4 + length {
                return Ok(None);
            }
            self.buffer.advance(4);
            let data = self.buffer.split_to(length);
            if last && self.fragments == 0 {
                self.assembled_bytes = 0;
                return Ok(Some(data.freeze()));
            }
            self.assembled.extend_from_slice(&data);
            self.fragments += 1;
            if last {
                self.fragments = 0;
                self.assemblies += 1;
                self.assembled_bytes = self.assembled.len();
                return Ok(Some(std::mem::take(&mut self.assembled).freeze()));
            }
        }
    }

    /// Length of the fragment at the start of the buffer, and whether it is the last of its record.
    fn fragment(&self) -> Option<(usize, bool)> {
        let mark = u32::from_be_bytes(*self.buffer.first_chunk()?);
        Some(((mark & !LAST) as usize, mark & LAST != 0))
    }

    /// Returns how many bytes are missing from the fragment that has begun; 0 when none has.
    #[inline]
    pub fn missing(&self) -> usize {
        self.fragment().map_or(0, |(length, _)| (4 + length).saturating_sub(self.buffer.len()))
    }
}

/// The mark of a record in one fragment.
///
/// # Panics
/// At 2 GiB, which no record of ours has.
#[inline]
pub fn mark(length: usize) -> [u8; 4] {
    let length = u32::try_from(length).ok().filter(|l| l & LAST == 0).expect("a record is below 2 GiB");
    (length | LAST).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: RecordLimits = RecordLimits { record_bytes_max: 1000, fragments_max: 3 };

    fn fragment(data: &[u8], last: bool) -> Vec<u8> {
        let mut bytes = mark(data.len()).to_vec();
        if !last {
            bytes[0] &= 0x7f;
        }
        bytes.extend_from_slice(data);
        bytes
    }

    fn feed(reader: &mut RecordReader, bytes: &[u8]) -> Result<Vec<Bytes>, RecordError> {
        let mut records = Vec::new();
        for byte in bytes {
            reader.buffer().extend_from_slice(&[*byte]);
            while let Some(record) = reader.next_record()? {
                records.push(record);
            }
        }
        Ok(records)
    }

    #[test]
    fn a_record_may_come_byte_by_byte_in_fragments() {
        let mut reader = RecordReader::new(LIMITS);
        let bytes =
            [fragment(b"ab", false), fragment(b"", false), fragment(b"c", true), fragment(b"next", true)]
                .concat();
        assert_eq!(feed(&mut reader, &bytes).unwrap(), [Bytes::from("abc"), Bytes::from("next")]);
        assert!(!reader.is_partial());
    }

    #[test]
    fn record_above_the_limit_is_refused_at_its_mark() {
        let mut reader = RecordReader::new(LIMITS);
        assert_eq!(feed(&mut reader, &mark(1001)), Err(RecordError::TooLong(1000)));
        let mut reader = RecordReader::new(LIMITS);
        let halves = [fragment(&[0; 600], false), fragment(&[0; 600], true)].concat();
        assert_eq!(feed(&mut reader, &halves), Err(RecordError::TooLong(1000)));
        let mut reader = RecordReader::new(LIMITS);
        let many =
            [fragment(b"", false), fragment(b"", false), fragment(b"", false), fragment(b"", true)].concat();
        assert_eq!(feed(&mut reader, &many), Err(RecordError::TooManyFragments(3)));
    }

    #[test]
    fn an_announced_length_reserves_little_before_data_comes() {
        let mut reader = RecordReader::new(RecordLimits { record_bytes_max: 1 << 30, fragments_max: 1 });
        reader.buffer().extend_from_slice(&mark(1 << 29));
        assert!(reader.next_record().unwrap().is_none());
        assert!(reader.buffer().capacity() <= 2 * TRUSTED_BYTES);
    }

    /// Reads what there is room for of `bytes`, as from a socket; the rest.
    fn read<'a>(reader: &mut RecordReader, bytes: &'a [u8]) -> &'a [u8] {
        let buffer = reader.buffer();
        let count = bytes.len().min(buffer.capacity() - buffer.len());
        buffer.extend_from_slice(&bytes[..count]);
        &bytes[count..]
    }

    #[test]
    fn chunk_is_the_allocation_that_a_record_keeps_alive() {
        let mut reader = RecordReader::new(RecordLimits { record_bytes_max: 2 << 20, fragments_max: 8 });
        read(&mut reader, &[fragment(b"one", true), fragment(b"two", true)].concat());
        let one = reader.next_record().unwrap().unwrap();
        let first = reader.chunk();
        assert!(first.bytes >= READ_BYTES as u64);
        reader.next_record().unwrap().unwrap();
        assert_eq!(reader.chunk(), first, "both lie in one");
        assert_eq!(reader.extra_bytes(), 0);
        let large = fragment(&vec![7; 1 << 20], true);
        let mut rest = &large[..];
        let mut record = None;
        while record.is_none() {
            rest = read(&mut reader, rest);
            record = reader.next_record().unwrap();
        }
        let second = reader.chunk();
        assert!(second.id != first.id && (1 << 20..3 << 20).contains(&second.bytes), "{second:?}");
        assert!(reader.extra_bytes() >= 960 << 10);
        drop((one, record));
        assert!(reader.shrink() && !reader.shrink());
        assert_eq!(reader.extra_bytes(), 0);
        read(&mut reader, &[fragment(b"ab", false), fragment(b"c", true)].concat());
        reader.next_record().unwrap().unwrap();
        let assembled = reader.chunk();
        assert_eq!(assembled.bytes, 3);
        assert!(assembled.id != first.id && assembled.id != second.id);
    }

    proptest! {
        #[test]
        fn records_come_out_as_they_went_in(
            records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..6),
            cut in 1usize..50,
        ) {
            let bytes: Vec<u8> = records.iter().flat_map(|r| fragment(r, true)).collect();
            let mut reader = RecordReader::new(LIMITS);
            let mut seen = Vec::new();
            for chunk in bytes.chunks(cut) {
                reader.buffer().extend_from_slice(chunk);
                while let Some(record) = reader.next_record().unwrap() {
                    seen.push(record.to_vec());
                }
            }
            prop_assert_eq!(seen, records);
        }
    }
}
