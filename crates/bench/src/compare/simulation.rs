//! The whole chain of decisions on runs that are made up, so that the truth is known: how often it tells a
//! difference where there is none, and how often it misses one that there is.
//!
//! A made-up run is as unruly as a real one: a block has an effect of its own, values drift over the blocks,
//! noise depends on the noise of the run before, and the order within a block is the runner's. All seeds are
//! fixed, so that a test passes always or never; the bounds are what chance leaves to a chain that keeps its
//! promise.

use super::comparisons;
use super::forecast::look_of;
use crate::order;
use crate::results::{Cell, Comparison, Run};
use crate::samples;
use crate::seeded::Seeded;
use crate::statistics::{
    Better, Decision, Look, LookResult, Member, Outcome, PLANNED_DIFFERENCE, PLANNED_POWER, SAME_MARGIN,
    SIGNIFICANCE, decide, detection, paired_ratio, pairs_needed, sequence,
};

/// Coefficients of variation of a run from a quiet machine to a shared one.
const CVS: [f64; 5] = [0.01, 0.02, 0.05, 0.10, 0.20];
/// Comparisons of one benchmark: eight experiments at three delays.
const FAMILY: usize = 24;
const TRIALS: u64 = 200;
/// The share of a run's noise that the next run has too.
const CARRIED: f64 = 0.4;
/// What the last block has gained on the first.
const DRIFT: f64 = 0.10;

/// How runs are made up.
#[derive(Clone, Copy)]
struct Model {
    blocks: u32,
    cv: f64,
    /// Candidate ÷ baseline in truth.
    ratio: f64,
}

/// Numbers of the normal distribution with mean 0 and deviation 1.
struct Normals(Seeded);

