//! SETATTR (RFC 8881 §18.30). Its result has the attributes that were set whatever the status is.

use xdr::Xdr;

use super::StateId;
use super::attributes::Bitmap;

/// `SETATTR4args` up to the attributes, which follow as a `fattr4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct SetAttrArgs {
    /// The open under which the size is set; the anonymous one otherwise.
    pub state_id: StateId,
}

/// The body of the result.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct SetAttrResult {
    /// Attributes that were set.
    pub attributes_set: Bitmap,
}
