//! Negotiating a session's channels (RFC 8881 §18.36.3): what is granted is never more than what was asked for.

use proto::nfs4::{ChannelAttributes, Status};

use crate::Limits;

/// The smallest messages that a session can work with, in bytes.
const MESSAGE_BYTES_MIN: u32 = 512;
/// SEQUENCE, PUTFH and an operation.
const OPERATIONS_MIN: u32 = 2;

/// The limits of a channel that the server enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelLimits {
    /// Longest request in bytes, RPC header included.
    pub request_bytes_max: u32,
    /// Longest reply in bytes, RPC header included.
    pub response_bytes_max: u32,
    /// Longest cached reply in bytes, RPC header included.
    pub cached_response_bytes_max: u32,
    /// Operations in a COMPOUND.
    pub operations_max: u32,
    /// Slots.
    pub requests_max: u32,
}

/// What is granted for requests.
///
/// # Errors
/// TOOSMALL when nothing could be done within what was asked for; INVAL for no slot at all.
pub fn negotiate_fore_channel(asked: &ChannelAttributes, limits: &Limits) -> Result<ChannelLimits, Status> {
    if asked.requests_max == 0 || asked.operations_max == 0 {
        return Err(Status::Invalid);
    }
    let too_small = asked.request_bytes_max < MESSAGE_BYTES_MIN
        || asked.response_bytes_max < MESSAGE_BYTES_MIN
        || asked.operations_max < OPERATIONS_MIN;
    if too_small {
        return Err(Status::TooSmall);
    }
    Ok(ChannelLimits {
        request_bytes_max: asked.request_bytes_max.min(limits.message_bytes_max),
        response_bytes_max: asked.response_bytes_max.min(limits.message_bytes_max),
        cached_response_bytes_max: asked.cached_response_bytes_max.min(limits.cached_reply_bytes_max),
        operations_max: asked.operations_max.min(limits.operations_max),
        requests_max: asked.requests_max.min(limits.slots_max),
    })
}

/// What is used of a backchannel: small callbacks, a few at a time.
pub fn negotiate_back_channel(asked: &ChannelAttributes, limits: &Limits) -> ChannelLimits {
    ChannelLimits {
        request_bytes_max: asked.request_bytes_max.min(limits.message_bytes_max),
        response_bytes_max: asked.response_bytes_max.min(limits.message_bytes_max),
        cached_response_bytes_max: asked.cached_response_bytes_max.min(limits.cached_reply_bytes_max),
        operations_max: asked.operations_max.min(limits.operations_max),
        requests_max: asked.requests_max.min(limits.slots_max),
    }
}

impl ChannelLimits {
    /// As they are told to the client.
    pub fn to_attributes(self) -> ChannelAttributes {
        ChannelAttributes {
            header_pad_bytes: 0,
            request_bytes_max: self.request_bytes_max,
            response_bytes_max: self.response_bytes_max,
            cached_response_bytes_max: self.cached_response_bytes_max,
            operations_max: self.operations_max,
            requests_max: self.requests_max,
            rdma_ird: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> ChannelAttributes {
        ChannelAttributes {
            header_pad_bytes: 0,
            request_bytes_max: u32::MAX,
            response_bytes_max: 4096,
            cached_response_bytes_max: u32::MAX,
            operations_max: 8,
            requests_max: u32::MAX,
            rdma_ird: vec![],
        }
    }

    #[test]
    fn no_more_is_granted_than_was_asked_for_or_is_allowed() {
        let limits = Limits::default();
        let granted = negotiate_fore_channel(&asked(), &limits).unwrap();
        assert_eq!(granted.request_bytes_max, limits.message_bytes_max);
        assert_eq!(granted.response_bytes_max, 4096);
        assert_eq!(granted.cached_response_bytes_max, limits.cached_reply_bytes_max);
        assert_eq!((granted.operations_max, granted.requests_max), (8, limits.slots_max));
    }

    #[test]
    fn a_channel_that_can_carry_nothing_is_refused() {
        let limits = Limits::default();
        let tiny = ChannelAttributes { response_bytes_max: 100, ..asked() };
        assert_eq!(negotiate_fore_channel(&tiny, &limits), Err(Status::TooSmall));
        let none = ChannelAttributes { requests_max: 0, ..asked() };
        assert_eq!(negotiate_fore_channel(&none, &limits), Err(Status::Invalid));
    }
}
