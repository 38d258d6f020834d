//! DATA: arguments and results of each service (RFC 2203 §5.3).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rpc::Disposition;
use rpc::auth::gss::wire::{IntegrityData, PrivacyData};
use rpc::auth::gss::{
    Acceptor, BadToken, GssAuthenticator, GssLimits, NoNames, SecurityContext, Step, WINDOW,
};
use testkit::gss::{ManualSurroundings, Side, TestContext};
use xdr::{Decoder, Encoder};

use crate::fixture::{
    ARGUMENTS, BOOT, Client, Fixture, INIT, INTEGRITY, Judged, NONE, PRIVACY, Request, answered, creation,
    judge,
};

/// Answers a call with results, as the driver does: the protected results, if there is a reply.
fn reply(fixture: &Fixture, client: &Client, sequence: u32, service: u32, results: &[u8]) -> Vec<u8> {
    let call = client.seal(&client.data(sequence, service));
    let Judged::Passed { mut protection, arguments, .. } = fixture.judge(&call) else { panic!() };
    assert!(client.verifies(&protection.verifier(), sequence));
    assert_eq!(protection.unwrap(arguments).unwrap().rest_ref(), ARGUMENTS);
    // The head of a message stays as it is.
    let mut reply = Encoder::with_buffer(b"head".to_vec());
    protection.begin(&mut reply);
    reply.buffer_mut().extend_from_slice(results);
    assert_eq!(protection.wrap(&mut reply, 4), Ok(Disposition::Reply));
    reply.into_inner().split_off(4)
}

/// The results in a protected reply.
fn results(client: &Client, sequence: u32, service: u32, reply: Vec<u8>) -> Vec<u8> {
    let body = match service {
        INTEGRITY => {
            let IntegrityData { body, mic } = xdr::from_bytes(reply).unwrap();
            client.context.verify_mic(&body, &mic).unwrap();
            body
        }
        PRIVACY => {
            let PrivacyData { token } = xdr::from_bytes(reply).unwrap();
            client.context.unwrap(&token).unwrap()
        }
        _ => return reply,
    };
    let mut body = Decoder::new(body);
    assert_eq!(body.u32(), Ok(sequence));
    body.rest_ref().to_vec()
}

#[test]
fn arguments_and_results_of_each_service_come_through() {
    let fixture = Fixture::new();
    let client = fixture.establish(b"ann@R");
    // Also more than a token of 128 KiB, and no results at all.
    let large = vec![5; 300 << 10];
    for (service, sequence) in [(NONE, 1), (INTEGRITY, 2), (PRIVACY, 3), (NONE, 7), (PRIVACY, 6)] {
        for (number, plain) in [(0, &b"results."[..]), (1, &b""[..]), (2, &large[..])] {
            let sequence = 10 * sequence + number;
            let reply = reply(&fixture, &client, sequence, service, plain);
            assert_eq!(reply.len() % 4, 0);
            assert_eq!(results(&client, sequence, service, reply), plain, "service {service}");
        }
    }
}

#[test]
fn results_are_plain_without_service_and_hidden_with_privacy() {
    let fixture = Fixture::new();
    let client = fixture.establish(b"ann@R");
    let shows = |service, sequence| {
        let reply = reply(&fixture, &client, sequence, service, b"results.");
        reply.windows(8).any(|bytes| bytes == b"results.")
    };
    assert!(shows(NONE, 1) && shows(INTEGRITY, 2) && !shows(PRIVACY, 3));
}

