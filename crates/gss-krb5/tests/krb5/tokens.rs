//! Tokens against known answers, and against RFC 4121 §4.2 worked through with the operations of a key.

use gss_krb5::{Context, Enctype, ProtocolKey, Role, WrapProtection};

use crate::hex::hex;
use crate::sides::{key, message, protections, sides};

/// Sequence number of the acceptor's tokens below.
const ACCEPTOR_SEQUENCE: u64 = 0x575e_85d6;

/// Both sides of the context that the tokens of gokrb5's tests belong to. It has no subkey of the acceptor.
fn gokrb5() -> (Context, Context) {
    let key = hex("14f9bde6b50ec508201a97f74c4e5bd3");
    let side = |role| Context::new(role, Enctype::Aes128Sha1, &key, false, 0).unwrap();
    (side(Role::Initiator), side(Role::Acceptor))
}

#[test]
fn mic_tokens_are_those_of_gokrb5() {
    let (initiator, acceptor) = gokrb5();
    let message = hex("deadbeef");
    let from_acceptor = hex("040401ffffffffff 00000000575e85d6 c34d12ba3e5b1b1310cd9cb3");
    let from_initiator = hex("040400ffffffffff 0000000000000000 9649ca09d2f1bc51ff6e5ca3");
    assert_eq!(acceptor.mic(ACCEPTOR_SEQUENCE, &message), from_acceptor);
    assert_eq!(initiator.mic(0, &message), from_initiator);
    assert_eq!(initiator.verify_mic(&from_acceptor, &message), Ok(ACCEPTOR_SEQUENCE));
    assert_eq!(acceptor.verify_mic(&from_initiator, &message), Ok(0));
}

#[test]
fn wrap_tokens_with_integrity_are_those_of_gokrb5() {
    let (initiator, acceptor) = gokrb5();
    let message = hex("01010000");
    let from_acceptor = hex("050401ff000c0000 00000000575e85d6 01010000 853b728d5268525a1386c19f");
    let from_initiator = hex("050400ff000c0000 0000000000000000 01010000 79a033510b6f127212242b97");
    assert_eq!(acceptor.wrap(ACCEPTOR_SEQUENCE, &message, WrapProtection::Integrity), from_acceptor);
    assert_eq!(initiator.wrap(0, &message, WrapProtection::Integrity), from_initiator);
    assert_eq!(initiator.unwrap(&from_acceptor), Ok((message.clone(), false)));
    assert_eq!(acceptor.unwrap(&from_initiator), Ok((message, false)));
}

/// RFC 4121 §4.2.4, step by step.
#[test]
fn tokens_are_headers_checksums_and_ciphertexts() {
    for enctype in Enctype::ALL {
        let protocol_key = ProtocolKey::new(enctype, &key(enctype)).unwrap();
        let (initiator, acceptor) = sides(enctype);
        // The flag 4 is that of the acceptor's subkey.
        for (side, direction, wrap_usage, mic_usage) in [(&acceptor, 5, 22, 23), (&initiator, 4, 24, 25)] {
            let message = message(100);
            let sequence = [1, 2, 3, 4, 5, 6, 7, 8];
            let number = u64::from_be_bytes(sequence);
            let signed =
                |header: &[u8], usage| protocol_key.checksum(usage, &[&message[..], header].concat());

            let header = [[4, 4, direction, 0xff, 0xff, 0xff, 0xff, 0xff], sequence].concat();
            let token = [&header[..], &signed(&header, mic_usage)].concat();
            assert_eq!(side.mic(number, &message), token);
            assert_eq!(token.len(), side.mic_token_bytes());

            let header = [[5, 4, direction, 0xff, 0, 0, 0, 0], sequence].concat();
            let checksum = signed(&header, wrap_usage);
            let counted = [[5, 4, direction, 0xff, 0, checksum.len() as u8, 0, 0], sequence].concat();
            let token = [&counted[..], &message, &checksum].concat();
            assert_eq!(side.wrap(number, &message, WrapProtection::Integrity), token);

            let confounder = *b"sixteen of them.";
            let header = [[5, 4, direction | 2, 0xff, 0, 0, 0, 0], sequence].concat();
            let ciphertext = protocol_key.encrypt(wrap_usage, &confounder, &[&message[..], &header].concat());
            let token = [&header[..], &ciphertext].concat();
            assert_eq!(side.wrap(number, &message, WrapProtection::Privacy(confounder)), token);
        }
    }
}

#[test]
fn each_side_accepts_the_tokens_of_the_other() {
    for enctype in Enctype::ALL {
        let (initiator, acceptor) = sides(enctype);
        for (from, to) in [(&initiator, &acceptor), (&acceptor, &initiator)] {
            for message in [0, 1, 15, 16, 17, 8160, 70_000].map(message) {
                assert_eq!(to.verify_mic(&from.mic(7, &message), &message), Ok(7));
                for protection in protections() {
                    let token = from.wrap(8, &message, protection);
                    assert_eq!(token.len(), message.len() + from.wrap_overhead_bytes(&protection));
                    let is_private = protection != WrapProtection::Integrity;
                    assert_eq!(to.unwrap(&token), Ok((message.clone(), is_private)));
                }
            }
        }
    }
}

#[test]
fn message_in_parts_has_the_token_of_the_whole() {
    let (initiator, acceptor) = sides(Enctype::Aes256Sha1);
    let message = message(1000);
    let parts: [&[u8]; 4] = [&message[..1], &[], &message[1..600], &message[600..]];

    let mut token = b"before".to_vec();
    initiator.mic_into(3, &parts, &mut token);
    assert_eq!(token, [&b"before"[..], &initiator.mic(3, &message)].concat());
    assert_eq!(acceptor.verify_mic_of(&token[6..], &parts), Ok(3));

    for protection in protections() {
        let mut token = b"before".to_vec();
        initiator.wrap_into(3, &parts, protection, &mut token);
        assert_eq!(token, [&b"before"[..], &initiator.wrap(3, &message, protection)].concat());
    }
}

#[test]
fn sequence_numbers_begin_at_the_given_one_and_wrap_around() {
    let context = Context::new(Role::Acceptor, Enctype::Aes128Sha1, &[0; 16], true, u64::MAX - 1).unwrap();
    let numbers: [u64; 4] = std::array::from_fn(|_| context.next_sequence());
    assert_eq!(numbers, [u64::MAX - 1, u64::MAX, 0, 1]);
}

#[test]
fn threads_share_a_context() {
    fn shared<T: Send + Sync>() {}
    shared::<Context>();
}

#[test]
fn debug_output_of_a_context_lacks_its_keys() {
    let context = Context::new(Role::Acceptor, Enctype::Aes128Sha1, &[0xab; 16], false, 9).unwrap();
    let expected =
        "Context { role: Acceptor, enctype: Aes128Sha1, acceptor_subkey: false, next_sequence: 9, .. }";
    assert_eq!(format!("{context:?}"), expected);
}
