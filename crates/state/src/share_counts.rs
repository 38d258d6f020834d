//! How many reservations of a file have each bit of access and denial: a conflict is found without going
//! through them.

use proto::nfs4::share;

use crate::ShareReservation;

/// The bits that are counted.
const BITS: [u32; 2] = [share::READ, share::WRITE];

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ShareCounts {
    access: [u32; 2],
    deny: [u32; 2],
}

impl ShareCounts {
    pub(crate) fn add(&mut self, shares: ShareReservation) {
        self.change(shares, |count| count + 1);
    }

    pub(crate) fn remove(&mut self, shares: ShareReservation) {
        self.change(shares, |count| count - 1);
    }

    fn change(&mut self, shares: ShareReservation, change: impl Fn(u32) -> u32) {
        for (counts, bits) in [(&mut self.access, shares.access), (&mut self.deny, shares.deny)] {
            for (count, _) in counts.iter_mut().zip(BITS).filter(|(_, bit)| bits & bit != 0) {
                *count = change(*count);
            }
        }
    }

    /// True when one of the reservations has access to write.
    pub(crate) fn any_writes(&self) -> bool {
        self.access[1] > 0
    }

    /// True when `wanted` conflicts with one of the reservations (RFC 8881 §9.7).
    pub(crate) fn conflict(&self, wanted: ShareReservation) -> bool {
        let ShareReservation { access, deny } = wanted;
        let denied = BITS.iter().zip(self.deny).any(|(bit, count)| access & bit != 0 && count > 0);
        let used = BITS.iter().zip(self.access).any(|(bit, count)| deny & bit != 0 && count > 0);
        denied || used
    }
}
