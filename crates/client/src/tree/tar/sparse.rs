//! Sparse files in pax archives, in the formats of GNU tar: 0.0 and 0.1 have the map in records, 1.0 has it
//! before the data.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use tar::Entry;
use tokio::sync::{Mutex, mpsc};

use super::member::malformed;
use crate::items::Names;
use crate::tree::arrival::{Arrival, Meta};
use crate::tree::local::local_error;
use crate::tree::{PART_BYTES, PARTS_MAX, SMALL_BYTES_MAX};

/// The most pieces of data of one file.
const PIECES_MAX: usize = 1 << 20;
/// The map of format 1.0 is padded to a multiple of this, in bytes.
const BLOCK_BYTES: usize = 512;

/// The sparse records of a member.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sparse {
    /// The name of the file; it overrides that of the member.
    pub(super) name: Option<Bytes>,
    size: u64,
    /// Offsets and lengths of the data; `None` in format 1.0, which has them before the data.
    pieces: Option<Vec<(u64, u64)>>,
}

impl Sparse {
    /// Returns `None` without any sparse record.
    pub(super) fn parse<'a>(
        records: impl Iterator<Item = (&'a str, &'a Bytes)>,
    ) -> Result<Option<Self>, &'static str> {
        const BAD: &str = "the map of the sparse file is malformed";
        let (mut sparse, mut size, mut version) = (Self::default(), None, (0, 0));
        let (mut pieces, mut offset, mut any) = (Vec::new(), None, false);
        for (key, value) in records {
            any = true;
            let number = || number(value).ok_or(BAD);
            match key {
                "name" => sparse.name = Some(value.clone()),
                "size" | "realsize" => size = Some(number()?),
                "major" => version.0 = number()?,
                "minor" => version.1 = number()?,
                "offset" => offset = Some(number()?),
                "numbytes" => pieces.push((offset.take().ok_or(BAD)?, number()?)),
                "map" => pieces = pairs(value).ok_or(BAD)?,
                _ => {}
            }
            if pieces.len() > PIECES_MAX {
                return Err("the sparse file has more than a million pieces");
            }
        }
        sparse.size = match size {
            Some(size) => size,
            None if any => return Err("the sparse file has no size"),
            None => return Ok(None),
        };
        sparse.pieces = match version {
            (0, 0 | 1) => Some(pieces),
            (1, 0) => None,
            _ => return Err("the format of the sparse file is not supported"),
        };
        Ok(Some(sparse))
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn pairs(text: &[u8]) -> Option<Vec<(u64, u64)>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let numbers: Option<Vec<u64>> = text.split(|byte| *byte == b',').map(number).collect();
    let numbers = numbers.filter(|numbers| numbers.len() % 2 == 0 && numbers.len() <= 2 * PIECES_MAX)?;
    Some(numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

/// The map of a sparse file: its size, and the offsets and lengths of its data.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Map {
    size: u64,
    pieces: Vec<(u64, u64)>,
}

impl Map {
    /// Reads the map of format 1.0, and checks the map of any format against the length of the data.
    pub(super) fn read(sparse: Sparse, entry: &mut Entry<'_, impl Read>) -> io::Result<Self> {
        let stored = entry.size();
        Self::read_from(sparse, entry, stored)
    }

    fn read_from(sparse: Sparse, from: &mut impl Read, stored: u64) -> io::Result<Self> {
        let (pieces, map_bytes) = match sparse.pieces {
            Some(pieces) => (pieces, 0),
            None => read_pieces(from)?,
        };
        let (mut end, mut data_bytes) = (0_u64, 0_u64);
        for (offset, length) in &pieces {
            if *offset < end {
                return Err(malformed("pieces of the sparse file overlap"));
            }
            end = offset.checked_add(*length).ok_or_else(|| malformed("the sparse file is too long"))?;
            // No more than `end`.
            data_bytes += length;
        }
        if end > sparse.size || map_bytes.checked_add(data_bytes) != Some(stored) {
            return Err(malformed("the map of the sparse file does not fit its data"));
        }
        Ok(Self { size: sparse.size, pieces })
    }

    /// Sends the file without its holes. Returns false when the receiver is gone.
    pub(super) fn send(
        self,
        to: &mpsc::Sender<Arrival>,
        at: Names,
        meta: Meta,
        from: &mut impl Read,
    ) -> bool {
        if self.size <= SMALL_BYTES_MAX {
            let path = at.to_path();
            let arrival = match self.whole(from) {
                Ok(data) => Arrival::File { at, data: data.into(), meta },
                Err(error) => Arrival::Failed { path, error: local_error(&error) },
            };
            return to.blocking_send(arrival).is_ok();
        }
        let (sender, parts) = mpsc::channel(PARTS_MAX);
        let parts = Arc::new(Mutex::new(parts));
        if to.blocking_send(Arrival::Large { at, size: Some(self.size), parts, meta }).is_err() {
            return false;
        }
        for (offset, length) in self.pieces {
            let mut done = 0;
            while done < length {
                let mut part = vec![0; (length - done).min(PART_BYTES as u64) as usize];
                let part = from.read_exact(&mut part).map(|()| (offset + done, Bytes::from(part)));
                let failed = part.is_err();
                done += PART_BYTES as u64;
                // The item reports its failure itself.
                if sender.blocking_send(part.map_err(|error| local_error(&error))).is_err() || failed {
                    return true;
                }
            }
        }
        true
    }

