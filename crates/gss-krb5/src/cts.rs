//! CBC with ciphertext stealing, in place (RFC 3962 §5).
//!
//! The last two blocks are always exchanged, as in the variant CS3. One block alone is encrypted as it is.
//! The initial vector is zero: Kerberos puts a confounder in front of the message.
//!
//! A MAC reads the message as well, before the cipher or behind it. Both work on one piece after the other,
//! so that each piece is still in the first-level cache when it is read again.

use aes::Block;

use crate::cipher::{BLOCK_BYTES, Decryptor, Encryptor};

/// How many bytes the cipher and the MAC work on in turn.
const PIECE_BYTES: usize = 8 * 1024;

/// Encrypts `data`, of at least one block, in place.
///
/// Calls `before` with each piece of plaintext and `after` with each piece of ciphertext, in order.
pub(crate) fn encrypt(
    cipher: &Encryptor,
    data: &mut [u8],
    before: impl FnMut(&[u8]),
    after: impl FnMut(&[u8]),
) {
    let transform = |vector: &mut Block, piece: &mut [u8], is_tail| match is_tail {
        false => cipher.cbc(vector, blocks(piece)),
        true => encrypt_tail(cipher, vector, piece),
    };
    in_pieces(data, transform, before, after);
}

/// Decrypts `data`, of at least one block, in place.
///
/// Calls `before` with each piece of ciphertext and `after` with each piece of plaintext, in order.
pub(crate) fn decrypt(
    cipher: &Decryptor,
    data: &mut [u8],
    before: impl FnMut(&[u8]),
    after: impl FnMut(&[u8]),
) {
    let transform = |vector: &mut Block, piece: &mut [u8], is_tail| match is_tail {
        false => cipher.cbc(vector, blocks(piece)),
        true => decrypt_tail(cipher, vector, piece),
    };
    in_pieces(data, transform, before, after);
}

/// Transforms whole blocks in pieces, then the tail, each between `before` and `after`.
fn in_pieces(
    data: &mut [u8],
    mut transform: impl FnMut(&mut Block, &mut [u8], bool),
    mut before: impl FnMut(&[u8]),
    mut after: impl FnMut(&[u8]),
) {
    let mut vector = Block::default();
    let (head, tail) = split(data);
    let pieces = head.chunks_mut(PIECE_BYTES).map(|piece| (piece, false));
    for (piece, is_tail) in pieces.chain([(tail, true)]) {
        before(piece);
        transform(&mut vector, piece, is_tail);
        after(piece);
    }
}

/// Splits off the last two blocks, of which the last may be partial, or the only block.
fn split(data: &mut [u8]) -> (&mut [u8], &mut [u8]) {
    assert!(data.len() >= BLOCK_BYTES, "ciphertext stealing needs a block");
    let count = data.len().div_ceil(BLOCK_BYTES);
    data.split_at_mut(count.saturating_sub(2) * BLOCK_BYTES)
}

fn blocks(bytes: &mut [u8]) -> &mut [Block] {
    Block::slice_as_chunks_mut(bytes).0
}

fn encrypt_tail(cipher: &Encryptor, vector: &mut Block, tail: &mut [u8]) {
    let (first, second) = tail.split_at_mut(BLOCK_BYTES);
    cipher.cbc(vector, blocks(first));
    if second.is_empty() {
        return;
    }
    let mut last = Block::default();
    last[..second.len()].copy_from_slice(second);
    second.copy_from_slice(&first[..second.len()]);
    cipher.cbc(vector, std::slice::from_mut(&mut last));
    first.copy_from_slice(&last);
}

fn decrypt_tail(cipher: &Decryptor, vector: &mut Block, tail: &mut [u8]) {
    let (first, second) = tail.split_at_mut(BLOCK_BYTES);
    if second.is_empty() {
        cipher.cbc(vector, blocks(first));
        return;
    }
    // The block in front is the encryption of the last block. Its end completes the stolen ciphertext.
    let mut last = Block::default();
    last.copy_from_slice(first);
    cipher.block(&mut last);
    first[..second.len()].copy_from_slice(second);
    first[second.len()..].copy_from_slice(&last[second.len()..]);
    for (byte, plain) in second.iter_mut().zip(&last) {
        *byte ^= plain;
    }
    cipher.cbc(vector, blocks(first));
}

#[cfg(test)]
mod tests {
    use super::{decrypt, encrypt};
    use crate::Enctype;
    use crate::cipher::{Decryptor, Encryptor};
    use crate::hex::hex;

    const PLAINTEXT: &[u8] = b"I would like the General Gau's Chicken, please, and wonton soup.";

    /// The test vectors of RFC 3962 Appendix B, all with the key "chicken teriyaki".
    #[test]
    fn ciphertexts_are_those_of_rfc_3962() {
        let answers = [
            "c6353568f2bf8cb4d8a580362da7ff7f 97",
            "fc00783e0efdb2c1d445d4c8eff7ed22 97687268d6ecccc0c07b25e25ecfe5",
            "39312523a78662d5be7fcbcc98ebf5a8 97687268d6ecccc0c07b25e25ecfe584",
            "97687268d6ecccc0c07b25e25ecfe584 b3fffd940c16a18c1b5549d2f838029e \
             39312523a78662d5be7fcbcc98ebf5",
            "97687268d6ecccc0c07b25e25ecfe584 9dad8bbb96c4cdc03bc103e1a194bbd8 \
             39312523a78662d5be7fcbcc98ebf5a8",
            "97687268d6ecccc0c07b25e25ecfe584 39312523a78662d5be7fcbcc98ebf5a8 \
             4807efe836ee89a526730dbc2f7bc840 9dad8bbb96c4cdc03bc103e1a194bbd8",
        ];
        let encryptor = Encryptor::new(Enctype::Aes128Sha1, b"chicken teriyaki");
        let decryptor = Decryptor::new(Enctype::Aes128Sha1, b"chicken teriyaki");
        for answer in answers.map(hex) {
            let plaintext = &PLAINTEXT[..answer.len()];
            let mut data = plaintext.to_vec();
            encrypt(&encryptor, &mut data, |_| {}, |_| {});
            assert_eq!(data, answer);
            decrypt(&decryptor, &mut data, |_| {}, |_| {});
            assert_eq!(data, plaintext);
        }
    }

    #[test]
    fn callbacks_see_all_plaintext_and_all_ciphertext() {
        let key = [7; 32];
        let encryptor = Encryptor::new(Enctype::Aes256Sha1, &key);
        let decryptor = Decryptor::new(Enctype::Aes256Sha1, &key);
        for length in (16..80).chain(8180..8240).chain(16_370..16_420) {
            let plaintext: Vec<u8> = (0..length).map(|index| index as u8).collect();
            let mut data = plaintext.clone();
            let (mut before, mut after) = (Vec::new(), Vec::new());
            encrypt(&encryptor, &mut data, |p| before.extend_from_slice(p), |p| after.extend_from_slice(p));
            assert_eq!((&before, &after), (&plaintext, &data), "{length} bytes");
            let ciphertext = data.clone();
            before.clear();
            after.clear();
            decrypt(&decryptor, &mut data, |p| before.extend_from_slice(p), |p| after.extend_from_slice(p));
            assert_eq!((&before, &after), (&ciphertext, &plaintext), "{length} bytes");
            assert_eq!(data, plaintext, "{length} bytes");
        }
    }
}
