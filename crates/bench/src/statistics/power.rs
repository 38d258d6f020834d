//! How many runs a difference needs: the power of the t tests, exactly, by the noncentral t distribution.

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::gamma::ln_gamma;

use super::ratio::TRIMMED_FROM;
use super::sample::{t_quantile, two_sided};

/// The chance of finding a difference that a planned number of runs has.
pub const PLANNED_POWER: f64 = 0.95;
/// The difference that runs are planned for: 5 %.
pub const PLANNED_DIFFERENCE: f64 = 0.05;
/// Plans end here: who would need more runs needs a quieter machine instead.
pub const RUNS_MAX: u32 = 10_000;

/// The deviation that a mean without its wildest pairs has, as a multiple of the plain one: for a normal
/// distribution, the fewer degrees of freedom included.
const TRIMMED_DEVIATION: f64 = 1.15;

/// Steps of the integral; even, as Simpson's rule wants it. 400 give seven digits for every number of runs.
const STEPS: u32 = 400;
/// The integral reaches this many standard deviations to both sides.
const REACH: f64 = 10.0;

/// How the runs of two arms belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// In blocks that have both: a paired t on as many differences as there are blocks.
    Paired,
    /// Each arm on its own: a t of two samples of the same size and spread.
    Unpaired,
}

impl Design {
    fn degrees(self, runs: u32) -> f64 {
        match self {
            Self::Paired => f64::from(runs) - 1.0,
            Self::Unpaired => 2.0 * f64::from(runs) - 2.0,
        }
    }

    /// Standard errors of the mean difference that make up one `deviation`.
    fn precision(self, runs: u32) -> f64 {
        match self {
            Self::Paired => f64::from(runs).sqrt(),
            Self::Unpaired => (f64::from(runs) / 2.0).sqrt(),
        }
    }
}

/// The chance that a two-sided t test at level `significance` finds a true difference of `effect` with `runs`
/// runs of each arm. `deviation` is the standard deviation of the differences (paired) or of each arm
/// (unpaired), in the unit of `effect`: logarithms for ratios. Zero with fewer than two runs, one without any
/// spread.
#[must_use]
pub fn power(design: Design, effect: f64, deviation: f64, runs: u32, significance: f64) -> f64 {
    if runs < 2 || effect == 0.0 {
        return 0.0;
    }
    if deviation <= 0.0 {
        return 1.0;
    }
    let degrees = design.degrees(runs);
    let critical = t_quantile(two_sided(1.0 - significance), degrees);
    let shift = effect.abs() / deviation * design.precision(runs);
    let normal = Normal::standard();
    // Given the estimated deviation (as a share s of the true one), the statistic is normal around the shift.
    let found = |s: f64| normal.cdf(shift - critical * s) + normal.cdf(-shift - critical * s);
    expect_over_deviation(degrees, found).clamp(0.0, 1.0)
}

/// The fewest runs of each arm with which [`power`] reaches `wanted`; none when more than [`RUNS_MAX`] would
/// be needed.
#[must_use]
pub fn runs_needed(
    design: Design,
    effect: f64,
    deviation: f64,
    significance: f64,
    wanted: f64,
) -> Option<u32> {
    let enough = |runs| power(design, effect, deviation, runs, significance) >= wanted;
    if effect == 0.0 {
        return None;
    }
    // What a normal distribution would need is a little too few; from there on in growing steps, and back by
    // halves, as power grows with the runs.
    let quantile = |probability| Normal::standard().inverse_cdf(probability);
    let both = quantile(two_sided(1.0 - significance)) + quantile(wanted);
    let arms = if design == Design::Paired { 1.0 } else { 2.0 };
    let normal = arms * (both * deviation / effect).powi(2);
    let mut too_few = (normal as u32).saturating_sub(1).max(1);
    let mut step = 2;
    let mut enough_at = too_few.saturating_add(step);
    while enough_at <= RUNS_MAX && !enough(enough_at) {
        too_few = enough_at;
        step *= 2;
        enough_at = too_few.saturating_add(step);
    }
    if enough_at > RUNS_MAX {
        return None;
    }
    while enough_at - too_few > 1 {
        let middle = too_few.midpoint(enough_at);
        if enough(middle) {
            enough_at = middle;
        } else {
            too_few = middle;
        }
    }
    Some(enough_at)
}

