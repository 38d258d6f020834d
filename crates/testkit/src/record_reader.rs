//! Records in a stream of bytes (RFC 5531 §11).

use std::io;

/// The longest record that a peer accepts, in bytes.
pub const RECORD_BYTES_MAX: usize = 64 << 20;
/// The length of a record mark, in bytes.
const MARK_BYTES: usize = 4;

/// The bytes that were read and belong to no complete record yet.
#[derive(Debug, Default)]
pub(crate) struct RecordReader(Vec<u8>);

impl RecordReader {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Takes the message of the first record if all its fragments are there.
    ///
    /// # Errors
    /// `InvalidData` when the record has more than [`RECORD_BYTES_MAX`] bytes.
    pub(crate) fn take(&mut self) -> io::Result<Option<Vec<u8>>> {
        let (mut message, mut rest) = (Vec::new(), &self.0[..]);
        while let Some((mark, behind)) = rest.split_first_chunk::<MARK_BYTES>() {
            let mark = u32::from_be_bytes(*mark);
            let length = (mark & 0x7fff_ffff) as usize;
            if message.len() + length > RECORD_BYTES_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let Some((fragment, behind)) = behind.split_at_checked(length) else { break };
            message.extend_from_slice(fragment);
            rest = behind;
            if mark != length as u32 {
                self.0 = rest.to_vec();
                return Ok(Some(message));
            }
        }
        Ok(None)
    }
}
