//! A server's authenticator, and clients that write each call themselves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use rpc::auth::gss::wire::{InitResults, MajorStatus};
use rpc::auth::gss::{
    Acceptor, GssAuthenticator, GssLimits, Names, NoNames, RPCSEC_GSS, SecurityContext, Surroundings, WINDOW,
};
use rpc::auth::{Answer, Authenticator, Caller, Protection, Verdict, Verifier};
use rpc::message::{self, Message};
use rpc::{BoxFuture, Refusal};
use testkit::connection::TestConnection;
use testkit::gss::{ManualSurroundings, Side, TestContext, TestMechanism};
use testkit::wire::{AUTH_NONE, RawCall, TEST_PROGRAM, words};
use xdr::{Decoder, Encoder};

pub(crate) const DATA: u32 = 0;
pub(crate) const INIT: u32 = 1;
pub(crate) const CONTINUE_INIT: u32 = 2;
pub(crate) const DESTROY: u32 = 3;

pub(crate) const NONE: u32 = 1;
pub(crate) const INTEGRITY: u32 = 2;
pub(crate) const PRIVACY: u32 = 3;

/// This run of the server.
pub(crate) const BOOT: u64 = 7;

pub(crate) struct Fixture {
    pub(crate) surroundings: Arc<ManualSurroundings>,
    pub(crate) mechanism: Arc<TestMechanism>,
    pub(crate) authenticator: GssAuthenticator,
}

/// The verdict on a call, with what the driver needs to go on.
pub(crate) enum Judged {
    Passed { caller: Arc<Caller>, protection: Box<dyn Protection>, arguments: Decoder },
    Answered(Answer),
    Later(BoxFuture<Result<Answer, Refusal>>),
    Refused(Refusal),
    Silent,
    Other,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(GssLimits::default(), Arc::new(NoNames))
    }

    pub(crate) fn with(limits: GssLimits, names: Arc<dyn Names>) -> Self {
        Self::in_run(BOOT, limits, names)
    }

    /// The server in another run.
    pub(crate) fn with_boot(boot: u64) -> Self {
        Self::in_run(boot, GssLimits::default(), Arc::new(NoNames))
    }

    fn in_run(boot: u64, limits: GssLimits, names: Arc<dyn Names>) -> Self {
        let surroundings = Arc::new(ManualSurroundings::new(boot));
        let mechanism = Arc::new(TestMechanism::default());
        let acceptor = Arc::clone(&mechanism) as Arc<dyn Acceptor>;
        let world = Arc::clone(&surroundings) as Arc<dyn Surroundings>;
        let authenticator = GssAuthenticator::new(acceptor, names, world, &limits);
        Self { surroundings, mechanism, authenticator }
    }

    pub(crate) fn judge(&self, call: &RawCall) -> Judged {
        self.judge_from(1, call)
    }

    /// Judges a call from the host with this number.
    pub(crate) fn judge_from(&self, host: u8, call: &RawCall) -> Judged {
        judge(&self.authenticator, host, &call.message())
    }

    /// Sends a token of INIT, and returns the results of a reply that needs no time.
    pub(crate) fn init(&self, token: &[u8]) -> (Verifier, InitResults) {
        answered(self.judge(&creation(INIT, &[], token)))
    }

    pub(crate) fn continue_init(&self, handle: &[u8], token: &[u8]) -> (Verifier, InitResults) {
        answered(self.judge(&creation(CONTINUE_INIT, handle, token)))
    }

    /// Establishes a context with one token.
    pub(crate) fn establish(&self, principal: &[u8]) -> Client {
        let (_, results) = self.init(principal);
        assert_eq!(results.major, MajorStatus::COMPLETE);
        Client { context: TestContext::new(Side::Initiator, principal), handle: results.handle.to_vec() }
    }

    /// The established contexts, and those in creation.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let counts = self.authenticator.counts();
        (counts.established, counts.in_creation)
    }
}

/// Judges a message as the driver of a connection does.
pub(crate) fn judge(authenticator: &dyn Authenticator, host: u8, message: &[u8]) -> Judged {
    let connection = TestConnection::new(SocketAddr::from(([10, 0, 0, host], 900)));
    let mut decoder = Decoder::new(Bytes::copy_from_slice(message));
    let Ok(Message::Call(header, claim)) = message::decode(&mut decoder) else { return Judged::Other };
    let claim = claim.of(decoder.input_ref());
    match authenticator.judge(&header, &claim, decoder.rest_ref(), &connection) {
        Verdict::Protected(caller, protection) => Judged::Passed { caller, protection, arguments: decoder },
        Verdict::Answer(answer) => Judged::Answered(answer),
        Verdict::Later(answer) => Judged::Later(answer),
        Verdict::Refuse(refusal) => Judged::Refused(refusal),
        Verdict::Silence => Judged::Silent,
        Verdict::Lasting(_) | Verdict::Upgrade(_) => Judged::Other,
    }
}

/// Polls a future once.
pub(crate) fn poll<T>(future: &mut BoxFuture<T>) -> Poll<T> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