/// The mean of `function` over the estimated standard deviation as a share of the true one, which is
/// √(χ²/degrees).
fn expect_over_deviation(degrees: f64, function: impl Fn(f64) -> f64) -> f64 {
    let half = degrees / 2.0;
    let constant = 2.0_f64.ln() + half * half.ln() - ln_gamma(half);
    let density = |s: f64| match s {
        // The density at zero is that of half a normal with one degree of freedom, and nothing with more.
        0.0 if degrees > 1.0 => 0.0,
        0.0 => constant.exp(),
        _ => (constant + (degrees - 1.0) * s.ln() - half * s * s).exp(),
    };
    let reach = REACH / (2.0 * degrees).sqrt();
    let (from, to) = ((1.0 - reach).max(0.0), 1.0 + reach);
    let step = (to - from) / f64::from(STEPS);
    let sum: f64 = (0..=STEPS)
        .map(|index| {
            let s = from + step * f64::from(index);
            let weight = match index {
                0 | STEPS => 1.0,
                _ if index % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * density(s) * function(s)
        })
        .sum();
    sum * step / 3.0
}

/// As [`runs_needed`] of pairs, where `deviation` is that of the pairs' differences. From 24 pairs on the
/// wildest are left out of the mean, which costs something where none is wild.
#[must_use]
pub fn pairs_needed(effect: f64, deviation: f64, significance: f64, wanted: f64) -> Option<u32> {
    let needed = |deviation| runs_needed(Design::Paired, effect, deviation, significance, wanted);
    let few = needed(deviation)?;
    if (few as usize) < TRIMMED_FROM { Some(few) } else { needed(deviation * TRIMMED_DEVIATION) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_has_a_density_that_integrates_to_one() {
        for degrees in [1.0, 2.0, 4.0, 30.0, 1000.0, 20_000.0] {
            let whole = expect_over_deviation(degrees, |_| 1.0);
            assert!((whole - 1.0).abs() < 1e-6, "{degrees} degrees: {whole}");
        }
    }

    #[test]
    fn the_sample_sizes_of_published_power_tables_come_out() {
        // Cohen's tables (Statistical Power Analysis, 1988) as G*Power computes them: α = 5 %, two-sided.
        for (effect, wanted, runs) in [
            (0.2, 0.80, 199),
            (0.5, 0.80, 34),
            (0.8, 0.80, 15),
            (1.0, 0.80, 10),
            (0.2, 0.95, 327),
            (0.5, 0.95, 54),
            (0.8, 0.95, 23),
        ] {
            assert_eq!(runs_needed(Design::Paired, effect, 1.0, 0.05, wanted), Some(runs), "d = {effect}");
        }
        for (effect, wanted, runs) in
            [(0.2, 0.80, 394), (0.5, 0.80, 64), (0.8, 0.80, 26), (0.5, 0.95, 105), (0.8, 0.95, 42)]
        {
            assert_eq!(runs_needed(Design::Unpaired, effect, 1.0, 0.05, wanted), Some(runs), "d = {effect}");
        }
    }

    #[test]
    fn the_power_of_the_example_in_the_manual_of_r_comes_out() {
        // power.t.test(n = 20, delta = 1, sd = 1) prints power = 0.8689528, without the tail on the other
        // side.
        let power = power(Design::Unpaired, 1.0, 1.0, 20, 0.05);
        assert!((power - 0.868_952_8).abs() < 1e-6, "{power}");
        // power.t.test(power = .90, delta = 1) prints n = 22.02110.
        assert_eq!(runs_needed(Design::Unpaired, 1.0, 1.0, 0.05, 0.90), Some(23));
    }

    #[test]
    fn power_is_the_level_without_an_effect_and_certain_without_a_spread() {
        let at_the_level = power(Design::Paired, 1e-9, 1.0, 7, 0.05);
        assert!((at_the_level - 0.05).abs() < 1e-6, "{at_the_level}");
        assert_eq!(power(Design::Paired, 0.1, 0.0, 2, 0.05), 1.0);
        assert_eq!(power(Design::Paired, 0.1, 0.1, 1, 0.05), 0.0);
        assert_eq!(runs_needed(Design::Paired, 0.1, 0.0, 0.05, 0.95), Some(2));
        assert_eq!(runs_needed(Design::Paired, 0.0001, 1.0, 0.05, 0.95), None);
        assert_eq!(runs_needed(Design::Paired, 0.0, 1.0, 0.05, 0.95), None);
    }
}
