//! The modes of a share reservation.

use proto::nfs4::share;

/// The modes of a share reservation (RFC 8881 §9.7), of an NFSv4 open or an NLM share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareReservation {
    /// The access that the holder has: bits of [`share`].
    pub access: u32,
    /// The access that others are denied: bits of [`share`].
    pub deny: u32,
}

impl ShareReservation {
    /// Returns the reservation of an access that denies nothing to others.
    #[must_use]
    pub fn of_access(access: u32) -> Self {
        Self { access, deny: 0 }
    }

    /// True when neither access nor denial has bits beyond `other`.
    pub(crate) fn is_within(self, other: Self) -> bool {
        self.access & !other.access == 0 && self.deny & !other.deny == 0
    }

    /// True when the two cannot be held at a time (RFC 8881 §9.7).
    pub(crate) fn conflicts_with(self, other: Self) -> bool {
        self.access & other.deny != 0 || self.deny & other.access != 0
    }

    /// True when the holder writes, or denies others to read: a read delegation of another client conflicts.
    pub(crate) fn is_exclusive(self) -> bool {
        self.access & share::WRITE != 0 || self.deny & share::READ != 0
    }
}
