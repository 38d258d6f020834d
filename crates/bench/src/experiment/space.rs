//! How much room files take on the server.

/// Bytes that a workload has on the server at the most, where sizes that are drawn count with their mean.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Space {
    /// Of files that all runs use, and that stay until the benchmark ends.
    pub lasting: f64,
    /// Of files that one run has for itself; they are removed before the next one.
    pub passing: f64,
    /// Whether a run adds to that for as long as it runs, so that no number says how much.
    pub grows: bool,
}

impl Space {
    /// What workloads take that are run one after the other.
    #[must_use]
    pub fn of_all(each: impl Iterator<Item = Self>) -> Self {
        each.fold(Self::default(), |all, one| Self {
            lasting: all.lasting + one.lasting,
            passing: all.passing.max(one.passing),
            grows: all.grows || one.grows,
        })
    }

    /// All bytes that are there at the same time.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.lasting + self.passing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_files_add_up_and_removed_files_count_by_their_maximum() {
        let space = |lasting, passing, grows| Space { lasting, passing, grows };
        let all = [space(10.0, 0.0, false), space(5.0, 7.0, true), space(0.0, 3.0, false)];
        assert_eq!(Space::of_all(all.into_iter()), space(15.0, 7.0, true));
        assert_eq!(Space::of_all(all.into_iter()).bytes(), 22.0);
        assert_eq!(Space::of_all([].into_iter()), Space::default());
    }
}
