//! Writing the operations of a COMPOUND and reading their results.

use proto::nfs4::{CompoundBuilder, CompoundReader, FileHandle, GetAttrArgs, Operation, PutFhArgs, Status};
use xdr::{Decode, Encode};

use super::convert::ATTRIBUTES;
use crate::error::{Error, Result};
use crate::node::Handle;
use crate::tap::Tap;

/// The operations of a COMPOUND, behind SEQUENCE.
pub(super) struct Operations<'a, 'b> {
    builder: &'a mut CompoundBuilder<'b>,
    tap: &'a Tap,
    principal: Operation,
    count: u32,
    place: u32,
}

impl<'a, 'b> Operations<'a, 'b> {
    pub(super) fn new(builder: &'a mut CompoundBuilder<'b>, tap: &'a Tap, principal: Operation) -> Self {
        Self { builder, tap, principal, count: 0, place: 0 }
    }

    /// Which one in order is the operation that all this is sent for.
    pub(super) fn principal_place(&self) -> u32 {
        self.place
    }

    /// Adds an operation.
    pub(super) fn put(&mut self, operation: Operation, arguments: &impl Encode) -> &mut Self {
        self.tap.operation(operation);
        self.count += 1;
        if operation == self.principal && self.place == 0 {
            self.place = self.count;
        }
        self.builder.push(operation, arguments);
        self
    }

    /// Makes `object` the current one.
    pub(super) fn put_fh(&mut self, object: &Handle) -> &mut Self {
        self.put(Operation::PutFh, &PutFhArgs { object: FileHandle(object.0.clone()) })
    }

    /// Asks for handle and attributes of the current object.
    pub(super) fn describe(&mut self) -> &mut Self {
        self.put(Operation::GetFh, &()).get_attr()
    }

    /// Asks for the attributes of the current object.
    pub(super) fn get_attr(&mut self) -> &mut Self {
        self.put(Operation::GetAttr, &GetAttrArgs { wanted: ATTRIBUTES })
    }
}

/// The results of a COMPOUND, behind that of SEQUENCE.
pub(super) struct Results {
    pub(super) operation: &'static str,
    /// The incarnation of the client that the server answered: state in it is of this one.
    pub(super) epoch: u64,
    pub(super) reader: CompoundReader,
}

impl Results {
    /// The next result, of an operation without a body.
    pub(super) fn done(&mut self, operation: Operation) -> Result<()> {
        self.get::<()>(operation)
    }

    /// The next result.
    pub(super) fn get<T: Decode>(&mut self, operation: Operation) -> Result<T> {
        let name = self.operation;
        let broken = |error: xdr::Error| Error::misbehaved(name, error);
        match self.reader.next(operation).map_err(broken)? {
            Ok(body) => body.get().map_err(broken),
            Err(status) => Err(Error::server(name, status)),
        }
    }
}

/// The status inside an error, if a server of NFSv4 gave one.
pub(super) fn status_of(error: &Error) -> Option<Status> {
    match error {
        Error::Server { status: crate::error::Status::Nfs4(status), .. } => Some(*status),
        _ => None,
    }
}

/// True when the server no longer knows the open, lock or delegation that a request named.
pub(super) fn is_state_lost(status: Status) -> bool {
    matches!(
        status,
        Status::BadStateId
            | Status::OldStateId
            | Status::StaleStateId
            | Status::Expired
            | Status::AdminRevoked
            | Status::DelegationRevoked
    )
}
