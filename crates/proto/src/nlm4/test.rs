//! TEST: would this lock be granted? GRANTED carries the same arguments the other way.

use xdr::{Decode, Decoder, Encode, Encoder, Xdr};

use super::{Holder, Lock, NetObject, Status};

/// Arguments of TEST and GRANTED (`nlm4_testargs`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct TestArgs {
    /// Comes back in the answer.
    pub cookie: NetObject,
    /// True for a write lock.
    pub exclusive: bool,
    /// The lock.
    pub lock: Lock,
}

/// How TEST ended (`nlm4_testrply`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TestResult {
    /// `NLM4_DENIED`: the lock that stands in the way.
    Denied(Holder),
    /// Any other status; [`Status::Granted`] when nothing stands in the way.
    Other(Status),
}

/// Result of TEST (`nlm4_testres`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct TestResponse {
    /// That of the request.
    pub cookie: NetObject,
    /// How it ended.
    pub result: TestResult,
}

impl Decode for TestResult {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        match Status::decode(from)? {
            Status::Denied => Holder::decode(from).map(Self::Denied),
            status => Ok(Self::Other(status)),
        }
    }
}

impl Encode for TestResult {
    fn encode(&self, to: &mut Encoder) {
        match self {
            Self::Denied(holder) => to.put(&(Status::Denied, holder)),
            Self::Other(status) => {
                debug_assert!(*status != Status::Denied, "a denial names its holder");
                to.put(status);
            }
        }
    }
}
