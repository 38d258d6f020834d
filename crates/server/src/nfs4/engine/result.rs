//! Arguments in, results out: what the handlers of all operations share.

use proto::nfs4::{LockDenied, Operation, SetAttrResult, Status};
use xdr::{Decode, Decoder, Encode, Encoder};

/// Why an operation fails.
pub(crate) enum Failure {
    Status(Status),
    /// LOCK and LOCKT describe the conflicting lock (RFC 8881 §18.10.2).
    Denied(LockDenied),
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// Decodes the arguments of an operation.
///
/// # Errors
/// BADXDR.
pub(crate) fn decode<T: Decode>(arguments: &mut Decoder) -> Result<T, Status> {
    arguments.get().map_err(|_| Status::BadXdr)
}

/// Appends the body of a result.
pub(crate) fn put(reply: &mut Encoder, result: &impl Encode) -> Result<(), Failure> {
    reply.put(result);
    Ok(())
}

/// Appends a result that is only a status.
pub(crate) fn answer(reply: &mut Encoder, number: u32, status: Status) -> Status {
    reply.words([number, status.code()]);
    status
}

/// Appends the result of an operation that did not happen.
pub(crate) fn refuse(reply: &mut Encoder, operation: Operation, status: Status) -> Status {
    answer(reply, operation.number(), status);
    // SETATTR's result has a body whatever the status is (RFC 8881 §18.30.2).
    if operation == Operation::SetAttr {
        reply.put(&SetAttrResult { attributes_set: Default::default() });
    }
    status
}
