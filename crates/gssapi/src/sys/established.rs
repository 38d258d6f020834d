//! A complete context, taken out of the library.

use std::ptr;
use std::time::Duration;

use zeroize::Zeroizing;

use super::ffi::{self, LucidContext, LucidKey};
use super::library::OwnedContext;
use crate::error::{Error, Status};

/// The version of the structure that is asked for.
const LUCID_VERSION: u32 = 1;
/// Tokens of RFC 4121.
const PROTOCOL_CFX: u32 = 1;
/// The longest key of an encryption type in bytes.
const KEY_BYTES_MAX: u32 = 64;

/// The key of a context, and its place in the sequence of messages.
#[derive(Debug)]
pub struct SessionKey {
    /// Whether this side initiated the context.
    pub is_initiator: bool,
    /// The encryption type (RFC 3961 §8).
    pub enctype: u32,
    /// The key: the acceptor's subkey where there is one (RFC 4121 §2).
    pub key: Zeroizing<Vec<u8>>,
    /// Whether it is the acceptor's subkey.
    pub is_acceptor_subkey: bool,
    /// The number of the next message that this side sends.
    pub send_sequence: u64,
}

/// A complete context.
#[derive(Debug)]
pub struct Established {
    /// The principal of the other side, as `ann@EXAMPLE.ORG`.
    pub principal: String,
    /// The time for which it may be used. `None` without end.
    pub lifetime: Option<Duration>,
    /// Its key.
    pub key: SessionKey,
}

/// The time of `seconds`, as the library tells it.
pub(crate) fn lifetime(seconds: u32) -> Option<Duration> {
    (seconds != ffi::INDEFINITE).then(|| Duration::from_secs(seconds.into()))
}

impl SessionKey {
    /// Takes the key out of a complete context, which the library may not use any more.
    pub(crate) fn export(mut context: OwnedContext) -> Result<Self, Error> {
        let library = context.library.clone();
        let (mut exported, mut minor) = (ptr::null_mut(), 0);
        // SAFETY: the context is complete; the library deletes it and sets the handle to none.
        let major = unsafe {
            (library.functions.export_lucid)(
                &raw mut minor,
                &raw mut context.handle,
                LUCID_VERSION,
                &raw mut exported,
            )
        };
        library.check("the keys of the context", Status { major, minor })?;
        // SAFETY: the call succeeded, so that this is a structure of the version that was asked for.
        let key = unsafe { Self::read(&*exported) };
        // SAFETY: the library made the structure, and nothing refers to it any more.
        unsafe { (library.functions.free_lucid)(&raw mut minor, exported) };
        key
    }

    /// # Safety
    /// The keys must be as long as they say.
    unsafe fn read(context: &LucidContext) -> Result<Self, Error> {
        let is_acceptor_subkey = context.has_acceptor_subkey != 0;
        let key: &LucidKey = if is_acceptor_subkey { &context.acceptor_subkey } else { &context.key };
        let is_known = context.protocol == PROTOCOL_CFX && !key.data.is_null() && key.length <= KEY_BYTES_MAX;
        if !is_known {
            let enctype =
                if context.protocol == PROTOCOL_CFX { key.enctype } else { context.old.key.enctype };
            return Err(Error::Unknown { protocol: context.protocol, enctype });
        }
        // SAFETY: of the caller.
        let bytes = unsafe { std::slice::from_raw_parts(key.data.cast::<u8>(), key.length as usize) };
        Ok(Self {
            is_initiator: context.initiate != 0,
            enctype: key.enctype,
            key: Zeroizing::new(bytes.to_vec()),
            is_acceptor_subkey,
            send_sequence: context.send_sequence,
        })
    }
}
