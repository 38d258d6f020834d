//! What a client has lost without knowing it: the files whose delegation was revoked, until the client has
//! freed the stateid (RFC 8881 §8.4.3). It may have opened such a file under its delegation without telling
//! anybody, and would take that back after a restart of the server, though it is somebody else's by then.

use std::collections::BTreeSet;

use crate::FileId;

/// Files that are remembered by their keys; of a client that has lost more, it counts as lost everything.
const FILES_MAX: usize = 64;
/// A file in bytes.
const FILE_BYTES: usize = 16;

/// What a client may not take back after a restart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lost {
    files: BTreeSet<FileId>,
    everything: bool,
}

impl Lost {
    /// So many files count as everything.
    pub(crate) const ENOUGH: usize = FILES_MAX + 1;

    /// All that it had.
    pub fn everything() -> Self {
        Self { files: BTreeSet::new(), everything: true }
    }

    /// What [`Lost::to_bytes`] made; what it cannot have made counts as everything.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let (files, rest) = bytes.as_chunks::<FILE_BYTES>();
        if files.is_empty() || !rest.is_empty() {
            return Self::everything();
        }
        let file = |bytes: &[u8; FILE_BYTES]| {
            let both = u128::from_be_bytes(*bytes);
            FileId((both >> 64) as u64, both as u64)
        };
        files.iter().map(file).collect()
    }

    /// The files; nothing for everything.
    pub fn to_bytes(&self) -> Vec<u8> {
        let file = |FileId(number, generation): &FileId| u128::from(*number) << 64 | u128::from(*generation);
        self.files.iter().flat_map(|id| file(id).to_be_bytes()).collect()
    }

    /// True for a client that may take back all it had.
    pub fn is_nothing(&self) -> bool {
        !self.everything && self.files.is_empty()
    }

    /// True for a client that may take back nothing.
    pub fn is_everything(&self) -> bool {
        self.everything
    }

    /// True where it may not take back what it had of the file.
    pub fn covers(&self, file: FileId) -> bool {
        self.everything || self.files.contains(&file)
    }

    /// Adds what is lost beside.
    pub fn add(&mut self, more: &Self) {
        self.everything |= more.everything;
        self.extend(more.files.iter().copied());
    }
}

impl Extend<FileId> for Lost {
    fn extend<T: IntoIterator<Item = FileId>>(&mut self, files: T) {
        self.files.extend(files);
        if self.everything || self.files.len() > FILES_MAX {
            *self = Self::everything();
        }
    }
}

impl FromIterator<FileId> for Lost {
    fn from_iter<T: IntoIterator<Item = FileId>>(files: T) -> Self {
        let mut lost = Self::default();
        lost.extend(files);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_up_to_a_bound_and_beyond_it_everything_is_lost() {
        let file = |number| FileId(number, u64::MAX - number);
        let mut lost: Lost = (0..FILES_MAX as u64).map(file).collect();
        assert_eq!(Lost::from_bytes(&lost.to_bytes()), lost);
        assert!(lost.covers(file(63)) && !lost.covers(file(64)) && !lost.is_everything());
        lost.add(&Lost::from_iter([file(64)]));
        assert!(lost.is_everything() && lost.covers(file(1000)));
        assert_eq!(Lost::from_bytes(&lost.to_bytes()), lost);
    }

    #[test]
    fn unreadable_record_counts_as_total_loss() {
        assert!(Lost::from_bytes(&[1; 17]).is_everything());
        assert!(Lost::from_bytes(&[]).is_everything());
        assert!(Lost::default().is_nothing());
    }
}
