//! Arguments and results of context creation (RFC 2203 §5.2.2, §5.2.3.1).

use bytes::Bytes;
use xdr::Xdr;

use super::{HANDLE_BYTES_MAX, INIT_TOKEN_BYTES_MAX, MajorStatus};

/// `rpc_gss_init_arg`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct InitArguments {
    /// A token of the client's mechanism.
    #[xdr(max = INIT_TOKEN_BYTES_MAX)]
    pub token: Bytes,
}

/// `rpc_gss_init_res`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct InitResults {
    /// The context; empty when the creation has failed.
    #[xdr(max = HANDLE_BYTES_MAX)]
    pub handle: Bytes,
    /// The status of the mechanism.
    pub major: MajorStatus,
    /// Its meaning is the mechanism's.
    pub minor: u32,
    /// The requests of the context that may be under way.
    pub window: u32,
    /// A token for the client's mechanism; empty when the creation has failed or there is none.
    #[xdr(max = INIT_TOKEN_BYTES_MAX)]
    pub token: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_words_of_the_standard() {
        let results = InitResults {
            handle: Bytes::from_static(b"hand"),
            major: MajorStatus::CONTINUE_NEEDED,
            minor: 7,
            window: 128,
            token: Bytes::from_static(b"t"),
        };
        let expected = b"\0\0\0\x04hand\0\0\0\x01\0\0\0\x07\0\0\0\x80\0\0\0\x01t\0\0\0";
        assert_eq!(xdr::to_bytes(&results)[..], expected[..]);
        assert_eq!(xdr::from_bytes::<InitResults>(Bytes::from_static(expected)), Ok(results));
    }

    #[test]
    fn token_above_the_bound_is_refused() {
        let length = INIT_TOKEN_BYTES_MAX as usize;
        for (length, is_decoded) in [(length, true), (length + 4, false)] {
            let bytes = xdr::to_bytes(&InitArguments { token: vec![0; length].into() });
            assert_eq!(xdr::from_bytes::<InitArguments>(bytes).is_ok(), is_decoded, "{length} bytes");
        }
    }
}