#[test]
fn repeated_and_old_requests_are_dropped_in_silence() {
    let fixture = Fixture::new();
    let client = fixture.establish(b"ann@R");
    let outcome = |sequence| fixture.judge(&client.seal(&client.data(sequence, NONE))).name();
    let steps = [
        (5_000, "passed"),
        (5_000, "silent"),
        (5_000 - WINDOW, "silent"),
        (5_000 - WINDOW + 1, "passed"),
        (5_000 - WINDOW + 1, "silent"),
        (4_999, "passed"),
        (5_001, "passed"),
        (5_001 - WINDOW, "silent"),
        (0x8000_0001, "GssContextProblem"),
        (u32::MAX, "GssContextProblem"),
        // The window has not moved.
        (5_002, "passed"),
        (0x8000_0000, "passed"),
        (5_003, "silent"),
        (0x8000_0000, "silent"),
    ];
    for (sequence, expected) in steps {
        assert_eq!(outcome(sequence), expected, "{sequence}");
    }
}

#[test]
fn window_moves_only_after_the_mic_is_verified() {
    let fixture = Fixture::new();
    let (client, stranger) = (fixture.establish(b"ann@R"), fixture.establish(b"eve@R"));
    let forged = stranger.sign(&client.data(0x7fff_ffff, NONE), ARGUMENTS);
    assert_eq!(fixture.judge(&forged).name(), "GssCredentialProblem");
    assert_eq!(fixture.judge(&client.seal(&client.data(1, NONE))).name(), "passed");
}

#[test]
fn retry_with_the_same_xid_and_a_new_number_is_another_request() {
    let fixture = Fixture::new();
    let client = fixture.establish(b"ann@R");
    let calls = [1, 2].map(|sequence| client.seal(&client.data(sequence, INTEGRITY)));
    assert_eq!(calls[0].xid(), calls[1].xid());
    let [first, second] = calls.map(|call| fixture.judge(&call));
    for (judged, sequence) in [(second, 2), (first, 1)] {
        let Judged::Passed { mut protection, .. } = judged else { panic!("{}", judged.name()) };
        assert!(client.verifies(&protection.verifier(), sequence));
    }
}

#[test]
fn context_of_one_connection_works_on_all_others() {
    let fixture = Fixture::new();
    let client = fixture.establish(b"ann@R");
    for host in 1..5 {
        let call = client.seal(&client.data(host.into(), PRIVACY));
        assert_eq!(fixture.judge_from(host, &call).unwrap_arguments().unwrap(), ARGUMENTS);
    }
}

#[test]
fn expired_context_is_a_problem_of_the_context() {
    let fixture = Fixture::new();
    fixture.mechanism.set_lifetime(Some(Duration::from_millis(100)));
    let client = fixture.establish(b"ann@R");
    let outcome = |sequence| fixture.judge(&client.seal(&client.data(sequence, NONE))).name();
    fixture.surroundings.advance(99);
    assert_eq!(outcome(1), "passed");
    fixture.surroundings.advance(1);
    assert_eq!(outcome(2), "GssContextProblem");
    let destroy = client.seal(&client.destroy(3));
    assert_eq!(fixture.judge(&destroy).name(), "GssContextProblem");
}

#[test]
fn call_under_way_is_answered_after_its_context_is_gone() {
    let fixture = Fixture::new();
    let client = fixture.establish(b"ann@R");
    let call = client.seal(&client.data(1, INTEGRITY));
    let Judged::Passed { mut protection, .. } = fixture.judge(&call) else { panic!() };
    assert_eq!(fixture.judge(&client.seal(&client.destroy(2))).name(), "answered");
    let mut reply = Encoder::new();
    protection.begin(&mut reply);
    assert_eq!(protection.wrap(&mut reply, 0), Ok(Disposition::Reply));
    assert_eq!(results(&client, 1, INTEGRITY, reply.into_inner()), b"");
}

