//! VERIFY and NVERIFY (RFC 8881 §18.31, §18.15): their argument is a `fattr4`, decoded by
//! [`super::attributes::AttributeValues::decode`].

use xdr::Xdr;

use super::attributes::AttributeValues;

/// `VERIFY4args` and `NVERIFY4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct VerifyArgs {
    /// The values to compare with.
    pub attributes: AttributeValues,
}
