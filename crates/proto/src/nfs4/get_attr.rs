//! GETATTR (RFC 8881 §18.7). The result is a `fattr4`, see [`super::attributes::AttributeValues`].

use xdr::Xdr;

use super::attributes::Bitmap;

/// `GETATTR4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct GetAttrArgs {
    /// Attributes asked for.
    pub wanted: Bitmap,
}
