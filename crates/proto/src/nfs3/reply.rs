//! How a procedure ended: a status and the body that belongs to it (RFC 1813 §3).

use xdr::{Decode, Decoder, Encode, Encoder};

use super::Status;

/// The result of a procedure. A failure has a body too, mostly attributes for the client's cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<T, F> {
    /// `NFS3_OK`.
    Ok(T),
    /// Any other status.
    Err(Status, F),
}

impl<T, F> Reply<T, F> {
    /// How it ended.
    pub fn status(&self) -> Status {
        match self {
            Self::Ok(_) => Status::Ok,
            Self::Err(status, _) => *status,
        }
    }

    /// As a `Result`, for `?`.
    ///
    /// # Errors
    /// The status and the failure's body.
    pub fn into_result(self) -> Result<T, (Status, F)> {
        match self {
            Self::Ok(ok) => Ok(ok),
            Self::Err(status, fail) => Err((status, fail)),
        }
    }
}

impl<T, F> From<Result<T, (Status, F)>> for Reply<T, F> {
    fn from(result: Result<T, (Status, F)>) -> Self {
        match result {
            Ok(ok) => Self::Ok(ok),
            Err((status, fail)) => Self::Err(status, fail),
        }
    }
}

impl<T: Decode, F: Decode> Decode for Reply<T, F> {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        match Status::decode(from)? {
            Status::Ok => T::decode(from).map(Self::Ok),
            status => Ok(Self::Err(status, F::decode(from)?)),
        }
    }
}

impl<T: Encode, F: Encode> Encode for Reply<T, F> {
    fn encode(&self, to: &mut Encoder) {
        to.put(&self.status());
        match self {
            Self::Ok(ok) => to.put(ok),
            Self::Err(_, fail) => to.put(fail),
        }
    }
}
