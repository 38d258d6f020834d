//! Requests that a hostile or broken client sends, and the answers of RFC 2203 §5.3.3.

use rpc::auth::gss::{RPCSEC_GSS, SecurityContext};
use testkit::gss::ManualSurroundings;
use testkit::wire::{RawCall, TEST_PROGRAM, words};

use crate::fixture::{
    ARGUMENTS, BOOT, Client, DESTROY, Fixture, INTEGRITY, NONE, PRIVACY, Request, creation,
};

/// A request, and the outcome: the name of a refusal, or `silent`.
struct Case {
    name: &'static str,
    call: fn(&Client, &Client) -> RawCall,
    expected: &'static str,
}

/// The credential of a request by `ann`, cut to this length.
fn cut_credential(ann: &Client, length: usize) -> RawCall {
    let mut credential = words(&[1, 0, 1, NONE, 24]);
    credential.extend_from_slice(&ann.handle);
    credential.truncate(length);
    signed(ann, RawCall::new(9, (TEST_PROGRAM, 1, 1)).with_credential(RPCSEC_GSS, &credential))
}

fn signed(client: &Client, call: RawCall) -> RawCall {
    let mic = client.context.mic(&call.head()).unwrap();
    call.with_verifier(RPCSEC_GSS, &mic)
}

/// A request by `ann` whose arguments are protected and then changed.
fn with_changed(ann: &Client, service: u32, change: fn(&mut Vec<u8>)) -> RawCall {
    let request = ann.data(1, service);
    let mut arguments = ann.seal(&request).message().split_off(request_head(ann, &request));
    change(&mut arguments);
    ann.sign(&request, &arguments)
}

/// The length of a request up to its arguments.
fn request_head(ann: &Client, request: &Request) -> usize {
    ann.sign(request, &[]).message().len()
}

const HEADER_CASES: &[Case] = &[
    Case {
        name: "a stolen handle",
        call: |ann, eve| eve.sign(&ann.data(1, NONE), ARGUMENTS),
        expected: "GssCredentialProblem",
    },
    Case {
        name: "a verifier of another header",
        call: |ann, _| {
            let mic = ann.context.mic(&ann.data(2, NONE).unsigned(&[]).head()).unwrap();
            ann.data(1, NONE).unsigned(ARGUMENTS).with_verifier(RPCSEC_GSS, &mic)
        },
        expected: "GssCredentialProblem",
    },
    Case {
        name: "a verifier that the server has made",
        call: |ann, _| {
            let call = ann.data(1, NONE).unsigned(ARGUMENTS);
            let server = testkit::gss::TestContext::new(testkit::gss::Side::Acceptor, b"ann@R");
            let mic = server.mic(&call.head()).unwrap();
            call.with_verifier(RPCSEC_GSS, &mic)
        },
        expected: "GssCredentialProblem",
    },
    Case {
        name: "an empty verifier of the flavor",
        call: |ann, _| ann.data(1, NONE).unsigned(ARGUMENTS).with_verifier(RPCSEC_GSS, &[]),
        expected: "GssCredentialProblem",
    },
    Case {
        name: "the verifier of AUTH_NONE",
        call: |ann, _| ann.data(1, NONE).unsigned(ARGUMENTS),
        expected: "BadVerifier",
    },
    Case {
        name: "a right verifier of another flavor",
        call: |ann, _| {
            let call = ann.data(1, NONE).unsigned(ARGUMENTS);
            let mic = ann.context.mic(&call.head()).unwrap();
            call.with_verifier(RPCSEC_GSS + 1, &mic)
        },
        expected: "BadVerifier",
    },
    Case {
        name: "no handle",
        call: |ann, _| ann.seal(&Request { handle: Vec::new(), ..ann.data(1, NONE) }),
        expected: "GssCredentialProblem",
    },
    Case {
        name: "a handle that was never made",
        call: |ann, _| ann.seal(&Request { handle: vec![0; 24], ..ann.data(1, NONE) }),
        expected: "GssCredentialProblem",
    },
    Case {
        name: "a handle of 64 bytes",
        call: |ann, _| ann.seal(&Request { handle: vec![1; 64], ..ann.data(1, NONE) }),
        expected: "GssCredentialProblem",
    },
    Case {
        name: "a handle of 65 bytes",
        call: |ann, _| ann.seal(&Request { handle: vec![1; 65], ..ann.data(1, NONE) }),
        expected: "BadCredential",
    },
    Case {
        name: "a cut handle",
        call: |ann, _| ann.seal(&Request { handle: ann.handle[..20].to_vec(), ..ann.data(1, NONE) }),
        expected: "GssCredentialProblem",
    },
    Case {
        name: "version 2 of the protocol",
        call: |ann, _| ann.seal(&Request { version: 2, ..ann.data(1, NONE) }),
        expected: "BadCredential",
    },
    Case {
        name: "a control procedure above DESTROY",
        call: |ann, _| ann.seal(&Request { control: DESTROY + 1, ..ann.data(1, NONE) }),
        expected: "BadCredential",
    },
    Case {
        name: "service 0",
        call: |ann, _| ann.seal(&Request { service: 0, ..ann.data(1, NONE) }),
        expected: "BadCredential",
    },
    Case {
        name: "a service above privacy",
        call: |ann, _| ann.seal(&Request { service: 4, ..ann.data(1, NONE) }),
        expected: "BadCredential",
    },
    Case { name: "an empty credential", call: |ann, _| cut_credential(ann, 0), expected: "BadCredential" },
    Case { name: "half a credential", call: |ann, _| cut_credential(ann, 16), expected: "BadCredential" },
    Case {
        name: "a credential without the end of its handle",
        call: |ann, _| cut_credential(ann, 40),
        expected: "BadCredential",
    },
    Case {
        name: "a number above the highest",
        call: |ann, _| ann.seal(&ann.data(0x8000_0001, NONE)),
        expected: "GssContextProblem",
    },
];

