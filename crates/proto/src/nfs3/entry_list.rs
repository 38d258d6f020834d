//! Writes the entries of READDIR and READDIRPLUS straight into a reply, within the client's limits.

use xdr::{Encode, Encoder};

use super::{Entry, EntryPlus};

/// What ends a list: no further entry, and the end-of-directory flag.
const TRAILER_BYTES: usize = 8;

/// Appends entries to a success body until one does not fit.
///
/// `count` of READDIR and `maxcount` of READDIRPLUS bound the whole body with its XDR overhead, from the
/// directory's attributes to the end-of-directory flag; `dircount` bounds what an entry says apart from
/// attributes and handle (RFC 1813 §3.3.16, §3.3.17).
#[derive(Debug)]
pub struct EntryListWriter<'a> {
    to: &'a mut Encoder,
    end_max: usize,
    directory_bytes_left: usize,
    entries: usize,
}

impl<'a> EntryListWriter<'a> {
    /// A writer behind the directory's attributes and the cookie verifier. The success body starts at
    /// `body_start` and may be `body_bytes_max` long.
    pub fn new(to: &'a mut Encoder, body_start: usize, body_bytes_max: u32) -> Self {
        let end_max = body_start.saturating_add(body_bytes_max as usize);
        Self { to, end_max, directory_bytes_left: usize::MAX, entries: 0 }
    }

    /// Bounds names, file ids and cookies by `bytes_max` (`dircount`). The first entry is exempt: one that
    /// alone is larger could never be read otherwise.
    #[must_use]
    pub fn with_directory_bytes_max(mut self, bytes_max: u32) -> Self {
        self.directory_bytes_left = bytes_max as usize;
        self
    }

    /// Appends `entry`, or leaves everything as it was and returns false when it does not fit.
    pub fn push(&mut self, entry: &Entry) -> bool {
        self.append(entry, entry.name.len())
    }

    /// As [`EntryListWriter::push`], for READDIRPLUS.
    pub fn push_plus(&mut self, entry: &EntryPlus) -> bool {
        self.append(entry, entry.name.len())
    }

    /// Makes room for as much as may be written: as a buffer grows it is copied again and again.
    pub fn reserve(&mut self) {
        let bytes = self.body_bytes_left() + TRAILER_BYTES;
        self.to.buffer_mut().reserve(bytes);
    }

    /// Entries written.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Room for further entries in the body, in bytes.
    pub fn body_bytes_left(&self) -> usize {
        self.end_max.saturating_sub(self.to.len() + TRAILER_BYTES)
    }

    /// Room for names, file ids and cookies of further entries, in bytes.
    pub fn directory_bytes_left(&self) -> usize {
        self.directory_bytes_left
    }

    /// Ends the list. False when not even an empty list fits.
    pub fn finish(self, eof: bool) -> bool {
        self.to.bool(false);
        self.to.bool(eof);
        self.to.len() <= self.end_max
    }

    fn append(&mut self, entry: &impl Encode, name_bytes: usize) -> bool {
        let directory_bytes = directory_bytes(name_bytes);
        if self.entries > 0 && directory_bytes > self.directory_bytes_left {
            return false;
        }
        let before = self.to.len();
        self.to.bool(true);
        self.to.put(entry);
        if self.to.len() + TRAILER_BYTES > self.end_max {
            self.to.truncate(before);
            return false;
        }
        self.directory_bytes_left = self.directory_bytes_left.saturating_sub(directory_bytes);
        self.entries += 1;
        true
    }
}

/// An entry without attributes and handle: its link, file id, name and cookie.
fn directory_bytes(name_bytes: usize) -> usize {
    4 + 8 + 4 + name_bytes.next_multiple_of(4) + 8
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::nfs3::{CookieVerifier, ReadDirOk};

    fn entry(cookie: u64, name: &'static [u8]) -> Entry {
        Entry { fileid: cookie, name: Bytes::from_static(name), cookie }
    }

    fn body(bytes_max: u32, entries: &[Entry]) -> (Encoder, usize) {
        let mut encoder = Encoder::new();
        encoder.u32(0xdead_beef);
        let start = encoder.len();
        encoder.bool(false);
        encoder.put(&CookieVerifier([1; 8]));
        let mut writer = EntryListWriter::new(&mut encoder, start, bytes_max);
        let fitting = entries.iter().take_while(|e| writer.push(e)).count();
        assert_eq!(writer.entries(), fitting);
        writer.finish(fitting == entries.len());
        (encoder, fitting)
    }

    #[test]
    fn an_entry_is_in_exactly_when_the_whole_body_stays_within_the_count() {
        let entries = [entry(1, b"a"), entry(2, b"name5")];
        // attributes flag 4, verifier 8, entries 4+8+4+4+8 and 4+8+4+8+8, trailer 8
        let exact = 4 + 8 + 28 + 32 + 8;
        let (encoder, fitting) = body(exact, &entries);
        assert_eq!((encoder.len(), fitting), (4 + exact as usize, 2));
        let (encoder, fitting) = body(exact - 1, &entries);
        assert_eq!((encoder.len(), fitting), (4 + exact as usize - 32, 1));
    }

    #[test]
    fn written_entry_list_decodes_as_the_reply() {
        let entries = vec![entry(1, b"."), entry(9, b"file")];
        let (encoder, _) = body(4096, &entries);
        let ok: ReadDirOk = xdr::from_bytes(encoder.into_inner().split_off(4)).unwrap();
        assert_eq!(ok.entries.0, entries);
        assert!(ok.eof);
    }

    #[test]
    fn the_directory_count_bounds_all_entries_but_the_first() {
        let mut encoder = Encoder::new();
        let mut writer = EntryListWriter::new(&mut encoder, 0, 4096).with_directory_bytes_max(28 + 31);
        assert!(writer.push(&entry(1, b"a")));
        assert!(!writer.push(&entry(2, b"name5")), "32 bytes more than are left");
        assert!(writer.push(&entry(3, b"b")), "a shorter one fits");
        assert!(!writer.push(&entry(4, b"c")));

        let mut encoder = Encoder::new();
        let mut writer = EntryListWriter::new(&mut encoder, 0, 4096).with_directory_bytes_max(0);
        assert!(writer.push(&entry(1, b"a")));
        assert!(!writer.push(&entry(2, b"b")));
    }

    #[test]
    fn not_even_an_empty_list_fits_below_its_trailer() {
        let mut encoder = Encoder::new();
        assert!(!EntryListWriter::new(&mut encoder, 0, 7).finish(true));
        let mut encoder = Encoder::new();
        assert!(EntryListWriter::new(&mut encoder, 0, 8).finish(true));
    }
}
