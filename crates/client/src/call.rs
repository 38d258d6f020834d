//! What the calls of all versions have in common: the credential, the name of this host, errors.

use std::sync::Arc;

use bytes::Bytes;
use rpc::auth::{Credentials, SystemCredentials};
use rpc::{AuthSys, CallError, Credential, Refusal};

use crate::error::Error;
use crate::options::Options;

/// Returns the credentials of the user in `options`, which all requests have.
pub(crate) fn credentials(options: &Options) -> Arc<dyn Credentials> {
    SystemCredentials::shared(Credential::Sys(AuthSys {
        stamp: 0,
        machine_name: host_name(),
        uid: options.uid,
        gid: options.gid,
        gids: options.gids.iter().copied().take(16).collect(),
    }))
}

/// Returns the name of this host, which servers log. It has at most 255 bytes (RFC 5531, appendix A).
pub(crate) fn host_name() -> Bytes {
    let name = rustix::system::uname();
    let name = name.nodename().to_bytes();
    Bytes::copy_from_slice(&name[..name.len().min(255)])
}

/// Returns the error of an operation whose call failed. The outcome of a lost call is uncertain unless it is
/// `repeatable`.
pub(crate) fn call_error(operation: &'static str, error: CallError, repeatable: bool) -> Error {
    match error {
        CallError::Disconnected | CallError::Timeout if !repeatable => Error::UncertainOutcome { operation },
        CallError::Timeout => Error::Timeout { operation },
        CallError::Protocol(error) => Error::misbehaved(operation, error),
        CallError::Refused(Refusal::ProgramUnavailable | Refusal::ProgramMismatch { .. }) => {
            Error::NotOffered(format!("the program of {operation}"))
        }
        other => Error::Transport(format!("{operation}: {other}")),
    }
}
