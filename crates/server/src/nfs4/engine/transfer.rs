//! How much data one READ, WRITE or READDIR moves.

/// The most data in one READ or WRITE that this server offers, in bytes (`maxread`, `maxwrite`).
pub(crate) const DATA_BYTES_MAX: u32 = 1 << 20;

/// Room that the frame of a READ's result takes beside the data, in bytes.
const FRAME_BYTES: usize = 64;

/// What a READ of `count` returns at most: a short read is allowed (RFC 8881 §18.22.3), an oversized reply is
/// not.
pub(crate) fn bytes(count: u32, reply_room: usize) -> usize {
    (count.min(DATA_BYTES_MAX) as usize).min(reply_room.saturating_sub(FRAME_BYTES))
}
