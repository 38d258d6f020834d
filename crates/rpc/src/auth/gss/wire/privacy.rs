//! Encrypted arguments and results (`rpc_gss_priv_data`, RFC 2203 §5.3.2.3).

use bytes::Bytes;
use xdr::{Decode, Decoder, Encode, Encoder};

/// `rpc_gss_priv_data`: a token that holds the encoded `rpc_gss_data_t`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivacyData {
    /// The token of GSS_Wrap. The record bounds its length.
    pub token: Bytes,
}

impl Decode for PrivacyData {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        Ok(Self { token: from.opaque(u32::MAX)? })
    }
}

impl Encode for PrivacyData {
    fn encode(&self, to: &mut Encoder) {
        to.opaque(&self.token);
    }
}
