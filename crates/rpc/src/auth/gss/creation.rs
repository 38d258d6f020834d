//! The creation of a context: INIT and CONTINUE_INIT (RFC 2203 §5.2).

use std::sync::Arc;

use bytes::Bytes;

use super::context::Context;
use super::contexts::Creation;
use super::mechanism::Step;
use super::names::{Names, user_of};
use super::window::WINDOW;
use super::wire::{INIT_TOKEN_BYTES_MAX, InitResults, MajorStatus};
use crate::auth::{Answer, Verifier};
use crate::{BoxFuture, Refusal};

/// The longest name of a principal, in bytes.
pub const PRINCIPAL_BYTES_MAX: usize = 1 << 10;

/// Waits for the mechanism, and answers the request.
///
/// # Errors
/// `SystemError` when there is no room for the context, or the mechanism cannot make its first MIC.
pub(super) async fn answer(
    creation: Creation,
    step: BoxFuture<Step>,
    names: Arc<dyn Names>,
    now_ms: impl Fn() -> u64 + Send,
) -> Result<Answer, Refusal> {
    let (token, security) = match step.await {
        Step::Failed { major, minor } => return Ok(failure(major, minor)),
        Step::Continue { token, .. } | Step::Complete { token, .. }
            if token.len() > INIT_TOKEN_BYTES_MAX as usize =>
        {
            return Ok(failure(MajorStatus::FAILURE, 0));
        }
        Step::Continue { token, negotiation } => {
            let handle = creation.handle();
            creation.wait(negotiation);
            let results = results(handle, MajorStatus::CONTINUE_NEEDED, 0, token);
            return Ok(Answer { verifier: Verifier::NONE, results });
        }
        Step::Complete { token, context } => (token, context),
    };
    let principal = Bytes::copy_from_slice(security.principal());
    if principal.is_empty() || principal.len() > PRINCIPAL_BYTES_MAX {
        return Ok(failure(MajorStatus::BAD_NAME, 0));
    }
    let user = user_of(&*names, principal.clone()).await;
    let now_ms = now_ms();
    establish(creation, Context::new(security, principal, user, now_ms), token, now_ms)
}

/// Returns the reply to a request for a context that cannot be established.
pub(super) fn failure(major: MajorStatus, minor: u32) -> Answer {
    let major = if major.is_error() { major } else { MajorStatus::FAILURE };
    Answer { verifier: Verifier::NONE, results: results(Bytes::new(), major, minor, Vec::new()) }
}

fn establish(creation: Creation, context: Context, token: Vec<u8>, now_ms: u64) -> Result<Answer, Refusal> {
    if context.is_expired(now_ms) {
        return Ok(failure(MajorStatus::CONTEXT_EXPIRED, 0));
    }
    let verifier = context.verifier(WINDOW).map_err(|_| Refusal::SystemError)?;
    let handle = creation.handle();
    if !creation.establish(context, now_ms) {
        return Err(Refusal::SystemError);
    }
    Ok(Answer { verifier, results: results(handle, MajorStatus::COMPLETE, 0, token) })
}

fn results(handle: Bytes, major: MajorStatus, minor: u32, token: Vec<u8>) -> Vec<u8> {
    let results = InitResults { handle, major, minor, window: WINDOW, token: token.into() };
    xdr::to_bytes(&results).into()
}
