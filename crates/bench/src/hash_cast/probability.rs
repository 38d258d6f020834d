//! How flows fall into queues when each is hashed to one of them, all alike: exact probabilities, no
//! sampling.
//!
//! Owns pure functions. Flows that share a queue get equal parts of what it sends, and busy queues send at
//! the same rate; so the best served flow gets as many times as much as the worst served one as the fullest
//! queue holds flows for each flow of the emptiest busy queue.

/// The most queues that are counted with. Cards have up to a few hundred.
pub const QUEUES_MAX: u32 = 1024;

/// The most flows that are counted with.
pub const FLOWS_MAX: u32 = 256;

/// For each number of flows from 0 to `flows_max`: the probability that the best served flow gets at least
/// `ratio` times as much as the worst served one. With no flow it is 0.
///
/// # Panics
/// When `queues` is not from 1 to [`QUEUES_MAX`], `flows_max` is above [`FLOWS_MAX`] or `ratio` is 0.
#[must_use]
pub fn ratio_at_least(queues: u32, flows_max: u32, ratio: u32) -> Vec<f64> {
    assert!(ratio > 0, "every ratio is at least 0");
    let occupancies = Occupancies::new(queues, flows_max);
    // Cases by how many flows the emptiest busy queue holds: all busy queues hold at least so many and less
    // than `ratio` times as many, and not all of them hold more.
    let mut below = vec![0.0; flows_max as usize + 1];
    for least in 1..=flows_max {
        let most = ratio.saturating_mul(least) - 1;
        let at_least = occupancies.within(least, most);
        let above = occupancies.within(least + 1, most);
        for ((sum, all), more) in below.iter_mut().zip(at_least).zip(above) {
            *sum += all - more;
        }
    }
    let complement = |(flows, below): (usize, f64)| {
        let probability = 1.0 - below;
        // What is smaller is what rounding leaves of nothing.
        if flows == 0 || probability < 1e-13 { 0.0 } else { probability.min(1.0) }
    };
    below.into_iter().enumerate().map(complement).collect()
}

/// The probability that the fullest queue holds exactly `fullest` of `flows` flows.
///
/// # Panics
/// As [`ratio_at_least`], about `queues` and `flows`.
#[must_use]
pub fn fullest_holds(queues: u32, flows: u32, fullest: u32) -> f64 {
    let occupancies = Occupancies::new(queues, flows);
    let at_most = |most| occupancies.within(1, most)[flows as usize];
    match fullest {
        0 => f64::from(flows == 0),
        1 => at_most(1) - f64::from(flows == 0),
        _ => (at_most(fullest) - at_most(fullest - 1)).max(0.0),
    }
}

/// The probability that the queues, in some order, hold exactly these numbers of flows; empty queues count
/// too.
///
/// # Panics
/// As [`ratio_at_least`], about the number of queues and the sum of the flows.
#[must_use]
pub fn pattern(occupancies: &[u32]) -> f64 {
    let queues = u32::try_from(occupancies.len()).unwrap_or(u32::MAX);
    let flows = occupancies.iter().copied().fold(0, u32::saturating_add);
    check(queues, flows);
    let mut alike = std::collections::BTreeMap::new();
    for occupancy in occupancies {
        *alike.entry(occupancy).or_insert(0_u32) += 1;
    }
    // Ways to deal the flows out to queues in this order, times different orders of the queues, of all ways
    // there are. Logarithms: the counts themselves fit no number.
    let ways = ln_factorial(flows) - occupancies.iter().map(|flows| ln_factorial(*flows)).sum::<f64>();
    let orders = ln_factorial(queues) - alike.values().map(|count| ln_factorial(*count)).sum::<f64>();
    (ways + orders - f64::from(flows) * f64::from(queues).ln()).exp()
}