#[test]
fn bad_headers_have_the_answers_of_the_standard() {
    for case in HEADER_CASES {
        let fixture = Fixture::new();
        let (ann, eve) = (fixture.establish(b"ann@R"), fixture.establish(b"eve@R"));
        let call = (case.call)(&ann, &eve);
        assert_eq!(fixture.judge(&call).name(), case.expected, "{}", case.name);
        // It has cost the client nothing.
        let good = fixture.judge(&ann.seal(&ann.data(1, NONE)));
        assert_eq!(good.unwrap_arguments().unwrap(), ARGUMENTS, "after {}", case.name);
    }
}

const BODY_CASES: &[Case] = &[
    Case {
        name: "the number of another request with integrity",
        call: |ann, _| ann.seal(&Request { body_sequence: 2, ..ann.data(1, INTEGRITY) }),
        expected: "GarbageArguments",
    },
    Case {
        name: "the number of another request with privacy",
        call: |ann, _| ann.seal(&Request { body_sequence: 2, ..ann.data(1, PRIVACY) }),
        expected: "GarbageArguments",
    },
    Case {
        name: "plain arguments with integrity",
        call: |ann, _| ann.sign(&ann.data(1, INTEGRITY), ARGUMENTS),
        expected: "GarbageArguments",
    },
    Case {
        name: "plain arguments with privacy",
        call: |ann, _| ann.sign(&ann.data(1, PRIVACY), ARGUMENTS),
        expected: "GarbageArguments",
    },
    Case {
        name: "no arguments with integrity",
        call: |ann, _| ann.sign(&ann.data(1, INTEGRITY), &[]),
        expected: "GarbageArguments",
    },
    Case {
        name: "no arguments with privacy",
        call: |ann, _| ann.sign(&ann.data(1, PRIVACY), &[]),
        expected: "GarbageArguments",
    },
    Case {
        name: "a changed body with integrity",
        call: |ann, _| with_changed(ann, INTEGRITY, |bytes| bytes[9] ^= 1),
        expected: "GarbageArguments",
    },
    Case {
        name: "a changed token",
        call: |ann, _| with_changed(ann, PRIVACY, |bytes| bytes[17] ^= 1),
        expected: "GarbageArguments",
    },
    Case {
        name: "a cut MIC",
        call: |ann, _| with_changed(ann, INTEGRITY, |bytes| bytes.truncate(bytes.len() - 4)),
        expected: "GarbageArguments",
    },
    Case {
        name: "a cut token",
        call: |ann, _| with_changed(ann, PRIVACY, |bytes| bytes.truncate(bytes.len() - 4)),
        expected: "GarbageArguments",
    },
    Case {
        name: "bytes behind the MIC",
        call: |ann, _| with_changed(ann, INTEGRITY, |bytes| bytes.extend([0; 4])),
        expected: "GarbageArguments",
    },
    Case {
        name: "bytes behind the token",
        call: |ann, _| with_changed(ann, PRIVACY, |bytes| bytes.extend([0; 4])),
        expected: "GarbageArguments",
    },
    Case {
        name: "a length above the record",
        call: |ann, _| ann.sign(&ann.data(1, PRIVACY), &[0xff; 8]),
        expected: "GarbageArguments",
    },
    Case {
        name: "a body without a number",
        call: |ann, _| {
            let mut arguments = xdr::Encoder::new();
            arguments.opaque(b"abc");
            arguments.opaque(&ann.context.mic(b"abc").unwrap());
            ann.sign(&ann.data(1, INTEGRITY), arguments.as_slice())
        },
        expected: "GarbageArguments",
    },
    Case {
        name: "a token without a number",
        call: |ann, _| {
            let mut arguments = xdr::Encoder::new();
            arguments.opaque(&ann.context.wrapped(b"abc"));
            ann.sign(&ann.data(1, PRIVACY), arguments.as_slice())
        },
        expected: "GarbageArguments",
    },
    Case {
        name: "the arguments of another principal",
        call: |ann, eve| {
            let mut arguments = xdr::Encoder::new();
            arguments.opaque(&eve.context.wrapped(b"\0\0\0\x01argument"));
            ann.sign(&ann.data(1, PRIVACY), arguments.as_slice())
        },
        expected: "GarbageArguments",
    },
    Case {
        name: "a MIC that is longer than a verifier",
        call: |ann, _| {
            let mut arguments = xdr::Encoder::new();
            arguments.opaque(b"\0\0\0\x01argument");
            arguments.opaque(&[0; 404]);
            ann.sign(&ann.data(1, INTEGRITY), arguments.as_slice())
        },
        expected: "GarbageArguments",
    },
];

