//! Derivation of the keys for one usage from a protocol key.
//!
//! AES with HMAC-SHA1 uses DK, which encrypts a folded constant (RFC 3961 §5.1). AES with HMAC-SHA2 uses
//! KDF-HMAC-SHA2 (RFC 8009 §3).

mod n_fold;

use aes::Block;
use hmac::{Hmac, KeyInit};
use sha2::{Sha256, Sha384};
use zeroize::{Zeroize as _, Zeroizing};

use crate::Enctype;
use crate::cipher::{BLOCK_BYTES, Encryptor};

/// The purpose of a derived key (RFC 3961 §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Kc, of checksums.
    Checksum,
    /// Ke, of encryption.
    Encryption,
    /// Ki, of the MAC of an encrypted message.
    Integrity,
}

impl Purpose {
    /// Returns the last byte of the constant, behind the key usage.
    const fn seed(self) -> u8 {
        match self {
            Self::Checksum => 0x99,
            Self::Encryption => 0xaa,
            Self::Integrity => 0x55,
        }
    }
}

/// Returns the key for `usage` and `purpose`. The protocol key has `enctype.key_bytes()` bytes.
pub(crate) fn derive(enctype: Enctype, key: &[u8], usage: u32, purpose: Purpose) -> Zeroizing<Vec<u8>> {
    let mut constant = [0; 5];
    constant[..4].copy_from_slice(&usage.to_be_bytes());
    constant[4] = purpose.seed();
    let bytes = match purpose {
        Purpose::Encryption => enctype.key_bytes(),
        Purpose::Checksum | Purpose::Integrity => enctype.mac_key_bytes(),
    };
    match enctype {
        Enctype::Aes128Sha1 | Enctype::Aes256Sha1 => dk(enctype, key, &constant),
        Enctype::Aes128Sha256 => kdf_hmac_sha2::<Hmac<Sha256>>(key, &constant, bytes),
        Enctype::Aes256Sha384 => kdf_hmac_sha2::<Hmac<Sha384>>(key, &constant, bytes),
    }
}

/// DK: as many blocks as a key has, each the encryption of the one before it (RFC 3961 §5.1).
///
/// Keys of AES are arbitrary bytes, so random-to-key is the identity (RFC 3962 §6).
fn dk(enctype: Enctype, key: &[u8], constant: &[u8]) -> Zeroizing<Vec<u8>> {
    let cipher = Encryptor::new(enctype, key);
    let mut block = Zeroizing::new([0_u8; BLOCK_BYTES]);
    n_fold::n_fold(constant, block.as_mut_slice());
    let mut derived = Zeroizing::new(Vec::with_capacity(enctype.key_bytes()));
    while derived.len() < enctype.key_bytes() {
        cipher.cbc(&mut Block::default(), Block::slice_as_chunks_mut(block.as_mut_slice()).0);
        derived.extend_from_slice(block.as_slice());
    }
    derived
}

/// KDF-HMAC-SHA2 with an empty context: the first `bytes` bytes of one HMAC (RFC 8009 §3).
fn kdf_hmac_sha2<M: KeyInit + hmac::Mac>(key: &[u8], label: &[u8], bytes: usize) -> Zeroizing<Vec<u8>> {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of every length");
    mac.update(&1_u32.to_be_bytes());
    mac.update(label);
    mac.update(&[0]);
    mac.update(&(bytes as u32 * 8).to_be_bytes());
    let mut output = mac.finalize().into_bytes();
    // No key is longer than the output of its hash.
    let derived = Zeroizing::new(output[..bytes].to_vec());
    output.as_mut_slice().zeroize();
    derived
}

#[cfg(test)]
mod tests {
    use super::{Purpose, derive, dk};
    use crate::Enctype;
    use crate::hex::hex;

