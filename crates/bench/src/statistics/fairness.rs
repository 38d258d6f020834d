//! How evenly clients shared what they were given.

/// Jain's fairness index of the clients' shares: 1 when all are equal, 1/n when one has everything.
///
/// Nothing to share (no client, or all zero) is even: 1. None when a share is negative or not finite.
#[must_use]
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let largest = checked_largest(shares)?;
    if largest == 0.0 {
        return Some(1.0);
    }
    // Scaled by the largest share, so that squares cannot overflow.
    let sum: f64 = shares.iter().map(|share| share / largest).sum();
    let squares: f64 = shares.iter().map(|share| (share / largest).powi(2)).sum();
    // Rounding may lift an even share above 1, which no index is.
    Some((sum * sum / (shares.len() as f64 * squares)).min(1.0))
}

/// Largest ÷ smallest share: 1 when all are equal. None when the smallest is zero (a starved client has no
/// finite ratio), negative or not finite, or when there is no share.
#[must_use]
pub fn max_min_ratio(shares: &[f64]) -> Option<f64> {
    let largest = checked_largest(shares)?;
    let smallest = shares.iter().copied().fold(f64::INFINITY, f64::min);
    (smallest > 0.0 && !shares.is_empty()).then(|| largest / smallest)
}

fn checked_largest(shares: &[f64]) -> Option<f64> {
    let sound = shares.iter().all(|share| share.is_finite() && *share >= 0.0);
    sound.then(|| shares.iter().copied().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_have_index_one_and_a_monopoly_one_over_n() {
        assert_eq!(jain_index(&[5.0; 4]), Some(1.0));
        assert_eq!(jain_index(&[9.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1+2+3)² / (3 × 14) = 36/42.
        assert!((jain_index(&[1.0, 2.0, 3.0]).unwrap() - 36.0 / 42.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_to_share_is_even_and_nonsense_has_no_index() {
        assert_eq!(jain_index(&[]), Some(1.0));
        assert_eq!(jain_index(&[0.0, 0.0]), Some(1.0));
        assert_eq!(jain_index(&[f64::MAX, f64::MAX]), Some(1.0));
        assert_eq!(jain_index(&[1.0, -1.0]), None);
        assert_eq!(jain_index(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn a_starved_client_has_no_finite_ratio() {
        assert_eq!(max_min_ratio(&[2.0, 6.0, 3.0]), Some(3.0));
        assert_eq!(max_min_ratio(&[2.0, 0.0]), None);
        assert_eq!(max_min_ratio(&[]), None);
    }
}