#[test]
fn bad_bodies_are_garbage_and_use_up_their_number() {
    for case in BODY_CASES {
        let fixture = Fixture::new();
        let (ann, eve) = (fixture.establish(b"ann@R"), fixture.establish(b"eve@R"));
        let call = (case.call)(&ann, &eve);
        assert_eq!(fixture.judge(&call).unwrap_arguments(), Err(case.expected.to_owned()), "{}", case.name);
        // Its header was good: the number counts as seen.
        assert_eq!(fixture.judge(&ann.seal(&ann.data(1, NONE))).name(), "silent", "after {}", case.name);
        assert_eq!(fixture.judge(&ann.seal(&ann.data(2, NONE))).name(), "passed", "after {}", case.name);
    }
}

#[test]
fn handle_of_another_run_of_the_server_is_a_problem_of_the_credential() {
    let (before, now) = (Fixture::new(), Fixture::new());
    let client = before.establish(b"ann@R");
    let mut handle = client.handle.clone();
    assert_eq!(handle, now.establish(b"ann@R").handle, "both draw the same nonce");
    assert_eq!(now.judge(&client.seal(&client.data(1, NONE))).name(), "passed");
    handle[..8].copy_from_slice(&(BOOT + 1).to_be_bytes());
    let request = Request { handle: handle.clone(), ..client.data(2, NONE) };
    assert_eq!(now.judge(&client.seal(&request)).name(), "GssCredentialProblem");
    let continued = now.continue_init(&handle, b"ann@R");
    assert!(continued.1.handle.is_empty(), "GSS_S_NO_CONTEXT");
}

#[test]
fn handles_cannot_be_counted_through() {
    use rpc::auth::gss::Surroundings;
    let fixture = Fixture::new();
    let handles = [b"ann@R", b"bob@R"].map(|principal| fixture.establish(principal).handle);
    // All of a handle behind the boot instance comes from the randomness of the surroundings.
    let surroundings = ManualSurroundings::new(BOOT);
    for handle in handles {
        let mut nonce = [0; 16];
        surroundings.random(&mut nonce);
        assert_eq!(handle, [&BOOT.to_be_bytes()[..], &nonce].concat());
    }
}

#[test]
fn captured_request_is_worth_nothing() {
    let fixture = Fixture::new();
    let ann = fixture.establish(b"ann@R");
    let captured = ann.seal(&ann.data(1, INTEGRITY));
    assert_eq!(fixture.judge(&captured).name(), "passed");
    // On this connection, on another one, and with other arguments.
    assert_eq!(fixture.judge(&captured).name(), "silent");
    assert_eq!(fixture.judge_from(9, &captured).name(), "silent");
    assert_eq!(fixture.judge(&captured.clone().with_bytes(b"other")).name(), "silent");
    // After the context is gone, and as a creation.
    assert_eq!(fixture.judge(&ann.seal(&ann.destroy(2))).name(), "answered");
    assert_eq!(fixture.judge(&captured).name(), "GssCredentialProblem");
    let creation = creation(2, &ann.handle, b"ann@R");
    assert_eq!(fixture.judge(&creation).name(), "answered", "GSS_S_NO_CONTEXT");
}