#[test]
fn evicted_context_is_a_problem_of_the_credential() {
    let limits = GssLimits { contexts_max: 2, ..GssLimits::default() };
    let fixture = Fixture::with(limits, Arc::new(NoNames));
    let establish = |principal| {
        fixture.surroundings.advance(1);
        fixture.establish(principal)
    };
    let (ann, bob) = (establish(b"ann@R"), establish(b"bob@R"));
    let outcome =
        |client: &Client, sequence| fixture.judge(&client.seal(&client.data(sequence, NONE))).name();
    fixture.surroundings.advance(1);
    assert_eq!(outcome(&ann, 1), "passed");
    let eve = establish(b"eve@R");
    assert_eq!(outcome(&bob, 1), "GssCredentialProblem");
    assert_eq!((outcome(&ann, 2), outcome(&eve, 1)), ("passed".to_owned(), "passed".to_owned()));
}

/// A context whose MICs and tokens fail from some point on.
struct Failing {
    inner: TestContext,
    /// The MICs that it makes.
    mics_max: usize,
    mics: std::sync::atomic::AtomicUsize,
}

impl SecurityContext for Failing {
    fn mic(&self, message: &[u8]) -> Result<Vec<u8>, BadToken> {
        let made = self.mics.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        if made < self.mics_max { self.inner.mic(message) } else { Err(BadToken) }
    }

    fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), BadToken> {
        self.inner.verify_mic(message, mic)
    }

    fn wrap(&self, _: &mut Vec<u8>, _: usize) -> Result<(), BadToken> {
        Err(BadToken)
    }

    fn unwrap(&self, token: &Bytes) -> Result<Bytes, BadToken> {
        self.inner.unwrap(token)
    }

    fn principal(&self) -> &[u8] {
        self.inner.principal()
    }

    fn lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Accepts each token as a principal whose context makes so many MICs.
struct FailingMechanism(usize);

impl Acceptor for FailingMechanism {
    fn accept(&self, token: Bytes) -> rpc::BoxFuture<Step> {
        let inner = TestContext::new(Side::Acceptor, &token);
        let context = Box::new(Failing { inner, mics_max: self.0, mics: Default::default() });
        Box::pin(std::future::ready(Step::Complete { token: Vec::new(), context }))
    }
}

#[test]
fn tokens_that_the_mechanism_cannot_make_have_the_answers_of_the_standard() {
    let authenticator = |mics| {
        let surroundings = Arc::new(ManualSurroundings::new(BOOT));
        let mechanism = Arc::new(FailingMechanism(mics));
        GssAuthenticator::new(mechanism, Arc::new(NoNames), surroundings, &GssLimits::default())
    };
    let init = creation(INIT, &[], b"ann@R").message();
    let refused = judge(&authenticator(0), 1, &init).answer();
    assert_eq!(refused, Err(rpc::Refusal::SystemError), "the verifier of INIT");
    // One MIC for INIT, one for each verifier, one for the results of integrity.
    for (mics, service, expected) in [
        (1, NONE, "GssContextProblem"),
        (2, NONE, "Reply"),
        (2, INTEGRITY, "Drop"),
        (3, INTEGRITY, "Reply"),
        (9, PRIVACY, "Drop"),
    ] {
        let authenticator = authenticator(mics);
        let (_, results) = answered(judge(&authenticator, 1, &init));
        let context = TestContext::new(Side::Initiator, b"ann@R");
        let client = Client { context, handle: results.handle.to_vec() };
        let outcome = match judge(&authenticator, 1, &client.seal(&client.data(1, service)).message()) {
            Judged::Passed { mut protection, .. } => {
                let mut reply = Encoder::new();
                protection.begin(&mut reply);
                format!("{:?}", protection.wrap(&mut reply, 0).unwrap())
            }
            other => other.name(),
        };
        assert_eq!(outcome, expected, "{mics} MICs, service {service}");
    }
}

#[test]
fn ping_of_procedure_0_is_a_call_of_the_service() {
    let fixture = Fixture::new();
    let client = fixture.establish(b"ann@R");
    let ping = Request { procedure: 0, arguments: Vec::new(), ..client.data(1, INTEGRITY) };
    assert_eq!(fixture.judge(&client.seal(&ping)).unwrap_arguments(), Ok(Vec::new()));
}
