//! SECINFO and SECINFO_NO_NAME (RFC 8881 §18.29, §18.45): which security flavours an object can be reached
//! with.

use bytes::Bytes;
use xdr::Xdr;

use super::COMPONENT_BYTES_MAX;

/// The number of `RPCSEC_GSS`.
const RPCSEC_GSS: u32 = 6;
/// The most flavours in a reply.
const FLAVORS_MAX: u32 = 64;
/// Longest object identifier in bytes.
const OID_BYTES_MAX: u32 = 256;

/// `SECINFO4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct SecInfoArgs {
    /// Name in the current directory.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub name: Bytes,
}

/// `SECINFO_NO_NAME4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct SecInfoNoNameArgs {
    /// Which object is meant.
    pub style: SecInfoStyle,
}

/// `secinfo_style4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum SecInfoStyle {
    /// The current one.
    CurrentHandle = 0,
    /// Its parent.
    Parent = 1,
}

/// `rpcsec_gss_info`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct GssInfo {
    /// Mechanism.
    #[xdr(max = OID_BYTES_MAX)]
    pub oid: Bytes,
    /// Quality of protection.
    pub quality: u32,
    /// 1 none, 2 integrity, 3 privacy.
    pub service: u32,
}

/// `secinfo4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub enum SecurityFlavor {
    /// `RPCSEC_GSS`.
    #[xdr(case = RPCSEC_GSS)]
    Gss(GssInfo),
    /// A flavour that is a number only.
    #[xdr(default)]
    Plain(u32),
}

/// `SECINFO4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct SecInfoResult {
    /// Flavours, best first.
    #[xdr(max = FLAVORS_MAX)]
    pub flavors: Vec<SecurityFlavor>,
}
