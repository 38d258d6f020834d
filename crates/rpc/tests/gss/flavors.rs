//! Judging by flavor.

use std::sync::Arc;

use rpc::auth::gss::{GssAuthenticator, GssLimits, NoNames, RPCSEC_GSS};
use rpc::auth::{AUTH_TLS, Authenticator, FlavorAuthenticator, SystemAuthenticator, Verdict, Verifier};
use rpc::message::{self, Message};
use testkit::connection::{LOCAL_PEER, TestConnection};
use testkit::gss::{ManualSurroundings, TestMechanism};
use testkit::wire::{AUTH_NONE, RawCall, TEST_PROGRAM};
use xdr::Decoder;

use crate::fixture::{BOOT, Fixture, INIT, creation};

/// One word that names the verdict on a call.
fn verdict(authenticator: &dyn Authenticator, call: &RawCall) -> String {
    let connection = TestConnection::new(LOCAL_PEER);
    let mut decoder = Decoder::new(call.message().into());
    let Ok(Message::Call(header, claim)) = message::decode(&mut decoder) else { panic!("no call") };
    let claim = claim.of(decoder.input_ref());
    match authenticator.judge(&header, &claim, decoder.rest_ref(), &connection) {
        Verdict::Lasting(caller) => format!("{:?}", caller.flavor()),
        Verdict::Upgrade(verifier) if verifier == Verifier::starttls() => "upgrade".to_owned(),
        Verdict::Later(_) => "later".to_owned(),
        Verdict::Refuse(refusal) => format!("{refusal:?}"),
        _ => "another verdict".to_owned(),
    }
}

fn gss() -> Arc<GssAuthenticator> {
    let surroundings = Arc::new(ManualSurroundings::new(BOOT));
    let mechanism = Arc::new(TestMechanism::default());
    Arc::new(GssAuthenticator::new(mechanism, Arc::new(NoNames), surroundings, &GssLimits::default()))
}

#[test]
fn each_flavor_has_its_judge() {
    let (all, none) = (FlavorAuthenticator::new(gss()), SystemAuthenticator);
    let call = |flavor, body: &[u8]| RawCall::new(1, (TEST_PROGRAM, 1, 0)).with_credential(flavor, body);
    let init = creation(INIT, &[], b"ann@R");
    let cases = [
        (call(AUTH_NONE, &[]), "None", "None"),
        (call(1, &[0; 20]), "Sys", "Sys"),
        (call(1, &[0; 19]), "Authentication(BadCredential)", "Authentication(BadCredential)"),
        (call(99, b"body"), "Other(99)", "Other(99)"),
        (call(AUTH_TLS, &[]), "upgrade", "upgrade"),
        (init, "later", "Other(6)"),
    ];
    for (call, with_all, with_none) in cases {
        assert_eq!(verdict(&all, &call), with_all);
        assert_eq!(verdict(&none, &call), with_none);
    }
}

#[test]
fn malformed_probe_is_refused() {
    let authenticator = FlavorAuthenticator::new(gss());
    let probe = |procedure| RawCall::new(1, (TEST_PROGRAM, 1, procedure)).with_credential(AUTH_TLS, &[]);
    assert_eq!(verdict(&authenticator, &probe(0)), "upgrade");
    let malformed = [
        probe(1),
        probe(0).with_credential(AUTH_TLS, b"body"),
        probe(0).with_verifier(AUTH_TLS, &[]),
        probe(0).with_verifier(AUTH_NONE, b"body"),
        probe(0).with_bytes(b"more"),
    ];
    for call in malformed {
        assert_eq!(verdict(&authenticator, &call), "Authentication(BadCredential)");
    }
}

#[test]
fn gss_alone_refuses_other_flavors() {
    let call = RawCall::new(1, (TEST_PROGRAM, 1, 0)).with_credential(RPCSEC_GSS + 1, &[]);
    assert_eq!(Fixture::new().judge(&call).name(), "RejectedCredential");
}
