//! The client's half, against the server's.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use rpc::auth::gss::client::{CreationError, GssCredentials};
use rpc::auth::gss::wire::{InitResults, MajorStatus};
use rpc::auth::gss::{GssService, WINDOW};
use rpc::auth::{CallProtection, Credentials, OnBehalf, OpaqueAuth, Pass, UnixUser, Verifier};
use rpc::message;
use rpc::{AuthStatus, BoxFuture, CallError, CallHeader, Refusal};
use testkit::gss::{CONTINUE, DEFECTIVE, Exchanges, MINOR, NEXT, NO_TICKET, TestInitiator, WELCOME};
use testkit::wire::TEST_PROGRAM;
use xdr::{Decoder, Encoder};

use crate::fixture::{Fixture, Judged, failed, judge, poll};

/// The message of a call with this protection.
fn framed(procedure: u32, protection: &mut dyn CallProtection, arguments: &[u8]) -> Vec<u8> {
    let header = CallHeader { xid: 3, program: TEST_PROGRAM, version: 1, procedure };
    let (mut call, credential) = (Encoder::new(), protection.credential());
    message::encode_verified_call(&header, &credential, &mut call, 0, |signed| protection.verifier(signed));
    let start = call.len();
    protection.begin(&mut call);
    call.buffer_mut().extend_from_slice(arguments);
    protection.wrap(&mut call, start);
    call.into_inner()
}

/// The results of a reply, as the client sees them.
fn results(
    protection: &mut dyn CallProtection,
    verifier: &Verifier,
    results: Vec<u8>,
) -> Result<Vec<u8>, CallError> {
    let verifier = OpaqueAuth { flavor: verifier.flavor, body: &verifier.body };
    Ok(protection.unwrap(verifier, Decoder::new(results.into()))?.rest_ref().to_vec())
}

/// Sends a call of procedure 0 to the server.
fn exchange(fixture: &Fixture, pass: Pass, arguments: &[u8]) -> Result<Bytes, CallError> {
    let Pass::Protected(mut protection) = pass else { panic!("it has no protection") };
    let message = framed(0, &mut *protection, arguments);
    let answer = judge(&fixture.authenticator, 1, &message).answer().map_err(CallError::Refused)?;
    results(&mut *protection, &answer.verifier, answer.results).map(Bytes::from)
}

fn ready<T: Send + 'static>(value: T) -> BoxFuture<T> {
    Box::pin(std::future::ready(value))
}

/// Runs a future that needs no time.
fn run<T>(future: impl Future<Output = T> + Send + 'static) -> T {
    match poll(&mut (Box::pin(future) as BoxFuture<T>)) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it takes time"),
    }
}

fn user(uid: u32) -> UnixUser {
    UnixUser { uid, gid: 7, gids: vec![] }
}

fn credentials(exchanges: Exchanges, service: GssService) -> Arc<GssCredentials> {
    Arc::new(GssCredentials::new(Arc::new(TestInitiator(exchanges)), service, 3))
}

fn establish(
    credentials: &Arc<GssCredentials>,
    fixture: &Arc<Fixture>,
    uid: u32,
) -> Result<(), CreationError> {
    let (credentials, fixture) = (Arc::clone(credentials), Arc::clone(fixture));
    run(async move {
        let send = move |pass, arguments: Vec<u8>| ready(exchange(&fixture, pass, &arguments));
        credentials.establish(OnBehalf::User(&user(uid)), &send).await
    })
}

/// The protection of the next call of a user.
fn protection(credentials: &GssCredentials, uid: u32) -> Result<Box<dyn CallProtection>, CallError> {
    match credentials.pass(OnBehalf::User(&user(uid)))? {
        Pass::Protected(protection) => Ok(protection),
        Pass::Plain(_) => panic!("it is plain"),
    }
}

#[test]
fn each_form_of_creation_leads_to_calls_of_each_service() {
    for exchanges in [Exchanges::One, Exchanges::Mutual, Exchanges::Two] {
        for service in [GssService::None, GssService::Integrity, GssService::Privacy] {
            let (fixture, credentials) = (Arc::new(Fixture::new()), credentials(exchanges, service));
            establish(&credentials, &fixture, 5).unwrap();
            assert_eq!(fixture.counts(), (1, 0));
            for round in 0..3 {
                let mut client = protection(&credentials, 5).unwrap();
                let message = framed(1, &mut *client, b"argument");
                let judged = judge(&fixture.authenticator, 1, &message);
                let Judged::Passed { caller, mut protection, arguments } = judged else {
                    panic!("{exchanges:?} {service:?} {round}: {}", judged.name())
                };
                assert!(caller.principal().ends_with(b"user5@R"));
                let verifier = protection.verifier();
                assert_eq!(protection.unwrap(arguments).unwrap().rest_ref(), b"argument");
                let mut reply = Encoder::new();
                protection.begin(&mut reply);
                reply.buffer_mut().extend_from_slice(b"results.");
                protection.wrap(&mut reply, 0).unwrap();
                let plain = results(&mut *client, &verifier, reply.into_inner()).unwrap();
                assert_eq!(plain, b"results.");
            }
        }
    }
}

