//! How many reservations of a file have each bit of access and denial: a conflict is found without going
//! through them.

use proto::nfs4::share;

/// The bits that are counted.
const BITS: [u32; 2] = [share::READ, share::WRITE];

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ShareCounts {
    access: [u32; 2],
    deny: [u32; 2],
}

impl ShareCounts {
    pub(crate) fn add(&mut self, (access, deny): (u32, u32)) {
        self.change((access, deny), |count| count + 1);
    }

    pub(crate) fn remove(&mut self, (access, deny): (u32, u32)) {
        self.change((access, deny), |count| count - 1);
    }

    fn change(&mut self, (access, deny): (u32, u32), change: impl Fn(u32) -> u32) {
        for (counts, bits) in [(&mut self.access, access), (&mut self.deny, deny)] {
            for (count, _) in counts.iter_mut().zip(BITS).filter(|(_, bit)| bits & bit != 0) {
                *count = change(*count);
            }
        }
    }

    /// True when one of the reservations has access to write.
    pub(crate) fn any_writes(&self) -> bool {
        self.access[1] > 0
    }

    /// True when access or denial conflicts with one of the reservations (RFC 8881 §9.7).
    pub(crate) fn conflict(&self, (access, deny): (u32, u32)) -> bool {
        let denied = BITS.iter().zip(self.deny).any(|(bit, count)| access & bit != 0 && count > 0);
        let used = BITS.iter().zip(self.access).any(|(bit, count)| deny & bit != 0 && count > 0);
        denied || used
    }
}
