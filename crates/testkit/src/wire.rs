//! RPC messages as bytes (RFC 5531 §9).
//!
//! Nothing here uses the encoder of `rpc`, so that a test compares two independent writers. Values are never
//! checked: a test may write any version, flavor, length or garbage.

use rpc::Refusal;
use xdr::{Encode, Encoder};

use crate::ProcedureNumber;

/// The bit of a record mark that marks the last fragment (RFC 5531 §11).
const LAST_FRAGMENT: u32 = 1 << 31;

/// AUTH_NONE (RFC 5531 §8.2).
pub const AUTH_NONE: u32 = 0;
/// AUTH_SYS (RFC 5531, appendix A).
pub const AUTH_SYS: u32 = 1;

/// A call before it is bytes.
#[derive(Debug, Clone)]
pub struct RawCall {
    xid: u32,
    rpc_version: u32,
    number: ProcedureNumber,
    credential: (u32, Vec<u8>),
    verifier: (u32, Vec<u8>),
    arguments: Vec<u8>,
}

impl RawCall {
    /// Returns a call of RPC version 2 without a credential, a verifier or arguments.
    #[must_use]
    pub fn new(xid: u32, number: ProcedureNumber) -> Self {
        let nothing = (AUTH_NONE, Vec::new());
        let (credential, verifier) = (nothing.clone(), nothing);
        Self { xid, rpc_version: 2, number, credential, verifier, arguments: Vec::new() }
    }

    /// Claims another version of RPC.
    #[must_use]
    pub fn with_rpc_version(self, rpc_version: u32) -> Self {
        Self { rpc_version, ..self }
    }

    /// Sets the credential. The body is padded, and its length is written as it is.
    #[must_use]
    pub fn with_credential(self, flavor: u32, body: &[u8]) -> Self {
        Self { credential: (flavor, body.to_vec()), ..self }
    }

    /// Sets the credential to AUTH_SYS of user 0 and group 0, without a machine name.
    #[must_use]
    pub fn of_superuser(self) -> Self {
        self.with_credential(AUTH_SYS, &[0; 20])
    }

    /// Sets the verifier, as [`RawCall::with_credential`] does the credential.
    #[must_use]
    pub fn with_verifier(self, flavor: u32, body: &[u8]) -> Self {
        Self { verifier: (flavor, body.to_vec()), ..self }
    }

    /// Sets the arguments to bytes.
    #[must_use]
    pub fn with_bytes(self, arguments: &[u8]) -> Self {
        Self { arguments: arguments.to_vec(), ..self }
    }

    /// Sets the arguments to an XDR value.
    #[must_use]
    pub fn with_arguments(self, arguments: &impl Encode) -> Self {
        self.with_bytes(&xdr::to_bytes(arguments))
    }

    /// The transaction id.
    #[must_use]
    pub fn xid(&self) -> u32 {
        self.xid
    }

    /// Returns the message up to and including the credential: RPCSEC_GSS computes its verifier over these
    /// bytes (RFC 2203 §5.3.1).
    #[must_use]
    pub fn head(&self) -> Vec<u8> {
        let (program, version, procedure) = self.number;
        let mut to = Encoder::new();
        for word in [self.xid, 0, self.rpc_version, program, version, procedure] {
            to.u32(word);
        }
        put_opaque_auth(&mut to, &self.credential);
        to.into_inner()
    }

    /// Returns the message without a record mark, as a datagram has it.
    #[must_use]
    pub fn message(&self) -> Vec<u8> {
        let mut to = Encoder::with_buffer(self.head());
        put_opaque_auth(&mut to, &self.verifier);
        to.buffer_mut().extend_from_slice(&self.arguments);
        to.into_inner()
    }

    /// Returns the message as a record of one fragment.
    #[must_use]
    pub fn record(&self) -> Vec<u8> {
        record(&self.message())
    }
}

fn put_opaque_auth(to: &mut Encoder, (flavor, body): &(u32, Vec<u8>)) {
    to.u32(*flavor);
    to.opaque(body);
}

/// The program number of services that exist in tests only.
pub const TEST_PROGRAM: u32 = 400_000;

/// Returns the record of a call of procedure 0 of version 1 of [`TEST_PROGRAM`], without arguments.
#[must_use]
pub fn null_call(xid: u32) -> Vec<u8> {
    RawCall::new(xid, (TEST_PROGRAM, 1, 0)).record()
}

