//! Arguments and results with a MIC (`rpc_gss_integ_data`, RFC 2203 §5.3.2.2).

use bytes::Bytes;
use xdr::{Decode, Decoder, Encode, Encoder};

use super::MIC_BYTES_MAX;

/// `rpc_gss_integ_data`: the encoded `rpc_gss_data_t`, which is a sequence number and arguments or results,
/// and its MIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegrityData {
    /// The bytes that the MIC covers. The record bounds their length.
    pub body: Bytes,
    /// The MIC.
    pub mic: Bytes,
}

impl Decode for IntegrityData {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        Ok(Self { body: from.opaque(u32::MAX)?, mic: from.opaque(MIC_BYTES_MAX)? })
    }
}

impl Encode for IntegrityData {
    fn encode(&self, to: &mut Encoder) {
        to.opaque(&self.body);
        to.opaque(&self.mic);
    }
}
