//! Arbitrary bytes: nothing panics, and nothing without the client's proof passes.

use proptest::prelude::*;
use rpc::auth::gss::{RPCSEC_GSS, SecurityContext};
use testkit::wire::{RawCall, TEST_PROGRAM, words};

use crate::fixture::{Client, Fixture, INTEGRITY, NONE, PRIVACY, Request, judge};

/// Numbers of which most are near the edges of the protocol.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..5, any::<u32>(), 0x7fff_fffe_u32..0x8000_0003]
}

/// A body that begins like a credential.
fn credential(handle: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let handle = prop_oneof![Just(handle), prop::collection::vec(any::<u8>(), 0..80)];
    let tail = prop::collection::vec(any::<u8>(), 0..8);
    (number(), number(), number(), number(), number(), handle, any::<bool>(), tail).prop_map(
        |(version, procedure, sequence, service, length, handle, is_right, tail)| {
            let length = if is_right { handle.len() as u32 } else { length };
            [words(&[version, procedure, sequence, service, length]), handle, tail].concat()
        },
    )
}

fn established() -> (Fixture, Client) {
    let fixture = Fixture::new();
    let client = fixture.establish(b"ann@R");
    (fixture, client)
}

proptest! {
    #[test]
    fn arbitrary_credential_without_proof_never_passes(
        body in credential(established().1.handle),
        flavor in prop_oneof![Just(RPCSEC_GSS), number()],
        verifier in prop::collection::vec(any::<u8>(), 0..400),
        arguments in prop::collection::vec(any::<u8>(), 0..200),
        procedure in 0_u32..3,
    ) {
        let (fixture, _) = established();
        let call = RawCall::new(1, (TEST_PROGRAM, 1, procedure))
            .with_credential(RPCSEC_GSS, &body)
            .with_verifier(flavor, &verifier)
            .with_bytes(&arguments);
        let outcome = fixture.judge(&call).name();
        prop_assert!(outcome != "passed" && outcome != "silent" && outcome != "other", "{}", outcome);
    }

    #[test]
    fn arbitrary_body_never_reaches_the_service(
        body in prop::collection::vec(any::<u8>(), 0..400),
        service in INTEGRITY..=PRIVACY,
    ) {
        let (fixture, client) = established();
        let call = client.sign(&client.data(1, service), &body);
        prop_assert_eq!(fixture.judge(&call).unwrap_arguments(), Err("GarbageArguments".to_owned()));
    }

    #[test]
    fn call_with_one_wrong_bit_reaches_no_service(
        service in NONE..=PRIVACY,
        bit in any::<prop::sample::Index>(),
    ) {
        let (fixture, client) = established();
        let call = client.seal(&client.data(1, service));
        let mut message = call.message();
        // Plain arguments are not protected.
        let head = client.sign(&client.data(1, service), &[]).message().len();
        let bit = bit.index(8 * if service == NONE { head } else { message.len() });
        message[bit / 8] ^= 1 << (bit % 8);
        let outcome = judge(&fixture.authenticator, 1, &message).unwrap_arguments();
        prop_assert!(outcome.is_err(), "bit {} of {}: {:?}", bit, message.len(), outcome);
    }

    #[test]
    fn arbitrary_arguments_come_through_each_service(
        arguments in prop::collection::vec(any::<u8>(), 0..300),
        service in NONE..=PRIVACY,
    ) {
        let (fixture, client) = established();
        let request = Request { arguments: arguments.clone(), ..client.data(1, service) };
        prop_assert_eq!(fixture.judge(&client.seal(&request)).unwrap_arguments(), Ok(arguments));
    }

    #[test]
    fn mic_of_another_message_never_passes(other in prop::collection::vec(any::<u8>(), 0..100)) {
        let (fixture, client) = established();
        let call = client.data(1, NONE).unsigned(&[]);
        prop_assume!(other != call.head());
        let call = call.with_verifier(RPCSEC_GSS, &client.context.mic(&other).unwrap());
        prop_assert_eq!(fixture.judge(&call).name(), "GssCredentialProblem");
    }
}
