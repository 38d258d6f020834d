//! Which setting of client or server changed most, from cells that differ in nothing else.

use std::collections::BTreeMap;

use crate::results::{Cell, Setting, version_name};
use crate::statistics::{Better, welch_ratio};
use crate::text::{delay, times};

/// Factors that a user sets, where all others are the workload's own.
const SET_BY_USERS: [&str; 1] = ["way"];
/// A change by less is not worth a sentence.
const RATIO_MIN: f64 = 1.1;
/// Settings that are named.
const NAMED_MAX: usize = 3;

/// One sentence for each setting that changed something, the most effective first, each with the case in
/// which it did most.
pub(super) fn levers<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<String> {
    let cells: Vec<&Cell> = cells.collect();
    let mut largest: BTreeMap<String, (f64, String)> = BTreeMap::new();
    for (index, one) in cells.iter().enumerate() {
        for other in &cells[index + 1..] {
            let Some(lever) = difference(&one.setting, &other.setting) else { continue };
            let Some((log, sentence)) = effect(one, other, &lever) else { continue };
            let known = largest.entry(format!("{} {}", one.setting.version, lever.name)).or_default();
            if log > known.0 {
                *known = (log, sentence);
            }
        }
    }
    let mut found: Vec<(f64, String)> = largest.into_values().collect();
    found.sort_by(|left, right| right.0.total_cmp(&left.0));
    found.into_iter().take(NAMED_MAX).map(|(_, sentence)| sentence).collect()
}

/// What tells two settings apart.
struct Lever {
    name: String,
    /// As of the first and of the second.
    levels: [String; 2],
}

/// The one thing that a user could set in which they differ.
fn difference(one: &Setting, other: &Setting) -> Option<Lever> {
    if one.version != other.version || one.arm != other.arm {
        return None;
    }
    if one.delegations != other.delegations {
        let alike = Setting { delegations: other.delegations, ..one.clone() } == *other;
        let word = |delegations: bool| if delegations { "with them" } else { "without them" }.to_owned();
        return alike.then(|| Lever {
            name: "delegations".into(),
            levels: [word(one.delegations), word(other.delegations)],
        });
    }
    let factor =
        SET_BY_USERS.into_iter().find(|factor| one.levels.get(*factor) != other.levels.get(*factor))?;
    let (left, right) = (one.levels.get(factor)?, other.levels.get(factor)?);
    let mut alike = one.clone();
    alike.levels.insert(factor.to_owned(), right.clone());
    (alike == *other).then(|| Lever { name: factor.to_owned(), levels: [left.clone(), right.clone()] })
}

/// How much it changed, on the scale of logarithms, and a sentence; none when chance could have done it.
fn effect(one: &Cell, other: &Cell, lever: &Lever) -> Option<(f64, String)> {
    let ratio = welch_ratio(&one.runs, &other.runs)?;
    let [low, high] = ratio.finite_interval()?;
    if low <= 1.0 && 1.0 <= high {
        return None;
    }
    let better = match one.setting.metric.better {
        Better::Higher => ratio.ratio() > 1.0,
        Better::Lower => ratio.ratio() < 1.0,
    };
    let factor = ratio.ratio().max(1.0 / ratio.ratio());
    if factor < RATIO_MIN {
        return None;
    }
    let [first, second] = &lever.levels;
    let (winner, loser) = if better { (second, first) } else { (first, second) };
    let text = format!(
        "{}: {} mattered most in {} at {}: {winner} {}× as good as {loser}.",
        version_name(&one.setting.version, true),
        lever.name,
        one.setting.name(),
        delay(one.setting.rtt_ms),
        times(factor),
    );
    Some((factor.ln(), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn cell(delegations: bool, way: &str, runs: [f64; 3]) -> Cell {
        let mut cell = samples::results().cells.remove(0);
        cell.setting = Setting { delegations, ..samples::setting("4.1", 10.0) };
        cell.setting.levels.insert("way".into(), way.into());
        cell.runs = runs.to_vec();
        cell
    }

    #[test]
    fn the_largest_effect_of_each_setting_is_told() {
        let cells = [
            cell(true, "calls", [100.0, 101.0, 102.0]),
            cell(false, "calls", [10.0, 10.1, 10.2]),
            cell(true, "batch", [350.0, 353.5, 357.0]),
        ];
        let found = levers(cells.iter());
        let name = cells[0].setting.experiment.clone();
        assert_eq!(
            found,
            [
                format!(
                    "v4.1: delegations mattered most in {name} · way calls at 10 ms: with them 10.0× as good \
                     as without them."
                ),
                format!(
                    "v4.1: way mattered most in {name} · way calls at 10 ms: batch 3.500× as good as calls."
                ),
            ]
        );
    }

    #[test]
    fn change_within_chance_is_not_reported() {
        let cells = [cell(true, "calls", [100.0, 140.0, 60.0]), cell(false, "calls", [90.0, 50.0, 110.0])];
        assert_eq!(levers(cells.iter()), [] as [String; 0]);
        let small = [cell(true, "calls", [100.0, 100.1, 99.9]), cell(false, "calls", [97.0, 97.1, 96.9])];
        assert_eq!(levers(small.iter()), [] as [String; 0], "less than a tenth");
        let two = [cell(true, "calls", [100.0, 101.0, 102.0]), cell(false, "batch", [10.0, 10.1, 10.2])];
        assert_eq!(levers(two.iter()), [] as [String; 0], "two things differ");
    }
}
