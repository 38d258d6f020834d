//! Negotiating a session's channels (RFC 8881 §18.36.3): what is granted is never more than what was asked
//! for.

use proto::nfs4::{ChannelAttributes, Status};

use crate::Limits;

/// The lengths of a call and its reply in bytes.
#[derive(Debug, Clone, Copy)]
struct ExchangeBytes {
    request: u32,
    response: u32,
}

/// The shortest COMPOUND that has SEQUENCE alone, without tag and credential. A channel that it fits can
/// carry a request that the server answers (RFC 8881 §18.36.3).
const SEQUENCE_BYTES: ExchangeBytes = ExchangeBytes { request: 88, response: 80 };
/// The same for a CB_COMPOUND that has CB_SEQUENCE alone.
const CB_SEQUENCE_BYTES: ExchangeBytes = ExchangeBytes { request: 96, response: 76 };
/// CB_SEQUENCE and the operation that the callback is for.
pub const CALLBACK_OPERATIONS: u32 = 2;

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

/// The limits of both channels of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channels {
    /// The fore channel: requests of the client.
    pub fore: ChannelLimits,
    /// The backchannel: callbacks of the server.
    pub back: ChannelLimits,
}

/// Returns the limits that are granted for requests and for callbacks.
///
/// # Errors
/// INVAL for a fore channel without slots or operations. TOOSMALL when no request fits the limits that the
/// client wants, or, if `wants_callbacks`, no callback. A backchannel that is wanted may still be too small
/// for some callbacks.
pub fn negotiate_channels(
    fore: &ChannelAttributes,
    back: &ChannelAttributes,
    wants_callbacks: bool,
    limits: &Limits,
) -> Result<Channels, Status> {
    if fore.requests_max == 0 || fore.operations_max == 0 {
        return Err(Status::Invalid);
    }
    let back = bounded(back, limits);
    if !fits(&bounded(fore, limits), SEQUENCE_BYTES) || wants_callbacks && !back.carries_callbacks() {
        return Err(Status::TooSmall);
    }
    let fore = ChannelLimits {
        operations_max: fore.operations_max.min(limits.operations_max),
        requests_max: fore.requests_max.min(limits.slots_max),
        ..bounded(fore, limits)
    };
    // The server must not change how many operations and callbacks the client takes at a time.
    Ok(Channels { fore, back })
}

fn fits(channel: &ChannelLimits, least: ExchangeBytes) -> bool {
    channel.request_bytes_max >= least.request && channel.response_bytes_max >= least.response
}

fn bounded(asked: &ChannelAttributes, limits: &Limits) -> ChannelLimits {
    let response_bytes_max = asked.response_bytes_max.min(limits.message_bytes_max);
    ChannelLimits {
        request_bytes_max: asked.request_bytes_max.min(limits.message_bytes_max),
        response_bytes_max,
        cached_response_bytes_max: asked
            .cached_response_bytes_max
            .min(limits.cached_reply_bytes_max)
            .min(response_bytes_max),
        operations_max: asked.operations_max,
        requests_max: asked.requests_max,
    }
}

impl ChannelLimits {
    /// True for a backchannel on which the server can send any callback at all.
    pub fn carries_callbacks(&self) -> bool {
        fits(self, CB_SEQUENCE_BYTES) && self.operations_max >= CALLBACK_OPERATIONS && self.requests_max > 0
    }

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
        let Channels { fore, .. } = negotiate_channels(&asked(), &asked(), false, &limits).unwrap();
        assert_eq!(fore.request_bytes_max, limits.message_bytes_max);
        assert_eq!(fore.response_bytes_max, 4096);
        assert_eq!(fore.cached_response_bytes_max, 4096, "no reply is longer");
        assert_eq!((fore.operations_max, fore.requests_max), (8, limits.slots_max));
    }

    #[test]
    fn the_operations_and_slots_of_the_backchannel_are_the_clients() {
        let back = ChannelAttributes { operations_max: 500, ..asked() };
        let Channels { back, .. } = negotiate_channels(&asked(), &back, true, &Limits::default()).unwrap();
        assert_eq!((back.operations_max, back.requests_max), (500, u32::MAX));
    }

    #[test]
    fn a_channel_that_sequence_just_fits_in_is_granted() {
        let ExchangeBytes { request: request_bytes_max, response: response_bytes_max } = SEQUENCE_BYTES;
        let least = ChannelAttributes { request_bytes_max, response_bytes_max, operations_max: 1, ..asked() };
        let negotiate = |fore| negotiate_channels(&fore, &asked(), true, &Limits::default()).map(|_| ());
        assert_eq!(negotiate(least.clone()), Ok(()));
        for less in [
            ChannelAttributes { request_bytes_max: request_bytes_max - 1, ..least.clone() },
            ChannelAttributes { response_bytes_max: response_bytes_max - 1, ..least },
        ] {
            assert_eq!(negotiate(less), Err(Status::TooSmall));
        }
    }

    #[test]
    fn a_channel_that_can_carry_nothing_is_refused() {
        let negotiate = |fore: &ChannelAttributes, back: &ChannelAttributes, wants_callbacks| {
            negotiate_channels(fore, back, wants_callbacks, &Limits::default()).map(|_| ())
        };
        let tiny = ChannelAttributes { response_bytes_max: 75, ..asked() };
        let no_slot = ChannelAttributes { requests_max: 0, ..asked() };
        let no_operation = ChannelAttributes { operations_max: 0, ..asked() };
        assert_eq!(negotiate(&tiny, &asked(), true), Err(Status::TooSmall));
        assert_eq!(negotiate(&no_slot, &asked(), true), Err(Status::Invalid));
        assert_eq!(negotiate(&no_operation, &asked(), true), Err(Status::Invalid));
        for back in [tiny, no_slot, no_operation] {
            assert_eq!(negotiate(&asked(), &back, true), Err(Status::TooSmall));
            assert_eq!(negotiate(&asked(), &back, false), Ok(()));
        }
    }
}