#[test]
fn reply_that_is_not_the_servers_is_unproven() {
    let credentials = credentials(Exchanges::Mutual, GssService::Integrity);
    let fixture = Arc::new(Fixture::new());
    establish(&credentials, &fixture, 5).unwrap();
    let answer = || {
        let mut client = protection(&credentials, 5).unwrap();
        let judged = judge(&fixture.authenticator, 1, &framed(1, &mut *client, b""));
        let Judged::Passed { mut protection, .. } = judged else { panic!("{}", judged.name()) };
        let mut reply = Encoder::new();
        protection.begin(&mut reply);
        protection.wrap(&mut reply, 0).unwrap();
        (client, protection.verifier(), reply.into_inner())
    };
    let is_unproven = |result| matches!(result, Err(CallError::Unproven));
    let (mut client, _, reply) = answer();
    assert!(is_unproven(results(&mut *client, &Verifier::NONE, reply)));
    // The verifier of one request, and the results of another.
    let (_, verifier, other_reply) = answer();
    let (mut client, own, reply) = answer();
    assert!(is_unproven(results(&mut *client, &verifier, reply.clone())));
    assert!(is_unproven(results(&mut *client, &own, other_reply)));
    for end in 0..reply.len() {
        assert!(is_unproven(results(&mut *client, &own, reply[..end].to_vec())), "{end} bytes");
    }
    assert!(is_unproven(results(&mut *client, &own, [&reply[..], &[0; 4]].concat())));
    assert_eq!(results(&mut *client, &own, reply).unwrap(), b"");
}

/// Creates a context over a server that answers with these results and verifiers.
fn create_against(exchanges: Exchanges, replies: Vec<(Verifier, InitResults)>) -> Result<(), CreationError> {
    let (credentials, replies) = (credentials(exchanges, GssService::None), Mutex::new(replies.into_iter()));
    run(async move {
        let send = move |pass, _: Vec<u8>| {
            let Pass::Protected(mut protection) = pass else { panic!("it has no protection") };
            let (verifier, reply) = replies.lock().unwrap().next().expect("no more requests");
            let reply = xdr::to_bytes(&reply).to_vec();
            ready(results(&mut *protection, &verifier, reply).map(Bytes::from))
        };
        credentials.establish(OnBehalf::Client, &send).await
    })
}

#[test]
fn hostile_server_establishes_no_context() {
    let (_, good) = Fixture::new().init(b"host/client@R");
    let (verifier, _) = Fixture::new().init(b"host/client@R");
    let (others_verifier, _) = Fixture::new().init(b"user5@R");
    let next = |handle: &'static [u8]| InitResults {
        handle: Bytes::from_static(handle),
        major: MajorStatus::CONTINUE_NEEDED,
        token: Bytes::from_static(NEXT),
        ..good.clone()
    };
    let mutual =
        |verifier: &Verifier, results| create_against(Exchanges::Mutual, vec![(verifier.clone(), results)]);
    assert!(mutual(&verifier, good.clone()).is_ok());
    let unproven = |created| matches!(created, Err(CreationError::Call(CallError::Unproven)));
    assert!(unproven(mutual(&Verifier::NONE, good.clone())));
    assert!(unproven(mutual(&others_verifier, good.clone())));
    assert!(unproven(mutual(&verifier, InitResults { window: WINDOW + 1, ..good.clone() })));
    let defective = InitResults { token: Bytes::from_static(DEFECTIVE), ..good.clone() };
    assert!(matches!(
        mutual(&verifier, defective),
        Err(CreationError::Mechanism { major: MajorStatus::DEFECTIVE_TOKEN, minor: MINOR })
    ));
    let refused = failed(MajorStatus::FAILURE, 9);
    assert!(matches!(mutual(&verifier, refused), Err(CreationError::Refused { minor: 9, .. })));
    let nameless = InitResults { handle: Bytes::new(), ..good.clone() };
    assert!(matches!(mutual(&verifier, nameless), Err(CreationError::Refused { .. })));
    let created = |replies| create_against(Exchanges::Two, replies);
    let out_of_step = |created| matches!(created, Err(CreationError::OutOfStep));
    let welcome = Bytes::from_static(WELCOME);
    // Another handle, no end, and an end that the client does not expect.
    let other = InitResults { handle: Bytes::from_static(b"other"), token: welcome.clone(), ..good.clone() };
    assert!(out_of_step(created(vec![(Verifier::NONE, next(b"one")), (verifier.clone(), other)])));
    let again = (Verifier::NONE, next(b"one"));
    assert!(out_of_step(created(vec![again.clone(), again.clone()])));
    assert!(out_of_step(create_against(Exchanges::One, vec![again])));
    let early = InitResults { token: Bytes::from_static(NEXT), ..good };
    assert!(out_of_step(created(vec![(verifier, early)])));
    assert_ne!(CONTINUE, NEXT);
}

