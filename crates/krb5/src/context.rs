//! An established context, whose tokens are made here.

use std::time::Duration;

use bytes::Bytes;
use gss_krb5::{CONFOUNDER_BYTES, Context, Enctype, Role, WrapProtection};
use gssapi::Established;
use rpc::auth::gss::{BadToken, SecurityContext};

/// Room that the keys and their schedules take, in bytes.
const MEMORY_BYTES: usize = 8 << 10;

/// A context.
pub(crate) struct KerberosContext {
    context: Context,
    principal: Bytes,
    lifetime: Option<Duration>,
}

/// The context has a key of a kind that is not known here.
#[derive(Debug)]
pub(crate) struct UnknownKey {
    /// The number of its encryption type (RFC 3961 §8).
    pub(crate) enctype: u32,
}

impl KerberosContext {
    /// Derives the keys of a context that the library has completed.
    pub(crate) fn new(established: &Established) -> Result<Self, UnknownKey> {
        let key = &established.key;
        let role = if key.is_initiator { Role::Initiator } else { Role::Acceptor };
        let unknown = || UnknownKey { enctype: key.enctype };
        let enctype = Enctype::from_number(key.enctype.cast_signed()).ok_or_else(unknown)?;
        let context = Context::new(role, enctype, &key.key, key.is_acceptor_subkey, key.send_sequence);
        Ok(Self {
            context: context.map_err(|_| unknown())?,
            principal: Bytes::copy_from_slice(established.principal.as_bytes()),
            lifetime: established.lifetime,
        })
    }
}

fn privacy(confounder: [u8; CONFOUNDER_BYTES]) -> WrapProtection {
    WrapProtection::Privacy(confounder)
}

impl SecurityContext for KerberosContext {
    fn mic(&self, message: &[u8]) -> Result<Vec<u8>, BadToken> {
        Ok(self.context.mic(self.context.next_sequence(), message))
    }

    fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), BadToken> {
        self.context.verify_mic(mic, message).map(|_| ()).map_err(|_| BadToken)
    }

    fn wrap_head_bytes(&self) -> usize {
        privacy([0; CONFOUNDER_BYTES]).bytes_before()
    }

    fn wrap(&self, buffer: &mut Vec<u8>, start: usize) -> Result<(), BadToken> {
        let mut confounder = [0; CONFOUNDER_BYTES];
        rand::fill(&mut confounder);
        let sequence = self.context.next_sequence();
        self.context.wrap_in_place(sequence, buffer, start, privacy(confounder)).map_err(|_| BadToken)
    }

    fn unwrap(&self, token: &Bytes) -> Result<Bytes, BadToken> {
        let mut buffer = token.to_vec();
        let unwrapped = self.context.unwrap_in_place(&mut buffer).map_err(|_| BadToken)?;
        // Without encryption a peer on the way could read a private message.
        if !unwrapped.is_private {
            return Err(BadToken);
        }
        Ok(Bytes::from(buffer).slice(unwrapped.message))
    }

    fn principal(&self) -> &[u8] {
        &self.principal
    }

    fn lifetime(&self) -> Option<Duration> {
        self.lifetime
    }

    fn memory_bytes(&self) -> usize {
        MEMORY_BYTES + self.principal.len()
    }
}
