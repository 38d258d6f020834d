//! Arbitrary messages, bytes and changed bits.

use gss_krb5::{Context, Enctype, Error, WrapProtection};
use proptest::prelude::*;

use crate::sides::sides;

fn enctype() -> impl Strategy<Value = Enctype> {
    prop::sample::select(Enctype::ALL.to_vec())
}

fn protection() -> impl Strategy<Value = WrapProtection> {
    prop_oneof![Just(WrapProtection::Integrity), any::<[u8; 16]>().prop_map(WrapProtection::Privacy)]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..300)
}

/// Bytes that often begin like a token of the initiator.
fn token_like() -> impl Strategy<Value = Vec<u8>> {
    let header = (prop_oneof![Just(4_u8), Just(5)], prop_oneof![Just(4_u8), Just(6)], any::<[u8; 4]>())
        .prop_map(|(kind, flags, counts)| [[kind, 4, flags, 0xff], counts].concat());
    prop_oneof![bytes(), (header, bytes()).prop_map(|(header, rest)| [header, rest].concat())]
}

/// Wraps a message and rotates the token.
fn wrapped(context: &Context, message: &[u8], protection: WrapProtection, rotation: u16) -> Vec<u8> {
    let mut token = context.wrap(1, message, protection);
    token[6..8].copy_from_slice(&rotation.to_be_bytes());
    let body = &mut token[16..];
    body.rotate_right(usize::from(rotation) % body.len());
    token
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_no_token(enctype in enctype(), token in token_like(), message in bytes()) {
        let (_, acceptor) = sides(enctype);
        prop_assert!(acceptor.unwrap(&token).is_err());
        prop_assert!(acceptor.verify_mic(&token, &message).is_err());
    }

    #[test]
    fn message_of_any_length_survives_wrap_and_unwrap(
        enctype in enctype(),
        message in bytes(),
        protection in protection(),
        rotation in any::<u16>(),
        sequence in any::<u64>(),
    ) {
        let (initiator, acceptor) = sides(enctype);
        prop_assert_eq!(acceptor.verify_mic(&initiator.mic(sequence, &message), &message), Ok(sequence));
        let token = wrapped(&initiator, &message, protection, rotation);
        let is_private = protection != WrapProtection::Integrity;
        prop_assert_eq!(acceptor.unwrap(&token), Ok((message, is_private)));
    }

    #[test]
    fn mic_token_with_a_changed_bit_is_refused(
        enctype in enctype(),
        message in bytes(),
        bit in any::<prop::sample::Index>(),
    ) {
        let (initiator, acceptor) = sides(enctype);
        let mut both = initiator.mic(1, &message);
        let token_bytes = both.len();
        both.extend_from_slice(&message);
        let bit = bit.index(both.len() * 8);
        both[bit / 8] ^= 1 << (bit % 8);
        let (token, message) = both.split_at(token_bytes);
        prop_assert!(acceptor.verify_mic(token, message).is_err(), "bit {bit}");
    }

    #[test]
    fn wrap_token_with_a_changed_bit_is_refused(
        enctype in enctype(),
        message in bytes(),
        protection in protection(),
        rotation in any::<u16>(),
        bit in any::<prop::sample::Index>(),
    ) {
        let (initiator, acceptor) = sides(enctype);
        let mut token = wrapped(&initiator, &message, protection, rotation);
        let bit = bit.index(token.len() * 8);
        token[bit / 8] ^= 1 << (bit % 8);
        let changed = u16::from_be_bytes([token[6], token[7]]);
        let body = token.len() - 16;
        // The rotation count is not authenticated: another one that rotates as far is as good.
        if usize::from(changed) % body == usize::from(rotation) % body && (48..64).contains(&bit) {
            prop_assert_eq!(acceptor.unwrap(&token).map(|opened| opened.0), Ok(message));
        } else {
            let refusal = acceptor.unwrap(&token);
            prop_assert!(refusal.is_err(), "bit {bit}");
            prop_assert!(bit < 16 || !matches!(refusal, Err(Error::WrongTokenId(_))));
        }
    }
}
