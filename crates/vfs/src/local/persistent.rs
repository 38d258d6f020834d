//! What names an inode for good, and how it is written into a handle.

use rustix::fs::Statx;

use super::stat;
use super::sys::{self, Fid};
use crate::seal::Seal;
use crate::{Error, Handle, ObjectId, Result};

/// Leads every payload; another layout gets another number.
const LAYOUT: u8 = 1;
const BIRTH: u8 = 0;
const FID: u8 = 1;
/// Layout, file id, proof and kind, and the longest of the kernel's handles.
const PAYLOAD_BYTES_MAX: usize = 1 + 8 + 2 + sys::FID_BYTES_MAX;

/// Names an inode over renames and restarts. Holds no device number: those change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Persistent {
    pub(super) fileid: u64,
    pub(super) proof: Proof,
}

/// What tells an inode from a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Proof {
    /// The kernel's handle. It holds a generation, and with privileges it opens the inode.
    Fid(Fid),
    /// The time of birth in nanoseconds, where the file system has no such handles.
    Birth(i64),
}

impl Persistent {
    /// Of what `fd` is open on.
    pub(super) fn of(fd: impl std::os::fd::AsFd, stat: &Statx) -> Result<Self> {
        let proof = match sys::name_to_handle(fd).map_err(Error::Io)? {
            Some(fid) => Proof::Fid(fid),
            None => Proof::Birth(stat::birth_ns(stat).unwrap_or_default()),
        };
        Ok(Self { fileid: stat.stx_ino, proof })
    }

    /// Its handle, and the key of the object in tables, whose generation is of the handle's tag: no other
    /// inode has the same.
    pub(super) fn names(&self, seal: &Seal) -> (Handle, ObjectId) {
        let handle = seal.seal(self.payload().as_bytes());
        let tag = handle.as_bytes().last_chunk().expect("a tag ends each handle");
        (handle, ObjectId { fileid: self.fileid, generation: u64::from_le_bytes(*tag) })
    }

    pub(super) fn payload(&self) -> Payload {
        let mut payload = Payload { bytes: [0; PAYLOAD_BYTES_MAX], length: 0 };
        payload.push(&[LAYOUT]);
        payload.push(&self.fileid.to_le_bytes());
        match &self.proof {
            Proof::Birth(birth_ns) => {
                payload.push(&[BIRTH]);
                payload.push(&birth_ns.to_le_bytes());
            }
            Proof::Fid(fid) => {
                payload.push(&[FID, fid.kind]);
                payload.push(fid.bytes());
            }
        }
        payload
    }

    /// Of an authenticated payload.
    pub(super) fn decode(payload: &[u8]) -> Result<Self> {
        let fileid = Self::peek_fileid(payload).ok_or(Error::BadHandle)?;
        let proof = match payload.get(9..) {
            Some([BIRTH, birth @ ..]) => {
                birth.try_into().ok().map(|birth| Proof::Birth(i64::from_le_bytes(birth)))
            }
            Some([FID, kind, bytes @ ..]) => Fid::new(*kind, bytes).map(Proof::Fid),
            _ => None,
        };
        Ok(Self { fileid, proof: proof.ok_or(Error::BadHandle)? })
    }

    /// The file id that a handle claims, before anything is authenticated.
    pub(super) fn peek_fileid(handle: &[u8]) -> Option<u64> {
        let (LAYOUT, rest) = handle.split_first().map(|(layout, rest)| (*layout, rest))? else { return None };
        rest.first_chunk().map(|fileid| u64::from_le_bytes(*fileid))
    }
}

/// What a handle says, before it is sealed.
pub(super) struct Payload {
    bytes: [u8; PAYLOAD_BYTES_MAX],
    length: usize,
}

impl Payload {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_fit_a_handle_and_come_back() {
        let seal = Seal::new([1; 16], 2);
        let longest = Fid::new(0x81, &[0xaa; sys::FID_BYTES_MAX]).unwrap();
        for proof in [Proof::Birth(-5), Proof::Fid(longest), Proof::Fid(Fid::new(1, &[]).unwrap())] {
            let id = Persistent { fileid: 0x0123_4567_89ab_cdef, proof };
            let (handle, _) = id.names(&seal);
            assert_eq!(Persistent::peek_fileid(handle.as_bytes()), Some(id.fileid));
            assert_eq!(Persistent::decode(seal.open(handle.as_bytes()).unwrap()).unwrap(), id);
        }
    }
}
