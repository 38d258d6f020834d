//! Verifiers of exclusive creates, told apart by client.
//!
//! A client chooses them (RFC 1813 §3.3.8, RFC 8881 §18.16.3), and they are not always unique: Linux takes
//! the tick of its clock and the number of the process. Two hosts that started together, or two containers,
//! can choose the same for one name at the same time. Both would then be told that they made the file, which
//! they may use as a lock. So the back end is given a verifier that depends on the client too.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

/// Returns the verifier that the back end keeps for `chosen` of `client`: the same after restarts of both,
/// so that a retry is recognised.
pub(crate) fn verifier_of(client: &[u8], chosen: [u8; 8]) -> [u8; 8] {
    // Without a key: a client that looks for a collision finds out that a file exists, which it may see.
    let mut hasher = SipHasher24::new();
    hasher.write_u64(client.len() as u64);
    hasher.write(client);
    hasher.write(&chosen);
    hasher.finish().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifiers_differ_by_client_and_by_choice_and_stay() {
        let one = verifier_of(b"ann", [1; 8]);
        assert_ne!(one, verifier_of(b"bob", [1; 8]));
        assert_ne!(one, verifier_of(b"ann", [2; 8]));
        assert_eq!(one, verifier_of(b"ann", [1; 8]));
    }
}
