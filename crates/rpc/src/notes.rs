//! Notes of a call under way for the connection that polls it: how large its reply may be, and whether it may
//! be cancelled.
//!
//! The notes go through the thread, since a handler is polled on the thread of its connection. Both are
//! taken only when the handler has to wait, so that a call that is answered at once pays for storing two
//! numbers.

use std::cell::Cell;

/// The notes of one poll of a handler.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    /// Bytes that the reply may have, beyond what a small reply has.
    pub(crate) reply_bytes: u64,
    /// Whether the call may be cancelled, where that was said.
    pub(crate) is_cancellable: Option<bool>,
}

thread_local! {
    static NOTES: Cell<Notes> = const { Cell::new(Notes { reply_bytes: 0, is_cancellable: None }) };
}

/// Says that the call under way may append so many more bytes to its reply. To be called before they are.
pub fn expect_reply(bytes: usize) {
    NOTES.with(|notes| {
        let known = notes.get();
        notes.set(Notes { reply_bytes: known.reply_bytes.saturating_add(bytes as u64), ..known });
    });
}

/// Says whether the call under way may be cancelled when its connection is lost. Unless it is said, it may
/// not.
pub fn set_cancellable(is_cancellable: bool) {
    NOTES.with(|notes| notes.set(Notes { is_cancellable: Some(is_cancellable), ..notes.get() }));
}

/// Forgets the notes of the handler that was polled before.
pub(crate) fn begin() {
    NOTES.with(|notes| notes.set(Notes::default()));
}

/// The notes since [`begin`].
pub(crate) fn take() -> Notes {
    NOTES.with(Cell::take)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_add_up_until_the_next_call_begins() {
        begin();
        expect_reply(10);
        expect_reply(20);
        set_cancellable(true);
        assert_eq!(take(), Notes { reply_bytes: 30, is_cancellable: Some(true) });
        expect_reply(5);
        begin();
        assert_eq!(take(), Notes::default());
    }
}