    /// RFC 3962 Appendix B: PBKDF2 output, and the key that DK makes of it with the constant "kerberos".
    const RFC_3962: [(&str, &str); 14] = [
        ("cdedb5281bb2f801565a1122b2563515", "42263c6e89f4fc28b8df68ee09799f15"),
        (
            "cdedb5281bb2f801565a1122b2563515 0ad1f7a04bb9f3a333ecc0e2e1f70837",
            "fe697b52bc0d3ce14432ba036a92e65b bb52280990a2fa27883998d72af30161",
        ),
        ("01dbee7f4a9e243e988b62c73cda935d", "c651bf29e2300ac27fa469d693bdda13"),
        (
            "01dbee7f4a9e243e988b62c73cda935d a05378b93244ec8f48a99e61ad799d86",
            "a2e16d16b36069c135d5e9d2e25f8961 02685618b95914b467c67622225824ff",
        ),
        ("5c08eb61fdf71e4e4ec3cf6ba1f5512b", "4c01cd46d632d01e6dbe230a01ed642a"),
        (
            "5c08eb61fdf71e4e4ec3cf6ba1f5512b a7e52ddbc5e5142f708a31e2e62b1e13",
            "55a6ac740ad17b4846941051e1e8b0a7 548d93b0ab30a8bc3ff16280382b8c2a",
        ),
        ("d1daa78615f287e6a1c8b120d7062a49", "e9b23d52273747dd5c35cb55be619d8e"),
        (
            "d1daa78615f287e6a1c8b120d7062a49 3f98d203e6be49a6adf4fa574b6e64ee",
            "97a4e786be20d81a382d5ebc96d5909c abcdadc87ca48f574504159f16c36e31",
        ),
        ("139c30c0966bc32ba55fdbf212530ac9", "59d1bb789a828b1aa54ef9c2883f69ed"),
        (
            "139c30c0966bc32ba55fdbf212530ac9 c5ec59f1a452f5cc9ad940fea0598ed1",
            "89adee3608db8bc71f1bfbfe459486b0 5618b70cbae22092534e56c553ba4b34",
        ),
        ("9ccad6d468770cd51b10e6a68721be61", "cb8005dc5f90179a7f02104c0018751d"),
        (
            "9ccad6d468770cd51b10e6a68721be61 1a8b4d282601db3b36be9246915ec82a",
            "d78c5c9cb872a8c9dad4697f0bb5b2d2 1496c82beb2caeda2112fceea057401b",
        ),
        ("6b9cf26d45455a43a5b8bb276a403b39", "f149c1f2e154a73452d43e7fe62a56e5"),
        (
            "6b9cf26d45455a43a5b8bb276a403b39 e7fe37a0c41e02c281ff3069e1e94f52",
            "4b6d9839f84406df1f09cc166db4b83c 571848b784a3d6bdc346589a3e393f9e",
        ),
    ];

    #[test]
    fn dk_of_aes_gives_the_keys_of_rfc_3962() {
        for (key, answer) in RFC_3962 {
            let key = hex(key);
            let enctype = if key.len() == 16 { Enctype::Aes128Sha1 } else { Enctype::Aes256Sha1 };
            assert_eq!(*dk(enctype, &key, b"kerberos"), hex(answer));
        }
    }

    #[test]
    fn kdf_hmac_sha2_gives_the_keys_of_rfc_8009() {
        let key = hex("3705d96080c17728a0e800eab6e0d23c");
        let derived = |purpose| derive(Enctype::Aes128Sha256, &key, 2, purpose).to_vec();
        assert_eq!(derived(Purpose::Checksum), hex("b31a018a48f54776f403e9a396325dc3"));
        assert_eq!(derived(Purpose::Encryption), hex("9b197dd1e8c5609d6e67c3e37c62c72e"));
        assert_eq!(derived(Purpose::Integrity), hex("9fda0e56ab2d85e1569a688696c26a6c"));

        let key = hex("6d404d37faf79f9df0d33568d3206698 00eb4836472ea8a026d16b7182460c52");
        let derived = |purpose| derive(Enctype::Aes256Sha384, &key, 2, purpose).to_vec();
        assert_eq!(derived(Purpose::Checksum), hex("ef5718be86cc84963d8bbb5031e9f5c4 ba41f28faf69e73d"));
        assert_eq!(
            derived(Purpose::Encryption),
            hex("56ab22bee63d82d7bc5227f6773f8ea7 a5eb1c825160c38312980c442e5c7e49")
        );
        assert_eq!(derived(Purpose::Integrity), hex("69b16514e3cd8e56b82010d5c73012b6 22c4d00ffc23ed1f"));
    }
}
