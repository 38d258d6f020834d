//! How many entries of a directory a listing works on at a time, over every version.

/// The most entries that are asked of the back end at once.
pub(crate) const PAGE_ENTRIES_MAX: usize = 256;
/// The most that are asked for first, which tell how large entries are: what does not fit would be looked at
/// in vain.
pub(crate) const FIRST_ENTRIES_MAX: usize = 16;
/// Entries that are written in one go, before others get their turn.
pub(crate) const TURN_ENTRIES: usize = 16;
