//! COMPOUND (RFC 8881 §16.2): its head, its reply, and help for writing and reading both.

use bytes::Bytes;
use xdr::{Decoder, Encode, Encoder, Mark, Xdr};

use super::{Operation, Status};

/// The procedure number.
pub const COMPOUND: u32 = 1;
/// Longest tag in bytes.
pub const TAG_BYTES_MAX: u32 = 1024;

/// The head of `COMPOUND4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CompoundHeader {
    /// Comes back in the reply.
    #[xdr(max = TAG_BYTES_MAX)]
    pub tag: Bytes,
    /// Minor version.
    pub minor_version: u32,
    /// How many operations follow.
    pub operations: u32,
}

/// Writes `COMPOUND4res`: status and count are filled in at the end.
#[derive(Debug)]
pub struct CompoundReply {
    status: Mark,
    results: Mark,
    count: u32,
}

impl CompoundReply {
    /// Writes the head.
    pub fn begin(to: &mut Encoder, tag: &[u8]) -> Self {
        let status = to.reserve_u32();
        to.opaque(tag);
        Self { status, results: to.reserve_u32(), count: 0 }
    }

    /// Counts a result that was written.
    pub fn count(&mut self) {
        self.count += 1;
    }

    /// Forgets all but the first `count` results, which were taken out again.
    pub fn truncate(&mut self, count: u32) {
        self.count = self.count.min(count);
    }

    /// Results so far.
    pub fn results(&self) -> u32 {
        self.count
    }

    /// Fills in status and count.
    pub fn finish(self, to: &mut Encoder, status: Status) {
        to.fill_u32(self.status, status.code());
        to.fill_u32(self.results, self.count);
    }
}

/// Writes `COMPOUND4args`: the count is filled in at the end.
#[derive(Debug)]
pub struct CompoundBuilder<'a> {
    to: &'a mut Encoder,
    operations: Mark,
    count: u32,
}

impl<'a> CompoundBuilder<'a> {
    /// Writes the head with an empty tag.
    pub fn begin(to: &'a mut Encoder, minor_version: u32) -> Self {
        to.opaque(&[]);
        to.u32(minor_version);
        let operations = to.reserve_u32();
        Self { to, operations, count: 0 }
    }

    /// Adds an operation with its arguments; those without any take `&()`.
    pub fn push(&mut self, operation: Operation, arguments: &(impl Encode + ?Sized)) -> &mut Self {
        self.to.u32(operation.number());
        self.to.put(arguments);
        self.count += 1;
        self
    }

    /// Fills in the count.
    pub fn finish(self) {
        self.to.fill_u32(self.operations, self.count);
    }
}

/// Reads `COMPOUND4res` result by result.
#[derive(Debug)]
pub struct CompoundReader {
    /// Status of the last operation.
    pub status: Status,
    left: u32,
    from: Decoder,
}

impl CompoundReader {
    /// Reads the head.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn new(mut from: Decoder) -> xdr::Result<Self> {
        let status = from.get()?;
        from.opaque_ref(TAG_BYTES_MAX)?;
        let left = from.u32()?;
        Ok(Self { status, left, from })
    }

    /// How many results are still to be read: at first, how many there are.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Goes to the next result, which must be of `operation`; the decoder then stands at its body.
    ///
    /// # Errors
    /// `Ok(Err(status))` when the operation failed, or was not reached; an error when the reply is malformed.
    pub fn next(&mut self, operation: Operation) -> xdr::Result<Result<&mut Decoder, Status>> {
        if self.left == 0 {
            if self.status == Status::Ok {
                return Err(self.from.error(xdr::ErrorKind::Invalid("a result is missing")));
            }
            return Ok(Err(self.status));
        }
        self.left -= 1;
        let number = self.from.u32()?;
        let status: Status = self.from.get()?;
        if number != operation.number() && status == Status::Ok {
            return Err(self.from.error_before(8, xdr::ErrorKind::UnknownValue(number)));
        }
        Ok(if status == Status::Ok { Ok(&mut self.from) } else { Err(status) })
    }

    /// The decoder, at the body of a failed result that has one.
    pub fn body(&mut self) -> &mut Decoder {
        &mut self.from
    }
}
