//! COPY (RFC 7862 §15.2): from the saved file to the current one.

use bytes::Bytes;
use xdr::Xdr;

use super::{StableHow, StateId, Verifier};

/// The most places of a source that are decoded.
const SOURCES_MAX: u32 = 64;
/// The longest part of such a place in bytes.
const SOURCE_BYTES_MAX: u32 = 1024;

/// `COPY4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CopyArgs {
    /// The open, lock or delegation under which the source is read.
    pub source_state_id: StateId,
    /// The one under which the target is written.
    pub target_state_id: StateId,
    /// First byte in the source.
    pub source_offset: u64,
    /// First byte in the target.
    pub target_offset: u64,
    /// Bytes; 0 for all up to the end of the source.
    pub count: u64,
    /// The bytes must be copied in order.
    pub consecutive: bool,
    /// The copy must be done when it is answered.
    pub synchronous: bool,
    /// Where the source is, if on another server.
    #[xdr(max = SOURCES_MAX)]
    pub sources: Vec<NetLocation>,
}

/// A place on the network (`netloc4`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub enum NetLocation {
    /// A host's name.
    #[xdr(case = 1)]
    Name(#[xdr(max = SOURCE_BYTES_MAX)] Bytes),
    /// A URL.
    #[xdr(case = 2)]
    Url(#[xdr(max = SOURCE_BYTES_MAX)] Bytes),
    /// A network address.
    #[xdr(case = 3)]
    Address(NetAddress),
}

/// A network address (`netaddr4`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct NetAddress {
    /// `tcp`, `tcp6` and so on.
    #[xdr(max = SOURCE_BYTES_MAX)]
    pub network: Bytes,
    /// The universal address.
    #[xdr(max = SOURCE_BYTES_MAX)]
    pub address: Bytes,
}

/// `COPY4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CopyResult {
    /// What was written.
    pub written: WriteResponse,
    /// How.
    pub requirements: CopyRequirements,
}

/// `write_response4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct WriteResponse {
    /// Names a copy that is still under way.
    #[xdr(max = 1)]
    pub callback_id: Vec<StateId>,
    /// Bytes written.
    pub count: u64,
    /// How durable they are.
    pub committed: StableHow,
    /// Changes when unstable writes may have been lost.
    pub verifier: Verifier,
}

/// `copy_requirements4`: also the body of NFS4ERR_OFFLOAD_NO_REQS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct CopyRequirements {
    /// The bytes are copied in order.
    pub consecutive: bool,
    /// The copy is done when it is answered.
    pub synchronous: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synchronous_copy_has_no_callback_id() {
        let result = CopyResult {
            written: WriteResponse {
                callback_id: vec![],
                count: 5,
                committed: StableHow::Unstable,
                verifier: Verifier([9; 8]),
            },
            requirements: CopyRequirements { consecutive: true, synchronous: true },
        };
        #[rustfmt::skip]
        let golden: &[u8] = &[
            0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 5,
            0, 0, 0, 0,
            9, 9, 9, 9, 9, 9, 9, 9,
            0, 0, 0, 1, 0, 0, 0, 1,
        ];
        assert_eq!(xdr::to_bytes(&result), golden);
        assert_eq!(xdr::from_bytes::<CopyResult>(golden.to_vec()).unwrap(), result);
        let two_ids = [&[0, 0, 0, 2][..], &[0; 60]].concat();
        assert!(xdr::from_bytes::<CopyResult>(two_ids).is_err());
    }

    #[test]
    fn places_of_a_source_are_told_apart_by_their_kind() {
        let address = NetAddress { network: "tcp".into(), address: "10.0.0.1.8.1".into() };
        let sources =
            vec![NetLocation::Name("a".into()), NetLocation::Url("b".into()), NetLocation::Address(address)];
        let asked = CopyArgs {
            source_state_id: StateId::ANONYMOUS,
            target_state_id: StateId::CURRENT,
            source_offset: 1,
            target_offset: 2,
            count: 3,
            consecutive: false,
            synchronous: true,
            sources,
        };
        let bytes = xdr::to_bytes(&asked);
        assert_eq!(bytes[56..72], [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 1]);
        assert_eq!(xdr::from_bytes::<CopyArgs>(bytes).unwrap(), asked);
    }
}
