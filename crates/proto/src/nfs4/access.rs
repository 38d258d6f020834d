//! ACCESS (RFC 8881 §18.1).

use xdr::Xdr;

/// `ACCESS4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct AccessArgs {
    /// Rights asked for, as bits.
    pub access: u32,
}

/// `ACCESS4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct AccessResult {
    /// Rights that the server can tell.
    pub supported: u32,
    /// Rights that the caller has.
    pub access: u32,
}
