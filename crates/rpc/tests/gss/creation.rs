//! INIT, CONTINUE_INIT and DESTROY (RFC 2203 §5.2, §5.4).

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use rpc::auth::gss::wire::{InitResults, MajorStatus};
use rpc::auth::gss::{GssLimits, Names, NoNames, RPCSEC_GSS, WINDOW};
use rpc::auth::{Answer, Flavor, UnixUser, Verifier};
use rpc::{AuthStatus, BoxFuture, Refusal};
use testkit::gss::{CONTINUE, DEFECTIVE, MINOR, NEXT, Side, TestContext, WELCOME};

use crate::fixture::{
    CONTINUE_INIT, Client, Fixture, INIT, INTEGRITY, Judged, NONE, PRIVACY, Request, creation, failed, poll,
};

#[test]
fn established_context_has_the_mic_of_the_window() {
    let fixture = Fixture::new();
    let (verifier, results) = fixture.init(b"ann@R");
    let client =
        Client { context: TestContext::new(Side::Initiator, b"ann@R"), handle: results.handle.to_vec() };
    assert!(client.verifies(&verifier, WINDOW));
    let token = Bytes::from_static(WELCOME);
    let expected = InitResults {
        major: MajorStatus::COMPLETE,
        token,
        handle: results.handle.clone(),
        ..failed_results()
    };
    assert_eq!(results, expected);
    assert_eq!((results.handle.len(), fixture.counts()), (24, (1, 0)));
}

fn failed_results() -> InitResults {
    failed(MajorStatus::COMPLETE, 0)
}

#[test]
fn handle_stays_the_same_while_a_context_is_continued() {
    let fixture = Fixture::new();
    let (verifier, first) = fixture.init(CONTINUE);
    assert_eq!((verifier, first.major), (Verifier::NONE, MajorStatus::CONTINUE_NEEDED));
    assert_eq!((&first.token[..], fixture.counts()), (NEXT, (0, 1)));
    let (_, second) = fixture.continue_init(&first.handle, CONTINUE);
    assert_eq!((second.major, &second.handle), (MajorStatus::CONTINUE_NEEDED, &first.handle));
    let (_, third) = fixture.continue_init(&first.handle, b"ann@R");
    assert_eq!((third.major, &third.handle), (MajorStatus::COMPLETE, &first.handle));
    assert_eq!(fixture.counts(), (1, 0));
    let (verifier, again) = fixture.continue_init(&first.handle, b"ann@R");
    assert_eq!((verifier, again), (Verifier::NONE, failed(MajorStatus::NO_CONTEXT, 0)));
}

#[test]
fn failed_creation_leaves_nothing() {
    let fixture = Fixture::new();
    assert_eq!(fixture.init(DEFECTIVE), (Verifier::NONE, failed(MajorStatus::DEFECTIVE_TOKEN, MINOR)));
    let (_, first) = fixture.init(CONTINUE);
    let second = fixture.continue_init(&first.handle, DEFECTIVE);
    assert_eq!(second, (Verifier::NONE, failed(MajorStatus::DEFECTIVE_TOKEN, MINOR)));
    assert_eq!(fixture.init(&[]), (Verifier::NONE, failed(MajorStatus::BAD_NAME, 0)));
    assert_eq!(fixture.init(&[b'a'; 1_025]).1, failed(MajorStatus::BAD_NAME, 0));
    fixture.mechanism.set_lifetime(Some(Duration::ZERO));
    assert_eq!(fixture.init(b"ann@R").1, failed(MajorStatus::CONTEXT_EXPIRED, 0));
    assert_eq!(fixture.counts(), (0, 0));
}

