//! When runs are looked at while more are made, and what each look may cost.
//!
//! Repeated tests of the same growing sample find differences that are not there. The looks are therefore
//! fixed beforehand, and each has a share of the error that all of them may make together. The chance of a
//! false claim is then at most the sum of the shares, whatever made the benchmark stop.

use serde::{Deserialize, Serialize};

/// One look at the runs of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Blocks that are complete then: a look sees the first so many.
    pub blocks: u32,
    /// The share of the error that this look may use, above 0 and at most 1. The shares of all looks add up
    /// to at most 1.
    pub share: f64,
}

/// Looks of a benchmark that goes on until its comparisons are decided. Few runs show large differences;
/// where they show nothing the number doubles.
const SEQUENCE: [Look; 6] = [
    Look { blocks: 6, share: 0.20 },
    Look { blocks: 12, share: 0.20 },
    Look { blocks: 24, share: 0.20 },
    Look { blocks: 48, share: 0.20 },
    Look { blocks: 96, share: 0.15 },
    Look { blocks: 192, share: 0.05 },
];

/// Looks of a benchmark that searches for a difference of a given size: as many blocks as that takes.
const DETECTION: [Look; 7] = [
    Look { blocks: 12, share: 0.15 },
    Look { blocks: 24, share: 0.20 },
    Look { blocks: 48, share: 0.20 },
    Look { blocks: 96, share: 0.20 },
    Look { blocks: 192, share: 0.15 },
    Look { blocks: 384, share: 0.05 },
    Look { blocks: 768, share: 0.05 },
];

/// The looks of a benchmark that searches for a difference of a given size.
#[must_use]
pub fn detection() -> Vec<Look> {
    DETECTION.to_vec()
}

/// The looks of a benchmark whose number of runs follows from what is still open.
#[must_use]
pub fn sequence() -> Vec<Look> {
    SEQUENCE.to_vec()
}

/// The only look of a benchmark with a fixed number of `blocks`: it may use the whole error.
#[must_use]
pub fn single(blocks: u32) -> Vec<Look> {
    vec![Look { blocks, share: 1.0 }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_sequence_add_up_to_one_and_its_blocks_double() {
        for looks in [sequence(), detection()] {
            let sum: f64 = looks.iter().map(|look| look.share).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
            for pair in looks.windows(2) {
                assert_eq!(pair[1].blocks, 2 * pair[0].blocks);
            }
        }
    }
}
