//! Sizes drawn from their distributions, the same for the same seed.

use crate::experiment::composed::FileSize;
use crate::seeded::Seeded;

/// A size is at most this many times the mean: a file that nobody has room for says nothing about a server.
const MEANS_MAX: f64 = 100.0;

/// One size in bytes.
pub(in crate::workload) fn size(of: FileSize, random: &mut Seeded) -> u64 {
    match of {
        FileSize::Fixed { bytes } => bytes,
        FileSize::Uniform { from, to } => from + random.below((to - from).saturating_add(1)),
        FileSize::Gamma { mean, shape } => bounded(mean as f64 / shape * gamma(shape, random), mean),
        FileSize::Exponential { mean } => bounded(mean as f64 * exponential(random), mean),
    }
}

fn bounded(bytes: f64, mean: u64) -> u64 {
    bytes.round().clamp(0.0, mean as f64 * MEANS_MAX) as u64
}

/// Above 0 and at most 1.
fn unit(random: &mut Seeded) -> f64 {
    ((random.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// Of mean 1.
fn exponential(random: &mut Seeded) -> f64 {
    -unit(random).ln()
}

/// Of mean 0 and deviation 1, by Box and Muller.
fn normal(random: &mut Seeded) -> f64 {
    let radius = (-2.0 * unit(random).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit(random)).cos()
}

/// Gamma with scale 1, by the method of Marsaglia and Tsang (ACM TOMS 26, 2000).
fn gamma(shape: f64, random: &mut Seeded) -> f64 {
    if shape < 1.0 {
        // Their remark on shapes below 1.
        return gamma(shape + 1.0, random) * unit(random).powf(1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && unit(random).ln() < x * x / 2.0 + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 20_000;

    fn sizes(of: FileSize) -> Vec<f64> {
        let mut random = Seeded::new(42, 7);
        (0..DRAWS).map(|_| size(of, &mut random) as f64).collect()
    }

    fn moments(sizes: &[f64]) -> (f64, f64) {
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        let variance = sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / sizes.len() as f64;
        (mean, variance.sqrt())
    }

    /// Mean and deviation must be those of the distribution, within four standard errors of each.
    fn check(of: FileSize, deviation: f64) {
        let (mean, found) = moments(&sizes(of));
        let error = deviation / (DRAWS as f64).sqrt();
        assert!((mean - of.mean()).abs() < 4.0 * error, "{of:?}: a mean of {mean}");
        assert!((found / deviation - 1.0).abs() < 0.05, "{of:?}: a deviation of {found}, not {deviation}");
    }

    #[test]
    fn draws_have_the_mean_and_the_deviation_of_their_distribution() {
        let mean = 131_072;
        check(FileSize::Gamma { mean, shape: 1.5 }, mean as f64 / 1.5_f64.sqrt());
        check(FileSize::Gamma { mean, shape: 0.5 }, mean as f64 / 0.5_f64.sqrt());
        check(FileSize::Gamma { mean, shape: 9.0 }, mean as f64 / 3.0);
        check(FileSize::Exponential { mean: 16_384 }, 16_384.0);
        check(FileSize::Uniform { from: 1000, to: 9000 }, 8000.0 / 12.0_f64.sqrt());
    }

    #[test]
    fn gamma_has_its_share_below_the_mean() {
        // P(X < mean) of a gamma distribution with shape 1.5 is P(1.5, 1.5) = 0.608.
        let sizes = sizes(FileSize::Gamma { mean: 1 << 20, shape: 1.5 });
        let below = sizes.iter().filter(|size| **size < f64::from(1 << 20)).count() as f64 / DRAWS as f64;
        assert!((below - 0.608).abs() < 0.015, "{below}");
    }

    #[test]
    fn uniform_reaches_both_ends_and_fixed_is_fixed() {
        let all = sizes(FileSize::Uniform { from: 3, to: 5 });
        assert!([3.0, 4.0, 5.0].iter().all(|size| all.contains(size)));
        assert!(all.iter().all(|size| (3.0..=5.0).contains(size)));
        assert!(sizes(FileSize::Fixed { bytes: 7 }).iter().all(|size| *size == 7.0));
    }

    #[test]
    fn the_same_seed_gives_the_same_sizes() {
        let gamma = FileSize::Gamma { mean: 131_072, shape: 1.5 };
        assert_eq!(sizes(gamma)[..5], sizes(gamma)[..5]);
        assert!(sizes(gamma).iter().all(|size| *size <= 131_072.0 * MEANS_MAX));
    }
}