#[test]
fn malformed_creation_is_refused() {
    let fixture = Fixture::new();
    let handle = fixture.init(CONTINUE).1.handle;
    let refused = |call| fixture.judge(&call).name();
    let request = |procedure, version, control, handle: &[u8]| Request {
        procedure,
        version,
        control,
        handle: handle.to_vec(),
        arguments: Vec::new(),
        ..fixture.establish(b"ann@R").data(0, NONE)
    };
    let token = |token: &'static [u8]| move |call: Request| call.unsigned(token);
    let empty = token(b"\0\0\0\0");
    for control in [INIT, CONTINUE_INIT] {
        assert_eq!(refused(empty(request(1, 1, control, &[]))), "BadCredential", "another procedure");
        assert_eq!(refused(empty(request(0, 2, control, &[]))), "RejectedCredential", "another version");
        let proven = empty(request(0, 1, control, &[])).with_verifier(RPCSEC_GSS, b"proof");
        assert_eq!(refused(proven), "BadVerifier");
        let handle = if control == INIT { &b""[..] } else { &handle[..] };
        for arguments in [&b""[..], b"\0\0\0\x04abc", b"\0\0\0\0\0\0\0\0", b"\0\x01\0\x01", &[0; 70_000]] {
            let call = request(0, 1, control, handle).unsigned(arguments);
            assert_eq!(refused(call), "GarbageArguments", "{} bytes", arguments.len());
        }
    }
    assert_eq!(refused(empty(request(0, 1, INIT, &handle))), "BadCredential", "INIT with a handle");
    // No request has taken the context from its client.
    assert_eq!(fixture.continue_init(&handle, b"ann@R").1.major, MajorStatus::COMPLETE);
}

#[test]
fn slow_mechanism_answers_later_and_a_repeated_token_is_dropped() {
    let fixture = Fixture::new();
    let handle = fixture.init(CONTINUE).1.handle;
    fixture.mechanism.shut();
    let next = creation(CONTINUE_INIT, &handle, b"ann@R");
    let Judged::Later(mut first) = fixture.judge(&next) else { panic!("it is answered at once") };
    assert!(poll(&mut first).is_pending());
    assert_eq!(fixture.judge(&next).name(), "silent");
    assert_eq!(fixture.counts(), (0, 1));
    fixture.mechanism.open();
    let Poll::Ready(Ok(Answer { results, .. })) = poll(&mut first) else { panic!("it waits") };
    let results: InitResults = xdr::from_bytes(results).unwrap();
    assert_eq!((results.handle, fixture.counts()), (handle, (1, 0)));
}

#[test]
fn creation_ends_with_its_connection() {
    let fixture = Fixture::new();
    fixture.mechanism.shut();
    let Judged::Later(mut answer) = fixture.judge(&creation(INIT, &[], b"ann@R")) else { panic!() };
    assert!(poll(&mut answer).is_pending());
    assert_eq!(fixture.counts(), (0, 1));
    drop(answer);
    assert_eq!(fixture.counts(), (0, 0));
}

#[test]
fn flood_of_creations_leaves_established_contexts_and_other_peers_alone() {
    let limits = GssLimits { negotiations_max: 8, negotiations_per_peer_max: 4, ..GssLimits::default() };
    let fixture = Fixture::with(limits, Arc::new(NoNames));
    let client = fixture.establish(b"ann@R");
    let other = fixture.judge_from(2, &creation(INIT, &[], CONTINUE)).answer().unwrap();
    let other: InitResults = xdr::from_bytes(other.results).unwrap();
    for _ in 0..1_000 {
        let _ = fixture.init(CONTINUE);
    }
    assert_eq!(fixture.counts(), (1, 5));
    assert!(fixture.judge(&client.seal(&client.data(1, NONE))).unwrap_arguments().is_ok());
    assert_eq!(fixture.continue_init(&other.handle, b"bob@R").1.major, MajorStatus::COMPLETE);
}

#[test]
fn creations_that_the_mechanism_holds_up_are_bounded() {
    let limits = GssLimits { negotiations_max: 8, negotiations_per_peer_max: 4, ..GssLimits::default() };
    let fixture = Fixture::with(limits, Arc::new(NoNames));
    fixture.mechanism.shut();
    let init = creation(INIT, &[], b"ann@R");
    let held: Vec<Judged> = (0..4).map(|_| fixture.judge_from(1, &init)).collect();
    assert!(held.iter().all(|judged| judged.name() == "later"));
    assert_eq!(fixture.judge_from(1, &init).name(), "SystemError");
    assert_eq!(fixture.judge_from(2, &init).name(), "later", "another peer");
    fixture.mechanism.open();
    for judged in held {
        assert!(judged.answer().is_ok());
    }
    assert_eq!(fixture.judge_from(1, &init).name(), "later");
}

