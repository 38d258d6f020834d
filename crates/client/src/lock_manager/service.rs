//! The program that servers call: NULL, GRANTED and GRANTED_MSG of NLM version 4 (RFC 1813 §6.2).

use std::sync::Arc;

use proto::nlm4::{self, Procedure, Response, TestArgs};
use rpc::{Call, Disposition, Refusal, Service};
use xdr::Encoder;

use super::waits::{LockRequest, Waits};

#[derive(Debug)]
pub(super) struct LockCallbacks(pub(super) Arc<Waits>);

impl Service for LockCallbacks {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        if call.header.program != nlm4::PROGRAM {
            return Err(Refusal::ProgramUnavailable);
        }
        if call.header.version != nlm4::VERSION {
            return Err(Refusal::ProgramMismatch { low: nlm4::VERSION, high: nlm4::VERSION });
        }
        match Procedure::from_number(call.header.procedure) {
            Some(Procedure::Null) => {}
            Some(Procedure::Granted) => {
                let (response, _) = self.granted(&call)?;
                reply.put(&response);
            }
            // Answered with nothing; the response is a call in the other direction.
            Some(Procedure::GrantedMsg) => {
                if let (response, Some(respond)) = self.granted(&call)? {
                    respond(response);
                }
            }
            _ => return Err(Refusal::ProcedureUnavailable),
        }
        Ok(Disposition::Reply)
    }
}

impl LockCallbacks {
    /// The answer, and how it gets to the server when it must not be the reply.
    fn granted(&self, call: &Call<'_>) -> Result<(Response, Option<super::Responder>), Refusal> {
        let mut decoder = call.arguments.clone();
        let arguments: TestArgs = decoder.get().map_err(|_| Refusal::GarbageArguments)?;
        decoder.finish().map_err(|_| Refusal::GarbageArguments)?;
        let server = call.peer.ip().to_canonical();
        let status = self.0.granted(server, LockRequest::from(&arguments));
        tracing::debug!(%server, ?status, "a server grants a lock");
        Ok((Response { cookie: arguments.cookie, status }, self.0.responder(server)))
    }
}
