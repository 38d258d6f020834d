//! Tables and worked examples that others have published, against what is computed here.

use super::near;
use super::sample::{t_above, t_quantile};
use super::*;

/// Percentage points of Student's t: degrees, then the upper 10 %, 5 %, 2.5 %, 1 % and 0.5 % points
/// (NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2).
const STUDENT: [(f64, [f64; 5]); 16] = [
    (1.0, [3.078, 6.314, 12.706, 31.821, 63.657]),
    (2.0, [1.886, 2.920, 4.303, 6.965, 9.925]),
    (3.0, [1.638, 2.353, 3.182, 4.541, 5.841]),
    (4.0, [1.533, 2.132, 2.776, 3.747, 4.604]),
    (5.0, [1.476, 2.015, 2.571, 3.365, 4.032]),
    (6.0, [1.440, 1.943, 2.447, 3.143, 3.707]),
    (7.0, [1.415, 1.895, 2.365, 2.998, 3.499]),
    (8.0, [1.397, 1.860, 2.306, 2.896, 3.355]),
    (9.0, [1.383, 1.833, 2.262, 2.821, 3.250]),
    (10.0, [1.372, 1.812, 2.228, 2.764, 3.169]),
    (15.0, [1.341, 1.753, 2.131, 2.602, 2.947]),
    (20.0, [1.325, 1.725, 2.086, 2.528, 2.845]),
    (30.0, [1.310, 1.697, 2.042, 2.457, 2.750]),
    (40.0, [1.303, 1.684, 2.021, 2.423, 2.704]),
    (60.0, [1.296, 1.671, 2.000, 2.390, 2.660]),
    (100.0, [1.290, 1.660, 1.984, 2.364, 2.626]),
];
const TAILS: [f64; 5] = [0.10, 0.05, 0.025, 0.01, 0.005];

#[test]
fn quantiles_and_tails_agree_with_the_table_of_student() {
    for (degrees, points) in STUDENT {
        for (tail, point) in TAILS.into_iter().zip(points) {
            near(t_quantile(1.0 - tail, degrees), point, 0.000_501);
            // The printed point is rounded to three decimals, which moves the tail by less than this.
            near(t_above(point, degrees), tail, 0.0002);
        }
    }
}

/// Hours of sleep gained by ten patients under two drugs: the example of Student, "The probable error of a
/// mean", Biometrika 6 (1908), and of the manual of R (`sleep`).
const FIRST: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
const SECOND: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

fn sleep_pairs() -> Vec<(f64, f64)> {
    FIRST.iter().zip(SECOND).map(|(first, second)| (first.exp(), second.exp())).collect()
}

#[test]
fn the_paired_t_of_students_sleep_data_comes_out() {
    // t = 4.0621, df = 9, p = 0.002833, mean 1.58, interval 0.7001142 to 2.4598858.
    let ratio = paired_ratio(&sleep_pairs()).unwrap();
    near(ratio.mean_log, 1.58, 1e-9);
    near(ratio.mean_log / ratio.standard_error.unwrap(), 4.0621, 0.000_05);
    near(ratio.p_different(), 0.002_833, 5e-7);
    let interval = ratio.interval().unwrap();
    near(interval.low.ln(), 0.700_114_2, 1e-7);
    near(interval.high.ln(), 2.459_885_8, 1e-7);
}

#[test]
fn welchs_t_of_students_sleep_data_comes_out() {
    // t = 1.8608, df = 17.776, p = 0.07939, interval −0.2054832 to 3.3654832.
    let ratio = welch_ratio(&FIRST.map(f64::exp), &SECOND.map(f64::exp)).unwrap();
    near(ratio.mean_log / ratio.standard_error.unwrap(), 1.8608, 0.000_05);
    near(ratio.degrees, 17.776, 0.0005);
    near(ratio.p_different(), 0.079_39, 5e-6);
    let interval = ratio.interval().unwrap();
    near(interval.low.ln(), -0.205_483_2, 1e-7);
    near(interval.high.ln(), 3.365_483_2, 1e-7);
}

#[test]
fn two_one_sided_tests_are_the_interval_of_90_percent_within_the_margin() {
    // Schuirmann (1987): equivalence at 5 % is the same as the 90 % interval inside the margins. The sleep
    // data's is 1.58 ± 1.833113 × 0.3889587, that is 0.866995 to 2.293005; its larger end is where p is 5 %.
    let ratio = paired_ratio(&sleep_pairs()).unwrap();
    let end = 1.58 + 1.833_113 * 0.388_958_7;
    let margin = |log: f64| log.exp_m1();
    near(ratio.p_same(margin(end)), 0.05, 1e-5);
    assert!(ratio.p_same(margin(end + 0.01)) < 0.05 && ratio.p_same(margin(end - 0.01)) > 0.05);
    // With the margin at the mean itself half of the distribution is beyond it.
    near(ratio.p_same(margin(1.58)), 0.5, 1e-9);
}

#[test]
fn holms_correction_is_the_largest_product_so_far() {
    // Holm (1979) rejects in the order of size as long as p ≤ α ÷ (members not yet rejected). By hand for
    // five: the products are 0.005, 0.044, 0.036, 0.08 and 0.05; none is below the one before.
    let adjusted = holm(&[0.001, 0.011, 0.012, 0.04, 0.05], 0.05);
    for (found, expected) in adjusted.iter().zip([0.005, 0.044, 0.044, 0.08, 0.08]) {
        near(found.p, expected, 1e-12);
    }
}