    /// The content of a small file.
    fn whole(&self, from: &mut impl Read) -> io::Result<Vec<u8>> {
        let mut whole = vec![0; self.size as usize];
        for (offset, length) in &self.pieces {
            from.read_exact(&mut whole[*offset as usize..(offset + length) as usize])?;
        }
        Ok(whole)
    }
}

/// Reads the map of format 1.0: decimal numbers that end with a newline each, the number of pieces first,
/// then their offsets and lengths, padded to a block. Returns the bytes of the map, too.
fn read_pieces(from: &mut impl Read) -> io::Result<(Vec<(u64, u64)>, u64)> {
    let mut numbers = Numbers { from, block: [0; BLOCK_BYTES], at: BLOCK_BYTES, blocks: 0 };
    let count = numbers.next()?;
    if count > PIECES_MAX as u64 {
        return Err(malformed("the sparse file has more than a million pieces"));
    }
    let mut pieces = Vec::new();
    for _ in 0..count {
        pieces.push((numbers.next()?, numbers.next()?));
    }
    Ok((pieces, numbers.blocks * BLOCK_BYTES as u64))
}

struct Numbers<'a, R> {
    from: &'a mut R,
    block: [u8; BLOCK_BYTES],
    at: usize,
    blocks: u64,
}

impl<R: Read> Numbers<'_, R> {
    fn next(&mut self) -> io::Result<u64> {
        let mut digits = Vec::new();
        loop {
            if self.at == BLOCK_BYTES {
                self.from.read_exact(&mut self.block)?;
                (self.at, self.blocks) = (0, self.blocks + 1);
            }
            let byte = self.block[self.at];
            self.at += 1;
            match byte {
                b'\n' if !digits.is_empty() => break,
                // The most digits of a `u64`.
                b'0'..=b'9' if digits.len() < 20 => digits.push(byte),
                _ => return Err(malformed("the map of the sparse file is malformed")),
            }
        }
        number(&digits).ok_or_else(|| malformed("the map of the sparse file is malformed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(records: &[(&str, &'static str)]) -> Result<Option<Sparse>, &'static str> {
        let records: Vec<_> =
            records.iter().map(|(key, value)| (*key, Bytes::from_static(value.as_bytes()))).collect();
        Sparse::parse(records.iter().map(|(key, value)| (*key, value)))
    }

    fn map(records: &[(&str, &'static str)], data: &[u8]) -> io::Result<(Map, Vec<u8>)> {
        let mut from = data;
        let map = Map::read_from(parse(records).unwrap().unwrap(), &mut from, data.len() as u64)?;
        let whole = map.whole(&mut from)?;
        Ok((map, whole))
    }

    #[test]
    fn all_three_forms_have_the_same_content() {
        let old = [
            ("size", "10"),
            ("numblocks", "2"),
            ("offset", "1"),
            ("numbytes", "2"),
            ("offset", "6"),
            ("numbytes", "3"),
        ];
        let newer = [("size", "10"), ("numblocks", "2"), ("map", "1,2,6,3"), ("name", "n")];
        let newest = [("major", "1"), ("minor", "0"), ("name", "n"), ("realsize", "10")];
        let mut block = b"2\n1\n2\n6\n3\n".to_vec();
        block.resize(512, 0);
        block.extend_from_slice(b"abcde");
        let expected = b"\0ab\0\0\0cde\0";
        assert_eq!(map(&old, b"abcde").unwrap().1, expected);
        assert_eq!(map(&newer, b"abcde").unwrap().1, expected);
        assert_eq!(map(&newest, &block).unwrap().1, expected);
        assert_eq!(parse(&newer).unwrap().unwrap().name.unwrap(), "n");
        assert_eq!(parse(&[]), Ok(None));
    }

    #[test]
    fn maps_that_do_not_fit_are_errors() {
        for records in [
            &[("size", "x")][..],
            &[("major", "2"), ("minor", "0"), ("realsize", "1")],
            &[("name", "n")],
            &[("size", "1"), ("numbytes", "1")],
            &[("size", "9"), ("map", "1,2,3")],
            &[("size", "99999999999999999999999")],
        ] {
            assert!(parse(records).is_err(), "{records:?}");
        }
        for pieces in ["0,4", "0,6", "3,2,0,3", "8,5", "0,5,18446744073709551615,1", "0,2,1,3"] {
            let records = [("size", "10"), ("map", pieces)];
            assert!(map(&records, b"abcde").is_err(), "{pieces}");
        }
        for start in [&b"1\n0\nx\n"[..], b"9999999\n", b"\n", b"111111111111111111111\n"] {
            let mut block = start.to_vec();
            block.resize(512, 0);
            let newest = [("major", "1"), ("minor", "0"), ("realsize", "10")];
            assert!(map(&newest, &block).is_err());
            assert!(map(&newest, &block[..100]).is_err());
        }
    }
}