/// The exponential generating function of one queue, to the power of the number of queues, gives how many
/// ways there are to deal flows out. Its coefficients are scaled to probabilities: as if each queue were
/// dealt a Poisson number of flows, given their sum. All terms are positive, so that nothing is lost by
/// cancellation.
struct Occupancies {
    queues: u32,
    /// The probability of k flows in one queue, not yet given the sum.
    one: Vec<f64>,
    /// The probability of f flows in all queues.
    all: Vec<f64>,
}

impl Occupancies {
    fn new(queues: u32, flows_max: u32) -> Self {
        check(queues, flows_max);
        // Any mean gives the same results; this one keeps all numbers far from underflow.
        let mean = (f64::from(flows_max) / 2.0).max(1.0);
        Self { queues, one: poisson(mean / f64::from(queues), flows_max), all: poisson(mean, flows_max) }
    }

    /// For each number of flows: the probability that every queue is empty or holds from `least` to `most`.
    fn within(&self, least: u32, most: u32) -> Vec<f64> {
        let allowed = |flows: usize| flows == 0 || (least as usize..=most as usize).contains(&flows);
        let one: Vec<f64> =
            self.one.iter().enumerate().map(|(flows, p)| if allowed(flows) { *p } else { 0.0 }).collect();
        let together = power(one, self.queues);
        together.iter().zip(&self.all).map(|(some, all)| some / all).collect()
    }
}

fn check(queues: u32, flows: u32) {
    assert!((1..=QUEUES_MAX).contains(&queues), "{queues} queues are not from 1 to {QUEUES_MAX}");
    assert!(flows <= FLOWS_MAX, "{flows} flows are more than {FLOWS_MAX}");
}

fn poisson(mean: f64, most: u32) -> Vec<f64> {
    let mut term = (-mean).exp();
    let mut terms = vec![term];
    for count in 1..=most {
        term *= mean / f64::from(count);
        terms.push(term);
    }
    terms
}

fn ln_factorial(number: u32) -> f64 {
    (2..=number).map(|factor| f64::from(factor).ln()).sum()
}

/// The polynomial to a power, without the terms beyond its length.
fn power(mut base: Vec<f64>, mut exponent: u32) -> Vec<f64> {
    let mut product = vec![0.0; base.len()];
    product[0] = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            product = times(&product, &base);
        }
        exponent /= 2;
        if exponent > 0 {
            base = times(&base, &base);
        }
    }
    product
}

