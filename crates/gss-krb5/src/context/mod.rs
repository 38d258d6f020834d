//! The keys of a security context and its tokens.

mod mic;
mod unwrap;
mod wrap;

pub use unwrap::Unwrapped;
pub use wrap::WrapProtection;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::header::{ACCEPTOR_SUBKEY, SENT_BY_ACCEPTOR};
use crate::mac::Mac;
use crate::sealing::{OpeningKeys, SealingKeys, checksum};
use crate::{Enctype, Error, ProtocolKey};

/// The side of a security context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The side that began the context: an RPC client.
    Initiator,
    /// The other side: an RPC server.
    Acceptor,
}

impl Role {
    /// The key usages of Wrap and of MIC tokens that this side sends (RFC 4121 §2).
    const fn usages(self) -> (u32, u32) {
        match self {
            Self::Acceptor => (22, 23),
            Self::Initiator => (24, 25),
        }
    }

    const fn peer(self) -> Self {
        match self {
            Self::Initiator => Self::Acceptor,
            Self::Acceptor => Self::Initiator,
        }
    }
}

/// One side of an established security context: makes its own tokens and verifies those of the peer.
///
/// The keys for both directions are derived once. All methods take `&self` and none takes a lock, so threads
/// share a context.
///
/// Sequence numbers of tokens are chosen by the caller, or by [`Self::next_sequence`]. They are authenticated
/// and returned, but their order is not checked and a repeated token is valid again. RPCSEC_GSS, which asks
/// its mechanism for neither, has a window of its own (RFC 2203 §5.3.3.1).
pub struct Context {
    role: Role,
    enctype: Enctype,
    acceptor_subkey: bool,
    next_sequence: AtomicU64,
    send: SendKeys,
    receive: ReceiveKeys,
}

struct SendKeys {
    mic: Mac,
    checksum: Mac,
    sealing: SealingKeys,
}

struct ReceiveKeys {
    mic: Mac,
    checksum: Mac,
    opening: OpeningKeys,
}

impl Context {
    /// Derives the keys of a context.
    ///
    /// `key` is the acceptor's subkey if it asserted one, and `acceptor_subkey` is true then. Otherwise it is
    /// the initiator's subkey, or the session key of the ticket without one (RFC 4121 §2). `sequence` is the
    /// number of the first token that this side sends.
    ///
    /// # Errors
    /// [`Error::KeyLength`] for a key of another length than [`Enctype::key_bytes`].
    pub fn new(
        role: Role,
        enctype: Enctype,
        key: &[u8],
        acceptor_subkey: bool,
        sequence: u64,
    ) -> Result<Self, Error> {
        let key = ProtocolKey::new(enctype, key)?;
        let (wrap_usage, mic_usage) = role.usages();
        let send = SendKeys {
            mic: checksum(enctype, key.as_bytes(), mic_usage),
            checksum: checksum(enctype, key.as_bytes(), wrap_usage),
            sealing: SealingKeys::new(enctype, key.as_bytes(), wrap_usage),
        };
        let (wrap_usage, mic_usage) = role.peer().usages();
        let receive = ReceiveKeys {
            mic: checksum(enctype, key.as_bytes(), mic_usage),
            checksum: checksum(enctype, key.as_bytes(), wrap_usage),
            opening: OpeningKeys::new(enctype, key.as_bytes(), wrap_usage),
        };
        let next_sequence = AtomicU64::new(sequence);
        Ok(Self { role, enctype, acceptor_subkey, next_sequence, send, receive })
    }

    /// Returns the side that this context is.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Returns the encryption type of its key.
    pub const fn enctype(&self) -> Enctype {
        self.enctype
    }

    /// Returns a sequence number that no other call of this method returns, until they wrap around at 2^64.
    pub fn next_sequence(&self) -> u64 {
        // Nothing else is published with the number, and the receiver does not depend on the order.
        self.next_sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// The flags of a token from `sender`, apart from that of sealed messages.
    const fn flags(&self, sender: Role) -> u8 {
        let direction = match sender {
            Role::Initiator => 0,
            Role::Acceptor => SENT_BY_ACCEPTOR,
        };
        if self.acceptor_subkey { direction | ACCEPTOR_SUBKEY } else { direction }
    }

    /// Checks that a token with these flags comes from the peer and uses the key of this context.
    fn check_flags(&self, flags: u8) -> Result<(), Error> {
        let wrong = flags ^ self.flags(self.role.peer());
        if wrong & SENT_BY_ACCEPTOR != 0 {
            return Err(Error::WrongDirection);
        }
        if wrong & ACCEPTOR_SUBKEY != 0 {
            return Err(Error::WrongSubkey);
        }
        Ok(())
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Context")
            .field("role", &self.role)
            .field("enctype", &self.enctype)
            .field("acceptor_subkey", &self.acceptor_subkey)
            .field("next_sequence", &self.next_sequence)
            .finish_non_exhaustive()
    }
}
