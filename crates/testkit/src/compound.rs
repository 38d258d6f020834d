//! COMPOUNDs of NFSv4 and their replies (RFC 8881 §16.2), from either side.

use bytes::Bytes;
use proto::nfs4::{
    CompoundBuilder, CompoundHeader, CompoundReply, Operation, SequenceResult, Status, TAG_BYTES_MAX,
};
use xdr::{Decode, Decoder, Encoder, ErrorKind};

/// Returns the arguments of a COMPOUND with an empty tag.
pub fn arguments(minor_version: u32, build: impl FnOnce(&mut CompoundBuilder<'_>)) -> Vec<u8> {
    let mut to = Encoder::new();
    let mut builder = CompoundBuilder::begin(&mut to, minor_version);
    build(&mut builder);
    builder.finish();
    to.into_inner()
}

/// The reply to a COMPOUND, as a client reads it result by result.
#[derive(Debug)]
pub struct Results {
    /// The status of the last operation that ran.
    pub status: Status,
    /// The number of results.
    pub count: u32,
    /// The whole reply.
    pub bytes: Bytes,
    from: Decoder,
}

impl Results {
    /// Reads the head of a reply.
    ///
    /// # Panics
    /// If it is malformed.
    #[must_use]
    pub fn new(bytes: Bytes) -> Self {
        let mut from = Decoder::new(bytes.clone());
        let status = from.get().expect("a reply has a status");
        from.opaque(TAG_BYTES_MAX).expect("a reply has a tag");
        let count = from.u32().expect("a reply has a number of results");
        Self { status, count, bytes, from }
    }

    /// Returns the number and the status of the next result. [`Results::rest`] is at its body then.
    ///
    /// # Panics
    /// If there is none.
    #[allow(clippy::should_implement_trait)] // No iterator: it panics at the end.
    pub fn next(&mut self) -> (u32, Status) {
        (self.from.u32().expect("there is a next result"), self.from.get().expect("a result has a status"))
    }

    /// Goes to the body of the next result.
    ///
    /// # Panics
    /// If it is not that of `operation`, or not a success.
    pub fn ok(&mut self, operation: Operation) -> &mut Decoder {
        assert_eq!(self.next(), (operation.number(), Status::Ok), "{operation} succeeds");
        &mut self.from
    }

    /// Reads the body of the next result.
    ///
    /// # Panics
    /// As [`Results::ok`], and if the body is malformed.
    pub fn body<T: Decode>(&mut self, operation: Operation) -> T {
        self.ok(operation).get().expect("the body is of the operation")
    }

    /// Returns the decoder, which is behind what was read.
    pub fn rest(&mut self) -> &mut Decoder {
        &mut self.from
    }

    /// Skips the result of SEQUENCE.
    ///
    /// # Panics
    /// If it failed.
    #[must_use]
    pub fn sequenced(mut self) -> Self {
        self.body::<SequenceResult>(Operation::Sequence);
        self
    }
}

/// The result of one operation, as a server writes it.
#[derive(Debug)]
pub struct OperationResult {
    /// The number in front of it: that of the operation, unless a test sets another one.
    pub number: u32,
    /// Its body.
    pub body: Encoder,
}

/// Returns the reply to a COMPOUND whose operations `run` carries out, up to and including the first that
/// fails.
///
/// # Errors
/// When the arguments are malformed, or have an operation that does not exist.
pub fn answer(
    arguments: &mut Decoder,
    mut run: impl FnMut(Operation, &mut Decoder, &mut OperationResult) -> xdr::Result<Status>,
) -> xdr::Result<Vec<u8>> {
    let header: CompoundHeader = arguments.get()?;
    let mut to = Encoder::new();
    let (mut reply, mut status) = (CompoundReply::begin(&mut to, &header.tag), Status::Ok);
    for _ in 0..header.operations {
        let number = arguments.u32()?;
        let operation = Operation::from_number(number)
            .ok_or_else(|| arguments.error_before(4, ErrorKind::UnknownValue(number)))?;
        let mut result = OperationResult { number, body: Encoder::new() };
        status = run(operation, arguments, &mut result)?;
        to.u32(result.number);
        to.put(&status);
        to.buffer_mut().extend_from_slice(result.body.as_slice());
        reply.count();
        if status != Status::Ok {
            break;
        }
    }
    reply.finish(&mut to, status);
    Ok(to.into_inner())
}

#[cfg(test)]
mod tests {
    use proto::nfs4::{FileHandle, GetFhResult, PutFhArgs};

    use super::*;

    const OBJECT: FileHandle = FileHandle(Bytes::from_static(b"object"));

    fn call() -> Decoder {
        let bytes = arguments(1, |c| {
            c.push(Operation::PutFh, &PutFhArgs { object: OBJECT }).push(Operation::GetFh, &());
        });
        Decoder::new(bytes.into())
    }

    #[test]
    fn client_reads_what_the_server_writes() {
        let mut current = None;
        let reply = answer(&mut call(), |operation, from, to| {
            match operation {
                Operation::PutFh => current = Some(from.get::<PutFhArgs>()?.object),
                _ => to.body.put(&GetFhResult { object: current.take().expect("PUTFH is first") }),
            }
            Ok(Status::Ok)
        });
        let mut results = Results::new(reply.unwrap().into());
        assert_eq!((results.status, results.count), (Status::Ok, 2));
        results.ok(Operation::PutFh);
        assert_eq!(results.body::<GetFhResult>(Operation::GetFh).object, OBJECT);
        assert!(results.rest().rest_ref().is_empty());
    }

    #[test]
    fn reply_ends_with_the_first_failure() {
        let reply = answer(&mut call(), |_, _, to| {
            to.number = 99;
            Ok(Status::Stale)
        });
        let mut results = Results::new(reply.unwrap().into());
        assert_eq!((results.status, results.count, results.next()), (Status::Stale, 1, (99, Status::Stale)));
    }

    #[test]
    fn malformed_compound_has_no_reply() {
        let mut from = Decoder::new(call().rest_ref()[..12].to_vec().into());
        assert!(answer(&mut from, |_, _, _| Ok(Status::Ok)).is_err());
    }
}