fn times(left: &[f64], right: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; left.len()];
    for (shift, factor) in left.iter().enumerate().filter(|(_, factor)| **factor > 0.0) {
        for (term, other) in product[shift..].iter_mut().zip(right) {
            *term += factor * other;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the ways in which `flows` flows fall into `queues` queues so that `wanted` holds, one by one.
    fn by_enumeration(queues: u32, flows: u32, wanted: impl Fn(&[u32]) -> bool) -> f64 {
        let ways = u64::from(queues).pow(flows);
        let good = (0..ways).filter(|way| {
            let mut occupancies = vec![0; queues as usize];
            let mut rest = *way;
            for _ in 0..flows {
                occupancies[(rest % u64::from(queues)) as usize] += 1;
                rest /= u64::from(queues);
            }
            wanted(&occupancies)
        });
        good.count() as f64 / ways as f64
    }

    fn is_at_least(occupancies: &[u32], ratio: u32) -> bool {
        let busy = || occupancies.iter().filter(|flows| **flows > 0);
        busy().max().unwrap_or(&0) >= &(busy().min().unwrap_or(&1) * ratio)
    }

    #[test]
    fn every_way_counted_one_by_one_gives_the_same() {
        for queues in 1..=5 {
            for flows in 1..=7 {
                for ratio in 1..=4 {
                    let counted = by_enumeration(queues, flows, |ways| is_at_least(ways, ratio));
                    let exact = ratio_at_least(queues, flows, ratio)[flows as usize];
                    assert!((exact - counted).abs() < 1e-12, "{queues} {flows} {ratio}: {exact} {counted}");
                }
                for fullest in 0..=flows {
                    let counted = by_enumeration(queues, flows, |ways| ways.iter().max() == Some(&fullest));
                    let exact = fullest_holds(queues, flows, fullest);
                    assert!((exact - counted).abs() < 1e-12, "{queues} {flows} {fullest}: {exact} {counted}");
                }
            }
        }
    }

    #[test]
    fn the_number_of_flows_that_a_table_ends_with_changes_nothing() {
        let long = ratio_at_least(8, 60, 3);
        for flows in [1, 7, 30] {
            let short = ratio_at_least(8, flows, 3)[flows as usize];
            assert!((long[flows as usize] - short).abs() < 1e-12);
        }
    }

    #[test]
    fn the_published_probabilities_for_eight_queues() {
        let at = |ratio: u32, flows: usize| (ratio_at_least(8, 60, ratio)[flows] * 100.0).round();
        assert_eq!([at(2, 6), at(2, 60)], [90.0, 93.0]);
        assert_eq!([at(5, 15), at(5, 18), at(5, 33), at(5, 53)], [23.0, 44.0, 42.0, 21.0]);
        // Six flows in eight queues can still be counted one by one.
        let counted = by_enumeration(8, 6, |ways| is_at_least(ways, 2));
        assert!((counted - 236_376.0 / 262_144.0).abs() < 1e-12, "{counted}");
        assert!((ratio_at_least(8, 6, 2)[6] - counted).abs() < 1e-12);
        // What the study reads from its figure.
        assert!((6..=60).all(|flows| ratio_at_least(8, 60, 2)[flows] > 0.9));
        assert!((15..=53).all(|flows| ratio_at_least(8, 60, 5)[flows] > 0.2));
        assert!((18..=33).all(|flows| ratio_at_least(8, 60, 5)[flows] > 0.4));
    }

    #[test]
    fn five_flows_in_six_queues() {
        let exactly = pattern(&[0, 0, 1, 1, 1, 2]);
        assert!((exactly - 3600.0 / 7776.0).abs() < 1e-12, "{exactly}");
        assert_eq!((exactly * 1000.0).round(), 463.0);
        let counted = by_enumeration(6, 5, |ways| {
            let mut ways = ways.to_vec();
            ways.sort_unstable();
            ways == [0, 0, 1, 1, 1, 2]
        });
        assert!((exactly - counted).abs() < 1e-12);
        assert_eq!((fullest_holds(6, 5, 2) * 1000.0).round(), 694.0);
    }

    #[test]
    fn no_flow_has_no_ratio_and_one_flow_or_one_queue_has_the_ratio_one() {
        assert_eq!(ratio_at_least(8, 0, 1), [0.0]);
        for (queues, flows) in [(8, 1), (1, 40)] {
            let exactly = |ratio| ratio_at_least(queues, flows, ratio)[flows as usize];
            assert!((exactly(1) - 1.0).abs() < 1e-12);
            assert!(exactly(2) < 1e-12);
        }
        assert_eq!((fullest_holds(3, 0, 0), fullest_holds(3, 0, 1), fullest_holds(3, 4, 0)), (1.0, 0.0, 0.0));
    }

    #[test]
    fn large_tables_stay_probabilities_and_grow_with_the_queues() {
        let mut last = 0.0;
        for queues in [2, 16, 128, QUEUES_MAX] {
            let table = ratio_at_least(queues, 64, 2);
            assert!(table.iter().all(|p| (0.0..=1.0).contains(p)));
            let none_shares = (0..16).map(|flow| 1.0 - f64::from(flow) / f64::from(queues)).product::<f64>();
            let shares = 1.0 - fullest_holds(queues, 16, 1);
            assert!((1.0 - none_shares.max(0.0) - shares).abs() < 1e-12, "{queues}");
            last = table[64].max(last);
        }
        assert!(last > 0.9);
        let whole: f64 = (0..=FLOWS_MAX).map(|fullest| fullest_holds(16, FLOWS_MAX, fullest)).sum();
        assert!((whole - 1.0).abs() < 1e-9, "{whole}");
    }
}