/// Returns the words in network order.
#[must_use]
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Returns a message as a record of one fragment.
///
/// # Panics
/// If the message has 2^31 bytes or more.
#[must_use]
pub fn record(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).ok().filter(|length| length & LAST_FRAGMENT == 0);
    let mark = LAST_FRAGMENT | length.expect("a message is shorter than 2 GiB");
    [&mark.to_be_bytes()[..], message].concat()
}

/// Returns the message of an accepted and successful reply with an empty verifier.
#[must_use]
pub fn success(xid: u32, results: &[u8]) -> Vec<u8> {
    [&words(&[xid, 1, 0, AUTH_NONE, 0, 0])[..], results].concat()
}

/// Returns a message as a record of fragments with at most so many bytes each.
///
/// # Panics
/// If `bytes_max` is 0, or 2^31 or more.
#[must_use]
pub fn fragments(message: &[u8], bytes_max: usize) -> Vec<Vec<u8>> {
    assert!(bytes_max < LAST_FRAGMENT as usize);
    let pieces: Vec<_> = message.chunks(bytes_max).collect();
    let fragment = |(number, piece): (usize, &&[u8])| {
        let last = if number + 1 == pieces.len() { LAST_FRAGMENT } else { 0 };
        [&(last | piece.len() as u32).to_be_bytes()[..], piece].concat()
    };
    pieces.iter().enumerate().map(fragment).collect()
}

/// Returns the message of a reply that refuses a call (RFC 5531 §9).
#[must_use]
pub fn refusal(xid: u32, refusal: &Refusal) -> Vec<u8> {
    let accepted = |status: &[u32]| [&[xid, 1, 0, AUTH_NONE, 0], status].concat();
    words(&match refusal {
        Refusal::ProgramUnavailable => accepted(&[1]),
        Refusal::ProgramMismatch { low, high } => accepted(&[2, *low, *high]),
        Refusal::ProcedureUnavailable => accepted(&[3]),
        Refusal::GarbageArguments => accepted(&[4]),
        Refusal::SystemError => accepted(&[5]),
        Refusal::RpcMismatch { low, high } => vec![xid, 1, 1, 0, *low, *high],
        Refusal::Authentication(status) => vec![xid, 1, 1, 1, *status as u32],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_of_superuser_has_the_bytes_of_the_standard() {
        let call = RawCall::new(7, (100_003, 3, 1)).of_superuser().with_arguments(&9_u32);
        let expected = [7, 0, 2, 100_003, 3, 1, 1, 20, 0, 0, 0, 0, 0, 0, 0, 9];
        assert_eq!(call.message(), words(&expected));
        assert_eq!(call.record(), words(&[&[0x8000_0040][..], &expected].concat()));
    }

    #[test]
    fn bodies_are_padded_and_keep_their_length() {
        let call = RawCall::new(1, (2, 3, 4)).with_rpc_version(5).with_credential(6, b"ab");
        let credential = [6, 2, 0x6162_0000];
        assert_eq!(call.head(), words(&[&[1, 0, 5, 2, 3, 4][..], &credential].concat()));
        let message = call.with_verifier(8, b"abcd").with_bytes(b"x").message();
        assert!(message.ends_with(&[&words(&[8, 4, 0x6162_6364])[..], b"x"].concat()));
    }

    #[test]
    fn last_fragment_alone_has_the_bit() {
        let expected = [&words(&[2])[..], b"ab", &words(&[0x8000_0001]), b"c"];
        assert_eq!(fragments(b"abc", 2).concat(), expected.concat());
        assert_eq!(fragments(b"ab", 2), [record(b"ab")]);
    }

    #[test]
    fn refusals_have_the_words_of_the_standard() {
        let mismatch = Refusal::ProgramMismatch { low: 2, high: 4 };
        assert_eq!(refusal(9, &mismatch), words(&[9, 1, 0, 0, 0, 2, 2, 4]));
        assert_eq!(refusal(9, &Refusal::SystemError), words(&[9, 1, 0, 0, 0, 5]));
        assert_eq!(refusal(9, &Refusal::RpcMismatch { low: 2, high: 2 }), words(&[9, 1, 1, 0, 2, 2]));
    }

    #[test]
    fn success_is_an_accepted_reply() {
        assert_eq!(success(3, b"done"), [&words(&[3, 1, 0, 0, 0, 0])[..], b"done"].concat());
    }
}