#[test]
fn user_without_a_context_has_no_credential() {
    let credentials = credentials(Exchanges::One, GssService::None);
    let fixture = Arc::new(Fixture::new());
    let no_credential =
        |uid| matches!(protection(&credentials, uid), Err(CallError::NoCredential(of)) if of == uid);
    assert!(no_credential(5));
    assert!(matches!(
        establish(&credentials, &fixture, NO_TICKET),
        Err(CreationError::Mechanism { minor: NO_TICKET, .. })
    ));
    for uid in 5..8 {
        establish(&credentials, &fixture, uid).unwrap();
        assert!(protection(&credentials, uid).is_ok());
    }
    let refused = establish(&credentials, &fixture, 8);
    assert!(matches!(refused, Err(CreationError::Call(CallError::NoCredential(8)))), "too many users");
    establish(&credentials, &fixture, 5).expect("a new context of the same user");
    credentials.forget(OnBehalf::User(&user(6)));
    assert!(no_credential(6));
    establish(&credentials, &fixture, 8).unwrap();
}

#[test]
fn lost_context_is_told_and_another_one_works() {
    let (credentials, fixture) =
        (credentials(Exchanges::Mutual, GssService::Privacy), Arc::new(Fixture::new()));
    establish(&credentials, &fixture, 5).unwrap();
    let restarted = Arc::new(Fixture::with_boot(crate::fixture::BOOT + 1));
    let call = |server: &Fixture| {
        let mut client = protection(&credentials, 5).unwrap();
        judge(&server.authenticator, 1, &framed(1, &mut *client, b"argument")).unwrap_arguments()
    };
    assert_eq!(call(&restarted), Err("GssCredentialProblem".to_owned()));
    for (status, is_lost) in [
        (AuthStatus::GssCredentialProblem, true),
        (AuthStatus::GssContextProblem, true),
        (AuthStatus::BadCredential, false),
        (AuthStatus::TooWeak, false),
    ] {
        assert_eq!(GssCredentials::is_context_lost(Refusal::Authentication(status)), is_lost);
    }
    assert!(!GssCredentials::is_context_lost(Refusal::GarbageArguments));
    establish(&credentials, &restarted, 5).unwrap();
    assert_eq!(call(&restarted).unwrap(), b"argument");
}

#[test]
fn destroyed_context_is_gone_at_both_ends() {
    let (credentials, fixture) =
        (credentials(Exchanges::Mutual, GssService::Privacy), Arc::new(Fixture::new()));
    establish(&credentials, &fixture, 5).unwrap();
    let pass = credentials.destroy(OnBehalf::User(&user(5))).unwrap();
    assert_eq!(exchange(&fixture, pass, &[]).unwrap(), "");
    assert_eq!(fixture.counts(), (0, 0));
    assert!(credentials.destroy(OnBehalf::User(&user(5))).is_none());
}

#[test]
fn no_more_calls_are_under_way_than_the_window_takes() {
    let (_, good) = Fixture::new().init(b"host/client@R");
    let context = testkit::gss::TestContext::new(testkit::gss::Side::Acceptor, b"host/client@R");
    let body = rpc::auth::gss::SecurityContext::mic(&context, &2_u32.to_be_bytes()).unwrap();
    let verifier = Verifier { flavor: rpc::auth::gss::RPCSEC_GSS, body };
    let credentials = credentials(Exchanges::Mutual, GssService::None);
    let reply = (verifier, InitResults { window: 2, ..good });
    let created = {
        let credentials = Arc::clone(&credentials);
        run(async move {
            let send = move |pass, _: Vec<u8>| {
                let Pass::Protected(mut protection) = pass else { panic!("it has no protection") };
                let bytes = xdr::to_bytes(&reply.1).to_vec();
                ready(results(&mut *protection, &reply.0, bytes).map(Bytes::from))
            };
            credentials.establish(OnBehalf::Client, &send).await
        })
    };
    created.unwrap();
    let first = credentials.pass(OnBehalf::Client).unwrap();
    let _second = credentials.pass(OnBehalf::Client).unwrap();
    assert!(matches!(credentials.pass(OnBehalf::Client), Err(CallError::Busy)));
    drop(first);
    assert!(credentials.pass(OnBehalf::Client).is_ok());
}