impl Judged {
    /// The answer of the authenticator, which needs no time.
    pub(crate) fn answer(self) -> Result<Answer, Refusal> {
        match self {
            Self::Answered(answer) => Ok(answer),
            Self::Refused(refusal) => Err(refusal),
            Self::Later(mut answer) => match poll(&mut answer) {
                Poll::Ready(answer) => answer,
                Poll::Pending => panic!("the answer takes time"),
            },
            other => panic!("{}", other.name()),
        }
    }

    /// One word that names the verdict.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Passed { .. } => "passed".to_owned(),
            Self::Answered(_) => "answered".to_owned(),
            Self::Later(_) => "later".to_owned(),
            Self::Refused(Refusal::Authentication(status)) => format!("{status:?}"),
            Self::Refused(refusal) => format!("{refusal:?}"),
            Self::Silent => "silent".to_owned(),
            Self::Other => "other".to_owned(),
        }
    }

    /// Goes on as the driver does: the arguments that the service gets, or the name of the refusal.
    pub(crate) fn unwrap_arguments(self) -> Result<Vec<u8>, String> {
        match self {
            Self::Passed { mut protection, arguments, .. } => {
                let _ = protection.verifier();
                let plain = protection.unwrap(arguments).map_err(|refusal| format!("{refusal:?}"))?;
                Ok(plain.rest_ref().to_vec())
            }
            other => Err(other.name()),
        }
    }
}

/// Reads the results of a creation.
pub(crate) fn answered(judged: Judged) -> (Verifier, InitResults) {
    let answer = judged.answer().unwrap();
    (answer.verifier, xdr::from_bytes(answer.results).unwrap())
}

/// A request that creates a context.
pub(crate) fn creation(control: u32, handle: &[u8], token: &[u8]) -> RawCall {
    let mut arguments = Encoder::new();
    arguments.opaque(token);
    let mut credential = Encoder::with_buffer(words(&[1, control, 0, 0]));
    credential.opaque(handle);
    RawCall::new(9, (TEST_PROGRAM, 1, 0))
        .with_credential(RPCSEC_GSS, credential.as_slice())
        .with_bytes(arguments.as_slice())
}

/// The client of an established context.
pub(crate) struct Client {
    pub(crate) context: TestContext,
    pub(crate) handle: Vec<u8>,
}

/// A request of an established context, before its proofs are made.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) procedure: u32,
    pub(crate) version: u32,
    pub(crate) control: u32,
    pub(crate) sequence: u32,
    pub(crate) service: u32,
    pub(crate) handle: Vec<u8>,
    /// The number that the protected arguments repeat.
    pub(crate) body_sequence: u32,
    pub(crate) arguments: Vec<u8>,
}

pub(crate) const ARGUMENTS: &[u8] = b"argument";

impl Client {
    /// A call of procedure 1 with [`ARGUMENTS`].
    pub(crate) fn data(&self, sequence: u32, service: u32) -> Request {
        Request {
            procedure: 1,
            version: 1,
            control: DATA,
            sequence,
            service,
            handle: self.handle.clone(),
            body_sequence: sequence,
            arguments: ARGUMENTS.to_vec(),
        }
    }

    /// A request that ends the context, as Linux sends it.
    pub(crate) fn destroy(&self, sequence: u32) -> Request {
        let data = self.data(sequence, NONE);
        Request { procedure: 0, control: DESTROY, arguments: Vec::new(), ..data }
    }

    /// Makes the proofs of a request.
    pub(crate) fn seal(&self, request: &Request) -> RawCall {
        let body = [&request.body_sequence.to_be_bytes()[..], &request.arguments].concat();
        let mut arguments = Encoder::new();
        match request.service {
            INTEGRITY => {
                arguments.opaque(&body);
                arguments.opaque(&self.context.mic(&body).unwrap());
            }
            PRIVACY => arguments.opaque(&self.context.wrapped(&body)),
            _ => arguments.buffer_mut().extend_from_slice(&request.arguments),
        }
        self.sign(request, arguments.as_slice())
    }

    /// Makes the verifier of a request with these arguments.
    pub(crate) fn sign(&self, request: &Request, arguments: &[u8]) -> RawCall {
        let call = request.unsigned(arguments);
        let mic = self.context.mic(&call.head()).unwrap();
        call.with_verifier(RPCSEC_GSS, &mic)
    }

    /// Checks the verifier of a reply to the request with this number.
    pub(crate) fn verifies(&self, verifier: &Verifier, number: u32) -> bool {
        let mic = self.context.verify_mic(&number.to_be_bytes(), &verifier.body);
        verifier.flavor == RPCSEC_GSS && mic.is_ok()
    }
}

impl Request {
    /// The call with the verifier of AUTH_NONE.
    pub(crate) fn unsigned(&self, arguments: &[u8]) -> RawCall {
        let mut credential =
            Encoder::with_buffer(words(&[self.version, self.control, self.sequence, self.service]));
        credential.opaque(&self.handle);
        RawCall::new(9, (TEST_PROGRAM, 1, self.procedure))
            .with_credential(RPCSEC_GSS, credential.as_slice())
            .with_verifier(AUTH_NONE, &[])
            .with_bytes(arguments)
    }
}

/// The results of INIT that has failed.
pub(crate) fn failed(major: MajorStatus, minor: u32) -> InitResults {
    InitResults { handle: Bytes::new(), major, minor, window: WINDOW, token: Bytes::new() }
}
