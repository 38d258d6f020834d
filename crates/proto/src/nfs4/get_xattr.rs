//! GETXATTR (RFC 8276 §8.4.1).

use bytes::Bytes;
use xdr::{Decode, Decoder, Encode, Encoder, Xdr};

use super::COMPONENT_BYTES_MAX;

/// The longest value that is decoded, in bytes: what Linux can keep. A longer one cannot be one of its
/// values.
pub const XATTR_BYTES_MAX: u32 = 1 << 16;

/// `GETXATTR4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct GetXattrArgs {
    /// Its name, without a namespace.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub name: Bytes,
}

/// The result: `xattrvalue4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetXattrResult {
    /// Its value.
    pub value: Bytes,
}

impl Decode for GetXattrResult {
    /// Linux 6.1 leaves in the padding what was in its memory.
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        Ok(Self { value: from.opaque_padded_anyhow(XATTR_BYTES_MAX)? })
    }
}

impl Encode for GetXattrResult {
    fn encode(&self, to: &mut Encoder) {
        to.opaque(&self.value);
    }
}
