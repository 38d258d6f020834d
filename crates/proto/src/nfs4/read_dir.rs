//! READDIR (RFC 8881 §18.23).

use bytes::Bytes;
use xdr::{DecodeBounded, Decoder, Encode, Encoder, List, Xdr};

use super::attributes::{AttributeValues, Bitmap};
use super::{COMPONENT_BYTES_MAX, Verifier};

/// The most entries in a reply that is decoded: more than fit a reply of any size that is negotiated.
const ENTRIES_MAX: u32 = 1 << 20;

/// `READDIR4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ReadDirArgs {
    /// 0, or where an earlier reply ended.
    pub cookie: u64,
    /// Zeros, or that of the earlier reply.
    pub verifier: Verifier,
    /// A hint: bytes of names and cookies.
    pub directory_count: u32,
    /// Bytes of the result at most.
    pub count_max: u32,
    /// Attributes of each entry.
    pub wanted: Bitmap,
}

/// `entry4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct DirectoryEntry {
    /// Where to go on after this entry.
    pub cookie: u64,
    /// Its name.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub name: Bytes,
    /// Its attributes.
    pub attributes: AttributeValues,
}

/// `READDIR4resok`. A server writes the entries one by one instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadDirResult {
    /// To be sent back with a cookie.
    pub verifier: Verifier,
    /// The entries.
    pub entries: Vec<DirectoryEntry>,
    /// No entry follows.
    pub eof: bool,
}

impl xdr::Decode for ReadDirResult {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        let verifier = from.get()?;
        let List(entries) = List::decode_bounded(from, ENTRIES_MAX)?;
        Ok(Self { verifier, entries, eof: from.bool()? })
    }
}

impl Encode for ReadDirResult {
    fn encode(&self, to: &mut Encoder) {
        to.put(&self.verifier);
        for entry in &self.entries {
            to.bool(true);
            to.put(entry);
        }
        to.bool(false);
        to.bool(self.eof);
    }
}
