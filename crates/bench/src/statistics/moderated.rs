//! Variances of many settings that were each seen a few times, made better by each other.
//!
//! Three repeats tell little of the spread of one setting, but fifty settings with three repeats each tell
//! what spreads there are. Each variance is drawn towards what is usual, by as much as the variances agree
//! (the empirical Bayes estimate of Smyth, Statistical Applications in Genetics and Molecular Biology 3(1),
//! 2004, section 6).

use statrs::function::gamma::digamma;

/// Degrees of freedom that stand for a variance that is the same everywhere.
const DEGREES_MAX: f64 = 1e6;
/// With fewer settings nothing is said about what is usual.
const SETTINGS_MIN: usize = 6;

/// A variance and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The variance.
    pub variance: f64,
    /// The degrees of freedom of a t that uses it.
    pub degrees: f64,
}

/// The variances of settings that were all seen equally often, each with `degrees` of its own (one less than
/// it was seen). Those that are zero stay as they are, and so do all where there are fewer than six others.
#[must_use]
pub fn moderated(variances: &[f64], degrees: f64) -> Vec<Spread> {
    let own = |variance: f64| Spread { variance, degrees };
    let is_known = |variance: &f64| *variance > 0.0 && variance.is_finite();
    let known: Vec<f64> = variances.iter().copied().filter(is_known).collect();
    if known.len() < SETTINGS_MIN || degrees < 1.0 {
        return variances.iter().map(|variance| own(*variance)).collect();
    }
    let usual = usual(&known, degrees);
    let all = usual.degrees + degrees;
    let moderate = |variance: &f64| {
        if !is_known(variance) {
            return own(*variance);
        }
        let sum = usual.degrees * usual.variance + degrees * variance;
        Spread { variance: sum / all, degrees: all.min(DEGREES_MAX) }
    };
    variances.iter().map(moderate).collect()
}

/// The variance that is usual, with the degrees of freedom that it is worth.
fn usual(variances: &[f64], degrees: f64) -> Spread {
    let half = degrees / 2.0;
    let centred: Vec<f64> =
        variances.iter().map(|variance| variance.ln() - digamma(half) + half.ln()).collect();
    let count = centred.len() as f64;
    let mean = centred.iter().sum::<f64>() / count;
    let squares: f64 = centred.iter().map(|value| (value - mean).powi(2)).sum();
    let excess = squares / (count - 1.0) - trigamma(half);
    if excess <= trigamma(DEGREES_MAX / 2.0) {
        // They differ by no more than chance makes them.
        return Spread { variance: mean.exp(), degrees: DEGREES_MAX };
    }
    let half = trigamma_inverse(excess);
    Spread { variance: (mean + digamma(half) - half.ln()).exp(), degrees: 2.0 * half }
}

/// The second derivative of the logarithm of the gamma function, of a positive number.
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum += x.powi(-2);
        x += 1.0;
    }
    // Its asymptotic series (Abramowitz and Stegun, 6.4.12).
    let square = x.powi(-2);
    sum + 1.0 / x
        + square / 2.0
        + square / x * (1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0)))
}

/// The number whose [`trigamma`] is `value`, which falls from infinity to zero.
fn trigamma_inverse(value: f64) -> f64 {
    let (mut low, mut high) = (1e-8, DEGREES_MAX);
    for _ in 0..100 {
        let middle = f64::sqrt(low * high);
        if trigamma(middle) > value { low = middle } else { high = middle }
    }
    f64::sqrt(low * high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::near;

    #[test]
    fn trigamma_has_its_known_values_and_an_inverse() {
        near(trigamma(1.0), std::f64::consts::PI.powi(2) / 6.0, 1e-12);
        near(trigamma(0.5), std::f64::consts::PI.powi(2) / 2.0, 1e-12);
        for x in [0.3, 1.0, 4.5, 60.0] {
            near(trigamma_inverse(trigamma(x)), x, 1e-6 * x);
        }
    }

    #[test]
    fn variances_are_drawn_together_and_gain_degrees() {
        let variances = [1.0, 1.3, 0.8, 0.05, 2.5, 1.1, 0.9, 1.6];
        let found = moderated(&variances, 2.0);
        assert!(found.iter().all(|spread| spread.degrees > 2.0), "{found:?}");
        assert!(found[3].variance > 0.05 && found[4].variance < 2.5, "{found:?}");
        // Where they differ by more than chance makes them, each keeps something of its own.
        let found = moderated(&[1.0, 100.0, 0.01, 1.2, 30.0, 0.03, 0.9, 5.0], 4.0);
        assert!(found.iter().all(|spread| (4.0..12.0).contains(&spread.degrees)), "{found:?}");
        assert!(found[1].variance > 20.0 && found[2].variance < 0.2, "{found:?}");
    }

    #[test]
    fn few_settings_and_settings_without_spread_stay_as_they_are() {
        assert_eq!(moderated(&[1.0, 2.0], 3.0), [1.0, 2.0].map(|variance| Spread { variance, degrees: 3.0 }));
        let found = moderated(&[0.0, 1.0, 1.0, 1.1, 0.9, 1.2, 0.8], 2.0);
        assert_eq!(found[0], Spread { variance: 0.0, degrees: 2.0 });
    }
}
