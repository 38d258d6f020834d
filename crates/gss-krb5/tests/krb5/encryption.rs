//! Encryption and checksums against the answers of RFC 8009 and of MIT Kerberos.

use gss_krb5::{Confounder, Enctype, Error, ProtocolKey};

use crate::hex::hex;
use crate::sides::{key, message};

/// Ciphertexts of MIT Kerberos 1.9's regression test: encryption type, plaintext, key usage, key, ciphertext.
const MIT: [(Enctype, &str, u32, &str, &str); 10] = [
    (
        Enctype::Aes128Sha1,
        "",
        0,
        "5a5c0f0ba54f3828b2195e66ca24a289",
        "49ff8e11c173d9583a3254fbe7b1f1df 36c538e8416784a1672e6676",
    ),
    (
        Enctype::Aes128Sha1,
        "1",
        1,
        "98450e3f3baa13f5c99beb936981b06f",
        "f86742f537b35dc2174a4dbaa920faf9 042090b065e1ebb1cad9a65394",
    ),
    (
        Enctype::Aes128Sha1,
        "9 bytesss",
        2,
        "9062430c8cda3388922e6d6a509f5b7a",
        "68fb9679601f45c78857b2bf820fd6e5 3eca8d42fd4b1d7024a09205abb7cd2e \
         c26c355d2f",
    ),
    (
        Enctype::Aes128Sha1,
        "13 bytes byte",
        3,
        "033ee6502c54fd23e27791e987983827",
        "ec366d0327a933bf49330e650e49bc6b 974637fe80bf532fe51795b4809718e6 \
         194724db948d1fd637",
    ),
    (
        Enctype::Aes128Sha1,
        "30 bytes bytes bytes bytes byt",
        4,
        "dceeb70b3de76562e689226c76429148",
        "c96081032d5d8eeb7e32b4089f789d0f aa481dea74c0f97cbf3146ddfcf8e800 \
         156ecb532fc203e30ff600b63b350939 fece510f02d7ff1e7bac",
    ),
    (
        Enctype::Aes256Sha1,
        "",
        0,
        "17f275f2954f2ed1f90c377ba7f4d6a3 69aa0136e0bf0c927ad6133c693759a9",
        "e5094c55ee7b38262e2b044280b06937 9a95bf95bd8376fb3281b435",
    ),
    (
        Enctype::Aes256Sha1,
        "1",
        1,
        "b9477e1ff0329c0050e20ce6c72d2dff 27e8fe541ab0954429a9cb5b4f7b1e2a",
        "406150b97aeb76d43b36b62cc1ecdfbe 6f40e95755e0beb5c27825f3a4",
    ),
    (
        Enctype::Aes256Sha1,
        "9 bytesss",
        2,
        "b1ae4cd8462aff1677053cc9279aac30 b796fb81ce21474dd3ddbcfea4ec76d7",
        "09957aa25fcaf88f7b39e4406e633012 d5fea21853f6478da7065caef41fd454 \
         a40824eec5",
    ),
    (
        Enctype::Aes256Sha1,
        "13 bytes byte",
        3,
        "e5a72be9b7926c1225bafef9c1872e7b a4cdb2b17893d84abd90acdd8764d966",
        "d8f1aafeec84587cc3e700a774e56651 a6d693e174ec4473b5e6d96f80297a65 \
         3fb818ad893e719f96",
    ),
    (
        Enctype::Aes256Sha1,
        "30 bytes bytes bytes bytes byt",
        4,
        "f1c795e9248a09338d82c3f8d5b56704 0b0110736845041347235b1404231398",
        "d1137a4d634cfece924dbc3bf6790648 bd5cff7de0e7b99460211d0daef3d79a \
         295c688858f3b34b9cbd6eebae81daf6 b734d4d498b6714f1c1d",
    ),
];

