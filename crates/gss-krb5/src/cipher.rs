//! AES in CBC mode on whole blocks.

use aes::cipher::consts::U16;
use aes::cipher::{
    BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, IvState, KeyInit,
};
use aes::{Aes128Dec, Aes128Enc, Aes256Dec, Aes256Enc, Block};

use crate::Enctype;

/// The length of an AES block in bytes.
pub(crate) const BLOCK_BYTES: usize = 16;

/// AES with an encryption key, in one direction.
pub(crate) enum Encryptor {
    Aes128(Aes128Enc),
    Aes256(Aes256Enc),
}

impl Encryptor {
    /// Takes a key of `enctype.key_bytes()` bytes.
    pub(crate) fn new(enctype: Enctype, key: &[u8]) -> Self {
        match enctype {
            Enctype::Aes128Sha1 | Enctype::Aes128Sha256 => Self::Aes128(keyed(key)),
            Enctype::Aes256Sha1 | Enctype::Aes256Sha384 => Self::Aes256(keyed(key)),
        }
    }

    /// Encrypts blocks in CBC mode. `vector` becomes the last block of ciphertext.
    pub(crate) fn cbc(&self, vector: &mut Block, blocks: &mut [Block]) {
        match self {
            Self::Aes128(cipher) => encrypt_cbc(cipher, vector, blocks),
            Self::Aes256(cipher) => encrypt_cbc(cipher, vector, blocks),
        }
    }
}

/// AES with a decryption key, in one direction.
pub(crate) enum Decryptor {
    Aes128(Aes128Dec),
    Aes256(Aes256Dec),
}

impl Decryptor {
    /// Takes a key of `enctype.key_bytes()` bytes.
    pub(crate) fn new(enctype: Enctype, key: &[u8]) -> Self {
        match enctype {
            Enctype::Aes128Sha1 | Enctype::Aes128Sha256 => Self::Aes128(keyed(key)),
            Enctype::Aes256Sha1 | Enctype::Aes256Sha384 => Self::Aes256(keyed(key)),
        }
    }

    /// Decrypts blocks in CBC mode, several at once. `vector` becomes the last block of ciphertext.
    pub(crate) fn cbc(&self, vector: &mut Block, blocks: &mut [Block]) {
        match self {
            Self::Aes128(cipher) => decrypt_cbc(cipher, vector, blocks),
            Self::Aes256(cipher) => decrypt_cbc(cipher, vector, blocks),
        }
    }

    /// Decrypts one block without a mode.
    pub(crate) fn block(&self, block: &mut Block) {
        match self {
            Self::Aes128(cipher) => cipher.decrypt_block(block),
            Self::Aes256(cipher) => cipher.decrypt_block(block),
        }
    }
}

fn keyed<C: KeyInit>(key: &[u8]) -> C {
    C::new_from_slice(key).expect("the key has the length of its encryption type")
}

fn encrypt_cbc<C: BlockCipherEncrypt<BlockSize = U16>>(cipher: &C, vector: &mut Block, blocks: &mut [Block]) {
    let mut mode = cbc::Encryptor::inner_iv_init(cipher, vector);
    mode.encrypt_blocks(blocks);
    *vector = mode.iv_state();
}

fn decrypt_cbc<C: BlockCipherDecrypt<BlockSize = U16>>(cipher: &C, vector: &mut Block, blocks: &mut [Block]) {
    let mut mode = cbc::Decryptor::inner_iv_init(cipher, vector);
    mode.decrypt_blocks(blocks);
    *vector = mode.iv_state();
}