impl Normals {
    fn next(&mut self) -> f64 {
        // Box and Muller; the first number is never zero.
        let uniform = |word: u64| ((word >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        let (left, right) = (uniform(self.0.next()), uniform(self.0.next()));
        (-2.0 * left.ln()).sqrt() * (std::f64::consts::TAU * right).cos()
    }
}

/// Both cells of one setting.
fn cells(model: Model, seed: u64, setting: u64) -> [Cell; 2] {
    let mut normals = Normals(Seeded::new(seed, setting));
    let mut runs = [Vec::new(), Vec::new()];
    let deviation = (1.0 + model.cv * model.cv).ln().sqrt();
    let mut noise = normals.next();
    for block in 0..model.blocks {
        let of_block = 2.0 * deviation * normals.next();
        let drift = DRIFT * f64::from(block) / f64::from(model.blocks);
        for arm in order::of_block(seed, setting, block, 2) {
            noise = CARRIED * noise + (1.0 - CARRIED * CARRIED).sqrt() * normals.next();
            let effect = if arm == 1 { model.ratio.ln() } else { 0.0 };
            let value = 1000.0 * (of_block + drift + deviation * noise + effect).exp();
            runs[arm].push(Run { block, value, operations: 1000, seconds: 1.0, ..Run::default() });
        }
    }
    let [baseline, candidate] = runs;
    let cell = |version, runs| Cell::from_runs(samples::setting(version, setting as f64), runs).unwrap();
    [cell("3", baseline), cell("4.1", candidate)]
}

/// A benchmark of `members` settings, whose coefficients of variation are those of [`CVS`] in turn.
fn benchmark(model: Model, seed: u64, members: usize) -> Vec<Comparison> {
    let cells: Vec<Cell> = (0..members)
        .flat_map(|setting| {
            let cv = CVS[setting % CVS.len()];
            cells(Model { cv, ..model }, seed, setting as u64)
        })
        .collect();
    comparisons(&cells, SAME_MARGIN)
}

fn is_different(comparison: &&Comparison) -> bool {
    matches!(comparison.verdict, Outcome::Faster | Outcome::Slower)
}

/// The largest count that `trials` with the chance `p` exceed less than once in a thousand times: the mean
/// and 3.1 standard deviations of the binomial distribution.
fn bound(trials: u64, p: f64) -> u64 {
    let mean = trials as f64 * p;
    (mean + 3.1 * (mean * (1.0 - p)).sqrt()).ceil() as u64
}

#[test]
fn the_same_version_twice_differs_in_no_more_than_5_percent_of_families() {
    for blocks in [3, 5, 10] {
        let model = Model { blocks, cv: 0.0, ratio: 1.0 };
        let false_alarms = (0..TRIALS)
            .filter(|seed| benchmark(model, *seed, FAMILY).iter().any(|one| is_different(&one)))
            .count() as u64;
        // 200 families, 5 % each: 10 are expected, and 20 are the bound.
        let bound = bound(TRIALS, SIGNIFICANCE);
        assert!(
            false_alarms <= bound,
            "{false_alarms} of {TRIALS} families with {blocks} blocks, bound {bound}"
        );
    }
}

#[test]
fn the_same_version_twice_differs_in_5_percent_of_single_comparisons() {
    for blocks in [3, 5, 10] {
        let (mut alarms, mut below, mut total) = (0, 0, 0);
        for (seed, cv) in (0..TRIALS).flat_map(|seed| CVS.map(|cv| (seed, cv))) {
            let model = Model { blocks, cv, ratio: 1.0 };
            let found = comparisons(&cells(model, seed, (cv * 1000.0) as u64), SAME_MARGIN);
            total += 1;
            alarms += found.iter().filter(is_different).count() as u64;
            below += u64::from(found[0].p_different < SIGNIFICANCE);
        }
        // 1,000 comparisons: 50 are expected, 72 are the bound, and fewer than 28 would be a test that is too
        // shy.
        let bound = bound(total, SIGNIFICANCE);
        assert!(
            alarms <= bound && below <= bound,
            "{alarms}, {below} of {total} with {blocks} blocks, bound {bound}"
        );
        let least = 2 * (total as f64 * SIGNIFICANCE) as u64 - bound;
        assert!(below >= least, "{below} of {total} with {blocks} blocks: the test finds too little");
    }
}

/// Of 100 seeded benchmarks, those in which the first of `members` comparisons finds the planted slowdown of
/// 5 % as slower; the other members are the same version twice.
fn found(cv: f64, members: usize) -> (u32, usize) {
    // Two runs of a block have `CARRIED` of their noise in common, so their difference varies by this.
    let deviation = (1.0 + cv * cv).ln().sqrt() * (2.0 * (1.0 - CARRIED)).sqrt();
    let effect = -0.95_f64.ln();
    let significance = SIGNIFICANCE / members as f64;
    let blocks = pairs_needed(effect, deviation, significance, PLANNED_POWER).unwrap();
    let hits = (0..100).filter(|seed| {
        let mut all = cells(Model { blocks, cv, ratio: 0.95 }, *seed, 0).to_vec();
        for setting in 1..members {
            all.extend(cells(Model { blocks, cv, ratio: 1.0 }, *seed, setting as u64));
        }
        comparisons(&all, SAME_MARGIN)[0].verdict == Outcome::Slower
    });
    (blocks, hits.count())
}

#[test]
fn a_slowdown_of_5_percent_is_found_with_the_planned_runs() {
    for (cv, members) in [(0.02, 1), (0.05, 1), (0.10, 1), (0.02, FAMILY), (0.05, FAMILY)] {
        let (blocks, hits) = found(cv, members);
        assert!(hits >= 95, "found {hits} of 100 at a CV of {cv} with {blocks} blocks among {members}");
    }
}

#[test]
fn far_fewer_runs_than_planned_find_it_less_often() {
    let hits = (0..100)
        .filter(|seed| {
            let cells = cells(Model { blocks: 5, cv: 0.10, ratio: 0.95 }, *seed, 0);
            comparisons(&cells, SAME_MARGIN)[0].verdict == Outcome::Slower
        })
        .count();
    assert!(hits < 50, "{hits} of 100 with five blocks at a CV of 10 %: the simulation is too kind");
}

/// The pairs of one setting, block after block, with what a shared machine does: one pair in twenty is wild.
fn wild_pairs(cv: f64, ratio: f64, blocks: u32, seed: u64, setting: u64) -> Vec<(f64, f64)> {
    let mut normals = Normals(Seeded::new(seed, setting));
    let deviation = (1.0 + cv * cv).ln().sqrt();
    let run = |normals: &mut Normals| {
        let is_wild = normals.0.next().is_multiple_of(20);
        let deviation = if is_wild { 8.0 * deviation } else { deviation };
        deviation * normals.next()
    };
    (0..blocks)
        .map(|_| {
            let of_block = 2.0 * deviation * normals.next();
            let [baseline, candidate] =
                [0.0, ratio.ln()].map(|effect| (of_block + effect + run(&mut normals)).exp());
            (baseline, candidate)
        })
        .collect()
}

/// Looks at a family again and again, as the benchmark does: each member until it is decided, or until the
/// looks are at an end. Gives its decisions and how many blocks each took.
fn looked_at(family: &[Vec<(f64, f64)>]) -> Vec<(Decision, u32)> {
    looked_at_until(family, &vec![u32::MAX; family.len()], &sequence(), SAME_MARGIN)
}

/// The same with other looks and another margin; a member gets no look beyond `most` of its blocks.
fn looked_at_until(
    family: &[Vec<(f64, f64)>],
    most: &[u32],
    looks: &[Look],
    margin: f64,
) -> Vec<(Decision, u32)> {
    let mut made = vec![1; family.len()];
    loop {
        let members: Vec<Member> = family
            .iter()
            .zip(&made)
            .map(|(pairs, made)| {
                let seen = looks[..*made].iter().filter_map(|look| {
                    let ratio = paired_ratio(&pairs[..look.blocks as usize])?;
                    Some(LookResult { ratio, share: look.share })
                });
                Member { seen: seen.collect(), better: Better::Higher }
            })
            .collect();
        let decisions = decide(&members, margin);
        let open = decisions.iter().zip(&mut made).zip(most).filter(|((decision, made), most)| {
            let next = looks.get(**made).is_some_and(|look| look.blocks <= **most);
            decision.outcome == Outcome::Unclear && next
        });
        if open.map(|((_, made), _)| *made += 1).count() == 0 {
            return decisions
                .into_iter()
                .zip(made)
                .map(|(one, made)| (one, looks[made - 1].blocks))
                .collect();
        }
    }
}

fn wild_family(ratio: f64, seed: u64) -> Vec<Vec<(f64, f64)>> {
    (0..FAMILY as u64)
        .map(|setting| wild_pairs(CVS[setting as usize % CVS.len()], ratio, 192, seed, setting))
        .collect()
}

#[test]
fn looking_again_and_again_makes_no_more_false_claims() {
    let claims = |ratio: f64, is_false: fn(Outcome) -> bool| {
        let is_wrong = |seed: &u64| {
            looked_at(&wild_family(ratio, *seed)).iter().any(|(decision, _)| is_false(decision.outcome))
        };
        (0..TRIALS).filter(is_wrong).count() as u64
    };
    let bound = bound(TRIALS, SIGNIFICANCE);
    let different = claims(1.0, |outcome| matches!(outcome, Outcome::Faster | Outcome::Slower));
    assert!(different <= bound, "{different} of {TRIALS} families of equal versions, bound {bound}");
    // Just beyond the margin: nothing may be called the same.
    let same = claims(1.0301, |outcome| outcome == Outcome::Same);
    assert!(same <= bound, "{same} of {TRIALS} families of versions that differ by 3 %, bound {bound}");
}

/// Searches for a difference of 5 % as `bench detect` does: as many blocks as the first look plans for each
/// member, and once more as many where that decided nothing.
fn searched(family: &[Vec<(f64, f64)>]) -> Vec<Outcome> {
    let looks = detection();
    let level = SIGNIFICANCE / family.len() as f64;
    let planned = |pairs: &Vec<(f64, f64)>| {
        let first = paired_ratio(&pairs[..looks[0].blocks as usize]).unwrap();
        let deviation = first.deviation().unwrap();
        look_of(&looks, PLANNED_DIFFERENCE, deviation, level).map_or(u32::MAX, |blocks| 2 * blocks)
    };
    let most: Vec<u32> = family.iter().map(planned).collect();
    let found = looked_at_until(family, &most, &looks, PLANNED_DIFFERENCE);
    found.into_iter().map(|(decision, _)| decision.outcome).collect()
}

#[test]
fn search_finds_a_planted_loss_of_5_percent_in_95_of_100() {
    for (cv, members) in [(0.02, 1), (0.05, 1), (0.10, 1), (0.05, FAMILY as u64)] {
        let family = |seed: u64| {
            let ratio = |setting: u64| if setting == 0 { 0.95 } else { 1.0 };
            let of = |setting: u64| wild_pairs(cv, ratio(setting), 768, seed, setting);
            (0..members).map(of).collect::<Vec<_>>()
        };
        let hits = (0..100).filter(|seed| searched(&family(*seed))[0] == Outcome::Slower).count();
        assert!(hits >= 95, "{hits} of 100 at a CV of {cv} among {members}");
    }
}

#[test]
fn search_among_equal_arms_raises_no_more_alarms_than_promised() {
    let (mut single, mut families) = (0, 0);
    for seed in 0..TRIALS {
        let family: Vec<_> = (0..FAMILY as u64)
            .map(|setting| wild_pairs(CVS[setting as usize % CVS.len()], 1.0, 768, seed, setting))
            .collect();
        let is_alarm = |outcome: &Outcome| matches!(outcome, Outcome::Faster | Outcome::Slower);
        families += u64::from(searched(&family).iter().any(is_alarm));
        single +=
            family.iter().take(5).filter(|pairs| is_alarm(&searched(&[(*pairs).clone()])[0])).count() as u64;
    }
    // 200 families and 1,000 comparisons by themselves, 5 % each.
    let bounds = [bound(TRIALS, SIGNIFICANCE), bound(5 * TRIALS, SIGNIFICANCE)];
    assert!(families <= bounds[0] && single <= bounds[1], "{families} families, {single} alone: {bounds:?}");
}

#[test]
fn looks_decide_large_differences_with_few_blocks_and_sameness_with_more() {
    let mut blocks = [0_u64; 2];
    for seed in 0..20 {
        for (ratio, blocks) in [1.5, 1.0].iter().zip(&mut blocks) {
            let family: Vec<_> =
                (0..FAMILY as u64).map(|setting| wild_pairs(0.03, *ratio, 192, seed, setting)).collect();
            for (decision, taken) in looked_at(&family) {
                let expected = if *ratio > 1.0 { Outcome::Faster } else { Outcome::Same };
                assert_eq!(decision.outcome, expected, "with {taken} blocks");
                *blocks += u64::from(taken);
            }
        }
    }
    let [large, same] = blocks.map(|blocks| blocks as f64 / 20.0 / FAMILY as f64);
    assert!(large < 13.0 && same > large && same < 100.0, "{large} and {same} blocks in the mean");
}
