//! RPCSEC_GSS: arbitrary credentials, verifiers and bodies. Nothing without the client's proof reaches a
//! service. `crates/server/tests/fuzz_corpus.rs` replays the corpus through the same code.

#![allow(missing_docs, unreachable_pub)]

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use rpc::auth::gss::wire::InitResults;
use rpc::auth::gss::{GssAuthenticator, GssLimits, NoNames, RPCSEC_GSS, SecurityContext};
use rpc::auth::{Authenticator, Verdict};
use rpc::message::{self, Message};
use testkit::connection::{LOCAL_PEER, TestConnection};
use testkit::gss::{ManualSurroundings, Side, TestContext, TestMechanism};
use testkit::wire::{RawCall, TEST_PROGRAM};
use xdr::{Decoder, Encoder};

const PRINCIPAL: &[u8] = b"ann@R";
/// In the input, eight bytes that stand for the handle of an established context, without its length.
const HANDLE_MARK: &[u8] = b"\xf0HANDLE\xf0";

/// The first byte chooses the form of the call, and the second is a length.
pub fn gss(data: &[u8]) {
    let Some(([form, length], rest)) = data.split_first_chunk::<2>() else { return };
    let server = Server::new();
    let rest = server.with_handle(rest);
    let (first, second) = rest.split_at(usize::from(*length).min(rest.len()));
    let call = RawCall::new(1, (TEST_PROGRAM, 1, u32::from(*form >> 4)));
    match form % 3 {
        // Any message.
        0 => assert!(!server.passes(&rest), "without proof"),
        // Any credential and arguments.
        1 => {
            let call = call.with_credential(RPCSEC_GSS, first).with_bytes(second);
            assert!(!server.passes(&call.message()), "without proof");
        }
        // A proven header and any arguments.
        _ => {
            let service = 2 + u32::from(*form >> 3 & 1);
            let mut credential = Encoder::new();
            credential.words([1, 0, 1, service]);
            credential.opaque(&server.handle);
            let call = call.with_credential(RPCSEC_GSS, credential.as_slice()).with_bytes(&rest);
            let mic = server.client.mic(&call.head()).expect("it is made");
            assert!(!server.passes(&call.with_verifier(RPCSEC_GSS, &mic).message()), "without proof");
        }
    }
}

struct Server {
    authenticator: GssAuthenticator,
    client: TestContext,
    handle: Bytes,
}

impl Server {
    /// A server with an established context of [`PRINCIPAL`].
    fn new() -> Self {
        let surroundings = Arc::new(ManualSurroundings::new(7));
        let mechanism = Arc::new(TestMechanism::default());
        let limits = GssLimits::default();
        let authenticator = GssAuthenticator::new(mechanism, Arc::new(NoNames), surroundings, &limits);
        let client = TestContext::new(Side::Initiator, PRINCIPAL);
        let mut server = Self { authenticator, client, handle: Bytes::new() };
        let mut token = Encoder::new();
        token.opaque(PRINCIPAL);
        let init = [1, 1, 0, 1, 0_u32].map(u32::to_be_bytes).concat();
        let init = RawCall::new(1, (TEST_PROGRAM, 1, 0))
            .with_credential(RPCSEC_GSS, &init)
            .with_bytes(token.as_slice());
        let results = server.control(&init.message()).expect("INIT is answered");
        server.handle = xdr::from_bytes::<InitResults>(results).expect("results of INIT").handle;
        server
    }

    /// Puts the handle into the places of its mark.
    fn with_handle(&self, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(data.len());
        let mut rest = data;
        while let Some(byte) = rest.first() {
            if let Some(behind) = rest.strip_prefix(HANDLE_MARK) {
                bytes.extend_from_slice(&self.handle);
                rest = behind;
            } else {
                bytes.push(*byte);
                rest = &rest[1..];
            }
        }
        bytes
    }

    fn judge(&self, message: &[u8]) -> Option<(Verdict, Decoder)> {
        let mut decoder = Decoder::new(Bytes::copy_from_slice(message));
        let Ok(Message::Call(header, claim)) = message::decode(&mut decoder) else { return None };
        let claim = claim.of(decoder.input_ref());
        let connection = TestConnection::new(LOCAL_PEER);
        let verdict = self.authenticator.judge(&header, &claim, decoder.rest_ref(), &connection);
        Some((verdict, decoder))
    }

    /// True when the arguments of a call would reach a service.
    fn passes(&self, message: &[u8]) -> bool {
        let Some((verdict, arguments)) = self.judge(message) else { return false };
        match verdict {
            Verdict::Protected(_, mut protection) => protection.unwrap(arguments).is_ok(),
            Verdict::Later(answer) => {
                assert!(answer.now_or_never().is_some(), "the mechanism needs no time");
                false
            }
            Verdict::Lasting(_) => true,
            _ => false,
        }
    }

    /// The results of a creation.
    fn control(&self, message: &[u8]) -> Option<Vec<u8>> {
        match self.judge(message)?.0 {
            Verdict::Later(answer) => answer.now_or_never()?.ok().map(|answer| answer.results),
            _ => None,
        }
    }
}
