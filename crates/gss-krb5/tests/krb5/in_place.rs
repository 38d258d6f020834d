//! Tokens that are made and opened in the buffer of their message.

use gss_krb5::{Enctype, Error, Unwrapped, WrapProtection};

use crate::sides::{message, protections, sides};

#[test]
fn token_wrapped_in_place_is_the_one_made_of_a_copy() {
    for enctype in Enctype::ALL {
        let (initiator, _) = sides(enctype);
        for protection in protections() {
            for message in [0, 1, 16, 5000, 20_000].map(message) {
                let mut buffer = b"an RPC header".to_vec();
                let from = buffer.len();
                // The room may hold bytes of an earlier use.
                buffer.resize(from + protection.bytes_before(), 0xee);
                buffer.extend_from_slice(&message);
                initiator.wrap_in_place(5, &mut buffer, from, protection).unwrap();
                assert_eq!(&buffer[..from], b"an RPC header");
                assert_eq!(buffer[from..], initiator.wrap(5, &message, protection));
            }
        }
    }
}

#[test]
fn buffer_with_capacity_for_the_token_is_not_moved() {
    let (initiator, _) = sides(Enctype::Aes256Sha384);
    for protection in protections() {
        let message = message(3000);
        let mut buffer = Vec::with_capacity(message.len() + initiator.wrap_overhead_bytes(&protection));
        buffer.resize(protection.bytes_before(), 0);
        buffer.extend_from_slice(&message);
        let place = buffer.as_ptr();
        initiator.wrap_in_place(0, &mut buffer, 0, protection).unwrap();
        assert_eq!(buffer.as_ptr(), place);
        assert_eq!(buffer.len(), buffer.capacity());
    }
}

#[test]
fn buffer_without_room_for_the_header_is_refused_unchanged() {
    let (initiator, _) = sides(Enctype::Aes128Sha1);
    for protection in protections() {
        let bytes_min = protection.bytes_before();
        let short = bytes_min - 1;
        for (length, from, bytes) in [(short, 0, short), (100, 100 - short, short), (5, 6, 0)] {
            let mut buffer = vec![1; length];
            let refusal = initiator.wrap_in_place(0, &mut buffer, from, protection);
            assert_eq!(refusal, Err(Error::TooShort { bytes, bytes_min }));
            assert_eq!(buffer, vec![1; length]);
        }
    }
}

#[test]
fn unwrapped_message_stays_in_place() {
    for enctype in Enctype::ALL {
        let (initiator, acceptor) = sides(enctype);
        let plaintext = message(500);
        for protection in protections() {
            let mut token = initiator.wrap(77, &plaintext, protection);
            let opened = acceptor.unwrap_in_place(&mut token).unwrap();
            let begin = protection.bytes_before();
            let is_private = protection != WrapProtection::Integrity;
            assert_eq!(opened, Unwrapped { message: begin..begin + 500, is_private, sequence: 77 });
            assert_eq!(token[opened.message], plaintext);
        }
    }
}
