//! The attributes that an operation was given.

use proto::nfs4::Status;
use proto::nfs4::attributes::{AttributeError, AttributeValues, Bitmap};
use xdr::Decoder;

use crate::nfs4::attributes;

/// Decodes attributes as a server of this minor version does: of those that it does not know it cannot tell
/// where they end (RFC 8178 §8.2).
pub(crate) fn decode(arguments: &mut Decoder, minor_version: u32) -> Result<AttributeValues, Status> {
    if let Ok(given) = arguments.clone().get::<Bitmap>()
        && let Some(number) = given.numbers().last()
        && attributes::not_supported(number, minor_version) == Status::Invalid
    {
        return Err(Status::Invalid);
    }
    AttributeValues::decode(arguments).map_err(|error| bad_attributes(error, minor_version))
}

/// The status for attributes that cannot be decoded.
pub(crate) fn bad_attributes(error: AttributeError, minor_version: u32) -> Status {
    match error {
        AttributeError::NotSupported(number) => attributes::not_supported(number, minor_version),
        AttributeError::Malformed(_) => Status::BadXdr,
    }
}