#[test]
fn destroyed_context_is_gone() {
    let fixture = Fixture::new();
    let client = fixture.establish(b"ann@R");
    let answer = fixture.judge(&client.seal(&client.destroy(5))).answer().unwrap();
    assert!(client.verifies(&answer.verifier, 5));
    assert_eq!((answer.results, fixture.counts()), (Vec::new(), (0, 0)));
    let again = fixture.judge(&client.seal(&client.destroy(6)));
    assert_eq!(again.name(), "GssCredentialProblem");
    assert_eq!(fixture.judge(&client.seal(&client.data(7, NONE))).name(), "GssCredentialProblem");
}

#[test]
fn protected_destroy_has_protected_results() {
    let fixture = Fixture::new();
    for service in [INTEGRITY, PRIVACY] {
        let client = fixture.establish(b"ann@R");
        let request = Request { service, ..client.destroy(5) };
        let answer = fixture.judge(&client.seal(&request)).answer().unwrap();
        assert!(answer.results.len() > 8, "the number of the request and its proof");
    }
    assert_eq!(fixture.counts(), (0, 0));
}

#[test]
fn destroy_without_proof_leaves_the_context() {
    let fixture = Fixture::new();
    let client = fixture.establish(b"ann@R");
    let stranger = fixture.establish(b"eve@R");
    let cases = [
        ("BadVerifier", client.destroy(1).unsigned(&[])),
        ("GssCredentialProblem", stranger.sign(&client.destroy(1), &[])),
        ("BadCredential", client.sign(&Request { procedure: 1, ..client.destroy(1) }, &[])),
    ];
    for (expected, call) in cases {
        assert_eq!(fixture.judge(&call).name(), expected);
    }
    assert!(fixture.judge(&client.seal(&client.data(1, NONE))).unwrap_arguments().is_ok());
}

/// Knows each principal as user 5.
struct Five;

impl Names for Five {
    fn user(&self, _: Bytes) -> BoxFuture<Option<UnixUser>> {
        Box::pin(std::future::ready(Some(UnixUser { uid: 5, gid: 6, gids: vec![7] })))
    }
}

#[test]
fn caller_is_the_principal_with_its_user_and_service() {
    let fixture = Fixture::with(GssLimits::default(), Arc::new(Five));
    let caller = |principal: &[u8], service| {
        let client = fixture.establish(principal);
        match fixture.judge(&client.seal(&client.data(1, service))) {
            Judged::Passed { caller, .. } => caller,
            other => panic!("{}", other.name()),
        }
    };
    let [plain, sealed] = [NONE, PRIVACY].map(|service| caller(b"ann@R", service));
    assert_eq!(plain.user().unwrap().uid, 5);
    assert_eq!(plain.principal(), sealed.principal(), "two contexts of one principal");
    assert_ne!(plain.flavor(), sealed.flavor());
    assert!(matches!(sealed.flavor(), Flavor::Gss(service) if service.krb5_pseudo_flavor() == 390_005));
    assert_ne!(caller(b"bob@R", NONE).principal(), plain.principal());
    assert_eq!(caller(b"host/a.example@R", NONE).user(), None, "a machine is nobody");
}

#[test]
fn refusals_of_creation_are_those_that_the_standard_allows() {
    // RFC 2203 §5.2.3.2 excludes both problems of contexts.
    let fixture = Fixture::new();
    let excluded = [AuthStatus::GssCredentialProblem, AuthStatus::GssContextProblem].map(Refusal::from);
    let client = fixture.establish(b"ann@R");
    for control in [INIT, CONTINUE_INIT] {
        for handle in [&b""[..], &client.handle, &[1; 24], &[1; 64]] {
            match fixture.judge(&creation(control, handle, b"ann@R")).answer() {
                Ok(_) => {}
                Err(refusal) => assert!(!excluded.contains(&refusal)),
            }
        }
    }
}
