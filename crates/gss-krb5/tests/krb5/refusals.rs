//! Unusual tokens that a receiver must accept, and each reason for a refusal.

use gss_krb5::{Context, Enctype, Error, ProtocolKey, Role, WrapProtection};

use crate::sides::{key, message, protections, sides};

const HEADER_BYTES: usize = 16;

/// Rotates a token's body to the right by `count` and says so in the header, as its sender would.
fn rotate(token: &mut [u8], count: u16) {
    token[6..8].copy_from_slice(&count.to_be_bytes());
    let body = &mut token[HEADER_BYTES..];
    body.rotate_right(usize::from(count) % body.len());
}

/// Seals `content` behind `outer`, as a sender with filler or with a wrong inner header does.
fn sealed(enctype: Enctype, outer: [u8; 16], content: &[u8]) -> Vec<u8> {
    let protocol_key = ProtocolKey::new(enctype, &key(enctype)).unwrap();
    [&outer[..], &protocol_key.encrypt(24, &[9; 16], content)].concat()
}

/// The header of a sealed token of the initiator.
fn sealed_header(extra_count: u16) -> [u8; 16] {
    let [high, low] = extra_count.to_be_bytes();
    [5, 4, 6, 0xff, high, low, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
}

#[test]
fn every_right_rotation_count_is_accepted() {
    for enctype in Enctype::ALL {
        let (initiator, acceptor) = sides(enctype);
        for protection in protections() {
            let token = initiator.wrap(1, &message(50), protection);
            let counts = (0..300).chain([28, 0x7fff, 0x8000, u16::MAX]);
            for count in counts {
                let mut rotated = token.clone();
                rotate(&mut rotated, count);
                assert_eq!(acceptor.unwrap(&rotated), acceptor.unwrap(&token), "{count}");
            }
        }
    }
}

#[test]
fn filler_of_a_sealed_message_is_taken_off() {
    for enctype in Enctype::ALL {
        let (_, acceptor) = sides(enctype);
        let message = message(30);
        for filler in [0, 1, 15, 16, 1000, u16::MAX] {
            let header = sealed_header(filler);
            let filling = vec![0xcc; usize::from(filler)];
            let token = sealed(enctype, header, &[&message[..], &filling, &header].concat());
            assert_eq!(acceptor.unwrap(&token), Ok((message.clone(), true)), "{filler}");
        }
    }
}

#[test]
fn extra_count_beyond_the_sealed_message_is_refused() {
    for enctype in Enctype::ALL {
        let (_, acceptor) = sides(enctype);
        for (length, extra_count) in [(0, 1), (10, 11), (10, 26), (10, 27), (10, u16::MAX)] {
            let header = sealed_header(extra_count);
            let token = sealed(enctype, header, &[&message(length)[..], &header].concat());
            assert_eq!(acceptor.unwrap(&token), Err(Error::BadExtraCount(extra_count)));
        }
        let header = sealed_header(10);
        let token = sealed(enctype, header, &[&message(10)[..], &header].concat());
        assert_eq!(acceptor.unwrap(&token), Ok((Vec::new(), true)), "all of it is filler");
    }
}

#[test]
fn wrong_extra_count_of_a_plain_message_is_refused() {
    for enctype in Enctype::ALL {
        let (initiator, acceptor) = sides(enctype);
        let token = initiator.wrap(1, &message(50), WrapProtection::Integrity);
        for extra_count in [0, enctype.mac_bytes() as u16 - 1, enctype.mac_bytes() as u16 + 1, u16::MAX] {
            let mut wrong = token.clone();
            wrong[4..6].copy_from_slice(&extra_count.to_be_bytes());
            assert_eq!(acceptor.unwrap(&wrong), Err(Error::BadExtraCount(extra_count)));
        }
    }
}

#[test]
fn sealed_header_may_differ_in_the_rotation_only() {
    for enctype in Enctype::ALL {
        let (_, acceptor) = sides(enctype);
        let outer = sealed_header(0);
        for index in 0..HEADER_BYTES {
            let mut inner = outer;
            inner[index] ^= 0x80;
            let token = sealed(enctype, outer, &[&message(20)[..], &inner].concat());
            let is_rotation = (6..8).contains(&index);
            let expected = if is_rotation { Ok((message(20), true)) } else { Err(Error::HeaderMismatch) };
            assert_eq!(acceptor.unwrap(&token), expected, "byte {index}");
        }
    }
}

#[test]
fn token_of_another_kind_is_refused() {
    let (initiator, acceptor) = sides(Enctype::Aes128Sha1);
    let mic = initiator.mic(0, b"message");
    let token = initiator.wrap(0, b"message", WrapProtection::Integrity);
    assert_eq!(acceptor.unwrap(&mic), Err(Error::WrongTokenId(0x0404)));
    assert_eq!(acceptor.verify_mic(&token, b"message"), Err(Error::WrongTokenId(0x0504)));
    // The tokens of RFC 1964 have the framing of GSS-API.
    assert_eq!(acceptor.verify_mic(&[0x60; 40], b"message"), Err(Error::WrongTokenId(0x6060)));
}

#[test]
fn reflected_token_is_refused() {
    for enctype in Enctype::ALL {
        let (initiator, acceptor) = sides(enctype);
        for side in [initiator, acceptor] {
            assert_eq!(side.verify_mic(&side.mic(0, b"x"), b"x"), Err(Error::WrongDirection));
            for protection in protections() {
                assert_eq!(side.unwrap(&side.wrap(0, b"x", protection)), Err(Error::WrongDirection));
            }
        }
    }
}

#[test]
fn token_with_the_other_subkey_is_refused() {
    let enctype = Enctype::Aes256Sha1;
    let side = |role, subkey| Context::new(role, enctype, &key(enctype), subkey, 0).unwrap();
    for subkey in [false, true] {
        let (initiator, acceptor) = (side(Role::Initiator, subkey), side(Role::Acceptor, !subkey));
        assert_eq!(acceptor.verify_mic(&initiator.mic(0, b"x"), b"x"), Err(Error::WrongSubkey));
        for protection in protections() {
            assert_eq!(acceptor.unwrap(&initiator.wrap(0, b"x", protection)), Err(Error::WrongSubkey));
        }
    }
}

#[test]
fn token_of_another_key_is_refused() {
    for enctype in Enctype::ALL {
        let (initiator, _) = sides(enctype);
        let other = Context::new(Role::Acceptor, enctype, &vec![1; enctype.key_bytes()], true, 0).unwrap();
        assert_eq!(other.verify_mic(&initiator.mic(0, b"x"), b"x"), Err(Error::BadMac));
        for protection in protections() {
            assert_eq!(other.unwrap(&initiator.wrap(0, b"x", protection)), Err(Error::BadMac));
        }
    }
}

#[test]
fn mic_token_of_another_message_is_refused() {
    let (initiator, acceptor) = sides(Enctype::Aes128Sha256);
    let token = initiator.mic(0, b"message");
    for other in [&b"messagE"[..], b"messag", b"message ", b""] {
        assert_eq!(acceptor.verify_mic(&token, other), Err(Error::BadMac));
    }
}

#[test]
fn mic_token_with_the_flag_of_sealing_is_refused() {
    let (initiator, acceptor) = sides(Enctype::Aes128Sha1);
    let mut token = initiator.mic(0, b"message");
    token[2] |= 2;
    assert_eq!(acceptor.verify_mic(&token, b"message"), Err(Error::SealedMic));
}

#[test]
fn header_filler_other_than_ff_is_refused() {
    let (initiator, acceptor) = sides(Enctype::Aes128Sha1);
    for index in 3..8 {
        let mut token = initiator.mic(0, b"message");
        token[index] = 0xfe;
        assert_eq!(acceptor.verify_mic(&token, b"message"), Err(Error::BadFiller));
    }
    for protection in protections() {
        let mut token = initiator.wrap(0, b"message", protection);
        token[3] = 0;
        assert_eq!(acceptor.unwrap(&token), Err(Error::BadFiller));
    }
}

#[test]
fn cut_token_is_refused_at_every_length() {
    for enctype in Enctype::ALL {
        let (initiator, acceptor) = sides(enctype);
        let mic = initiator.mic(0, b"");
        let bytes_min = mic.len();
        for bytes in 0..bytes_min {
            assert_eq!(acceptor.verify_mic(&mic[..bytes], b""), Err(Error::TooShort { bytes, bytes_min }));
        }
        let longer = [&mic[..], &[0]].concat();
        assert_eq!(acceptor.verify_mic(&longer, b""), Err(Error::BadMac));
        for protection in protections() {
            let token = initiator.wrap(0, b"", protection);
            for bytes in 0..token.len() {
                let refusal = acceptor.unwrap(&token[..bytes]).unwrap_err();
                let is_too_short = matches!(refusal, Error::TooShort { bytes: found, .. } if found == bytes);
                assert!(is_too_short, "{refusal}");
            }
        }
    }
}

#[test]
fn repeated_token_is_valid_again() {
    let (initiator, acceptor) = sides(Enctype::Aes128Sha1);
    let [older, newer] = [4, 5].map(|sequence| initiator.mic(sequence, b"message"));
    for (token, sequence) in [(&newer, 5), (&older, 4), (&newer, 5)] {
        assert_eq!(acceptor.verify_mic(token, b"message"), Ok(sequence));
    }
}