/// RFC 8009 Appendix A, all with key usage 2: encryption type, plaintext bytes, confounder, ciphertext.
///
/// The plaintexts are the bytes 0, 1, 2 and so on.
const RFC_8009: [(Enctype, u8, &str, &str); 8] = [
    (
        Enctype::Aes128Sha256,
        0,
        "7e5895eaf2672435bad817f545a37148",
        "ef85fb890bb8472f4dab20394dca781d ad877eda39d50c870c0d5a0a8e48c718",
    ),
    (
        Enctype::Aes128Sha256,
        6,
        "7bca285e2fd4130fb55b1a5c83bc5b24",
        "84d7f30754ed987bab0bf3506beb09cf b55402cef7e6877ce99e247e52d16ed4 \
         421dfdf8976c",
    ),
    (
        Enctype::Aes128Sha256,
        16,
        "56ab21713ff62c0a1457200f6fa9948f",
        "3517d640f50ddc8ad3628722b3569d2a e07493fa8263254080ea65c1008e8fc2 \
         95fb4852e7d83e1e7c48c37eebe6b0d3",
    ),
    (
        Enctype::Aes128Sha256,
        21,
        "a7a4e29a4728ce10664fb64e49ad3fac",
        "720f73b18d9859cd6ccb4346115cd336 c70f58edc0c4437c5573544c31c813bc \
         e1e6d072c186b39a413c2f92ca9b8334 a287ffcbfc",
    ),
    (
        Enctype::Aes256Sha384,
        0,
        "f764e9fa15c276478b2c7d0c4e5f58e4",
        "41f53fa5bfe7026d91faf9be959195a0 58707273a96a40f0a01960621ac61274 \
         8b9bbfbe7eb4ce3c",
    ),
    (
        Enctype::Aes256Sha384,
        6,
        "b80d3251c1f6471494256ffe712d0b9a",
        "4ed7b37c2bcac8f74f23c1cf07e62bc7 b75fb3f637b9f559c7f664f69eab7b60 \
         92237526ea0d1f61cb20d69d10f2",
    ),
    (
        Enctype::Aes256Sha384,
        16,
        "53bf8a0d105265d4e276428624ce5e63",
        "bc47ffec7998eb91e8115cf8d19dac4b bbe2e163e87dd37f49beca92027764f6 \
         8cf51f14d798c2273f35df574d1f932e 40c4ff255b36a266",
    ),
    (
        Enctype::Aes256Sha384,
        21,
        "763e65367e864f02f55153c7e3b58af1",
        "40013e2df58e8751957d2878bcd2d6fe 101ccfd556cb1eae79db3c3ee86429f2 \
         b2a602ac86fef6ecb647d6295fae077a 1feb517508d2c16b4192e01f62",
    ),
];

fn rfc_8009_key(enctype: Enctype) -> ProtocolKey {
    let bytes = match enctype {
        Enctype::Aes128Sha256 => hex("3705d96080c17728a0e800eab6e0d23c"),
        _ => hex("6d404d37faf79f9df0d33568d3206698 00eb4836472ea8a026d16b7182460c52"),
    };
    ProtocolKey::new(enctype, &bytes).unwrap()
}

#[test]
fn ciphertexts_of_mit_decrypt_to_their_plaintexts() {
    for (enctype, plaintext, usage, key, ciphertext) in MIT {
        let key = ProtocolKey::new(enctype, &hex(key)).unwrap();
        assert_eq!(key.decrypt(usage, &hex(ciphertext)).unwrap(), plaintext.as_bytes());
    }
}

#[test]
fn encryptions_are_those_of_rfc_8009() {
    for (enctype, length, confounder, ciphertext) in RFC_8009 {
        let key = rfc_8009_key(enctype);
        let plaintext: Vec<u8> = (0..length).collect();
        let confounder: Confounder = hex(confounder).try_into().unwrap();
        assert_eq!(key.encrypt(2, &confounder, &plaintext), hex(ciphertext));
        assert_eq!(key.decrypt(2, &hex(ciphertext)).unwrap(), plaintext);
    }
}

#[test]
fn checksums_are_those_of_rfc_8009() {
    let answers = [
        (Enctype::Aes128Sha256, "d78367186643d67b411cba9139fc1dee"),
        (Enctype::Aes256Sha384, "45ee791567eefca37f4ac1e0222de80d 43c3bfa06699672a"),
    ];
    let message: Vec<u8> = (0..=0x14).collect();
    for (enctype, answer) in answers {
        assert_eq!(rfc_8009_key(enctype).checksum(2, &message), hex(answer));
    }
}

#[test]
fn decryption_undoes_encryption_for_the_same_usage_only() {
    for enctype in Enctype::ALL {
        let key = ProtocolKey::new(enctype, &key(enctype)).unwrap();
        for length in [0, 1, 15, 16, 17, 8176, 8177, 100_000] {
            let plaintext = message(length);
            let ciphertext = key.encrypt(22, &[5; 16], &plaintext);
            assert_eq!(ciphertext.len(), 16 + length + enctype.mac_bytes());
            assert_eq!(key.decrypt(22, &ciphertext).unwrap(), plaintext);
            assert_eq!(key.decrypt(24, &ciphertext), Err(Error::BadMac));
        }
    }
}

#[test]
fn ciphertext_shorter_than_an_empty_message_is_too_short() {
    for enctype in Enctype::ALL {
        let key = ProtocolKey::new(enctype, &key(enctype)).unwrap();
        let bytes_min = 16 + enctype.mac_bytes();
        let bytes = bytes_min - 1;
        assert_eq!(key.decrypt(0, &vec![0; bytes]), Err(Error::TooShort { bytes, bytes_min }));
        assert_eq!(key.decrypt(0, &vec![0; bytes_min]), Err(Error::BadMac));
    }
}

#[test]
fn key_of_another_length_is_refused() {
    for enctype in Enctype::ALL {
        for bytes in [0, 15, 17, 24, 31, 33] {
            let refusal = ProtocolKey::new(enctype, &vec![0; bytes]).unwrap_err();
            assert_eq!(refusal, Error::KeyLength { enctype, bytes });
        }
    }
}

#[test]
fn debug_output_of_a_key_lacks_its_bytes() {
    let key = ProtocolKey::new(Enctype::Aes128Sha1, &[0xab; 16]).unwrap();
    assert_eq!(format!("{key:?}"), "ProtocolKey { enctype: Aes128Sha1, .. }");
}
