//! Both sides of a context.

use gss_krb5::{Context, Enctype, Role, WrapProtection};

/// A key that differs in each byte.
pub(crate) fn key(enctype: Enctype) -> Vec<u8> {
    (0..enctype.key_bytes()).map(|index| (index * 7 + 1) as u8).collect()
}

/// Returns the initiator and the acceptor of a context with the acceptor's subkey.
pub(crate) fn sides(enctype: Enctype) -> (Context, Context) {
    let side = |role| Context::new(role, enctype, &key(enctype), true, 0).unwrap();
    (side(Role::Initiator), side(Role::Acceptor))
}

/// Returns both kinds of protection.
pub(crate) fn protections() -> [WrapProtection; 2] {
    [WrapProtection::Integrity, WrapProtection::Privacy(*b"not random bytes")]
}

/// Returns `length` bytes that repeat late.
pub(crate) fn message(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8).collect()
}
