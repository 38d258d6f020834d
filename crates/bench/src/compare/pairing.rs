//! Which cells of a document are compared with each other.

use crate::results::{Cell, Setting};

/// Returns every comparison of `cells`, the baseline first.
///
/// Where arms have names, each cell meets the cell of every arm in [`Cell::against`] that has the same
/// setting otherwise, or that of the first arm: the cell of the same version, or each of them where there is
/// none. Else the versions are compared with version 3, or with the first one.
pub(crate) fn paired(cells: &[Cell]) -> Vec<(&Cell, &Cell)> {
    let all: Vec<Stripped<'_>> = cells.iter().map(|cell| (cell, cell.setting.without_arm())).collect();
    if cells.iter().any(|cell| !cell.setting.arm.is_empty()) {
        return all.iter().flat_map(|candidate| of_arms(candidate, &all)).collect();
    }
    let baseline = Baseline::of(cells);
    let baselines: Vec<&Stripped<'_>> = all.iter().filter(|(cell, _)| baseline.is(cell)).collect();
    let partner = |setting: &Setting| baselines.iter().find(|(_, own)| own == setting);
    let candidates = all.iter().filter(|(cell, _)| !baseline.is(cell));
    candidates.filter_map(|(candidate, setting)| Some((partner(setting)?.0, *candidate))).collect()
}

/// A cell with its setting without the arm, by which it is compared.
type Stripped<'a> = (&'a Cell, Setting);

/// The cells that `candidate` of a named arm is compared with.
fn of_arms<'a>((candidate, setting): &Stripped<'a>, cells: &[Stripped<'a>]) -> Vec<(&'a Cell, &'a Cell)> {
    let first = || cells.iter().take(1).map(|(cell, _)| &cell.setting.arm);
    let own = &candidate.setting.arm;
    let named: Vec<&String> =
        if candidate.against.is_empty() { first().collect() } else { candidate.against.iter().collect() };
    let baselines = named.into_iter().filter(|name| *name != own).flat_map(|name| {
        let mut of_arm: Vec<&Cell> = cells
            .iter()
            .filter(|(cell, own)| cell.setting.arm == *name && own == setting)
            .map(|(cell, _)| *cell)
            .collect();
        let is_same = |cell: &&Cell| cell.setting.version == candidate.setting.version;
        if of_arm.iter().any(is_same) {
            of_arm.retain(is_same);
        }
        of_arm
    });
    baselines.map(|baseline| (baseline, *candidate)).collect()
}

/// The version that others are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Baseline {
    version: String,
    /// Whether its clients may use delegations.
    delegations: bool,
}

impl Baseline {
    /// Version 3 where there is any; else the first version, without delegations where it was measured with
    /// and without.
    fn of(cells: &[Cell]) -> Self {
        let versions = || cells.iter().map(|cell| cell.setting.version.as_str());
        let version = versions().find(|version| *version == "3").or(versions().next()).unwrap_or("3");
        let own = cells.iter().filter(|cell| cell.setting.version == version);
        let delegations = own.map(|cell| cell.setting.delegations).min().unwrap_or(false);
        Self { version: version.to_owned(), delegations }
    }

    fn is(&self, cell: &Cell) -> bool {
        (&cell.setting.version, cell.setting.delegations) == (&self.version, self.delegations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{LOCAL, Run};
    use crate::samples;

    fn cell(arm: &str, version: &str, against: &[&str]) -> Cell {
        let setting = Setting {
            arm: arm.to_owned(),
            server: format!("server of {arm}"),
            ..samples::setting(version, 0.0)
        };
        let cell = Cell::from_runs(setting, vec![Run { value: 1.0, ..Run::default() }]).unwrap();
        Cell { against: against.iter().map(|name| (*name).to_owned()).collect(), ..cell }
    }

    fn names(cells: &[Cell]) -> Vec<[String; 2]> {
        let name = |cell: &Cell| cell.setting.arm_id().name();
        paired(cells).into_iter().map(|(baseline, candidate)| [name(baseline), name(candidate)]).collect()
    }

    #[test]
    fn arms_meet_the_first_one_in_their_own_version() {
        let cells = [cell("old", "3", &[]), cell("old", "4.1", &[]), cell("new", "3", &[])];
        assert_eq!(names(&cells), [["old v3", "new v3"]]);
        let both = [&cells[..], &[cell("new", "4.1", &[])]].concat();
        assert_eq!(names(&both), [["old v3", "new v3"], ["old v4.1", "new v4.1"]]);
    }

    #[test]
    fn arm_whose_version_another_lacks_meets_all_of_it() {
        let cells = [cell("disk", LOCAL, &[]), cell("a", "3", &[]), cell("b", "4.1", &["a", "disk"])];
        assert_eq!(names(&cells), [["disk", "a v3"], ["a v3", "b v4.1"], ["disk", "b v4.1"]]);
        let cells = [cell("a", "3", &[]), cell("a", "4.1", &[]), cell("disk", LOCAL, &[])];
        assert_eq!(names(&cells), [["a v3", "disk"], ["a v4.1", "disk"]]);
    }

    #[test]
    fn arms_meet_only_those_that_were_asked_for() {
        let cells = [cell("a", "3", &[]), cell("b", "3", &["c"]), cell("c", "3", &["c"])];
        assert_eq!(names(&cells), [["c v3", "b v3"]]);
        let other = Setting { rtt_ms: 1.0, ..cells[2].setting.clone() };
        let apart = [cells[0].clone(), cells[1].clone(), Cell { setting: other, ..cells[2].clone() }];
        assert_eq!(names(&apart), [] as [[String; 2]; 0]);
    }
}
