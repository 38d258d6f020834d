//! Which cells of two documents are about the same thing.

use crate::results::{Cell, Setting};

/// Cells of two documents, put side by side.
#[derive(Debug, Default)]
pub(crate) struct Matched<'a> {
    /// Those that both have, in the order of the first.
    pub(crate) both: Vec<(&'a Cell, &'a Cell)>,
    /// Those that only the first has.
    pub(crate) only_first: Vec<&'a Cell>,
    /// Those that only the second has.
    pub(crate) only_second: Vec<&'a Cell>,
}

/// Delays that differ by at most this share of the longer nearly agree.
const NEARLY_SHARE_MAX: f64 = 0.1;

/// Puts the cells of two documents side by side, whatever their servers: those with the same setting; then
/// those of the same name, where each document has exactly one left and both measure in the same unit; and
/// then those whose delays nearly agree. A name is experiment, levels, version, delegations, client and
/// delay.
pub(crate) fn matched<'a>(first: &'a [Cell], second: &'a [Cell]) -> Matched<'a> {
    let mut partners: Vec<Option<&Cell>> = vec![None; first.len()];
    let mut left: Vec<&Cell> = second.iter().collect();
    for (cell, partner) in first.iter().zip(&mut partners) {
        let same = left.iter().position(|other| same_but_server(&cell.setting, &other.setting));
        *partner = same.map(|index| left.remove(index));
    }
    pair_the_only(first, &mut partners, &mut left, same_name);
    pair_the_only(first, &mut partners, &mut left, |one, other| {
        nearly_agree(one.rtt_ms, other.rtt_ms)
            && same_name(one, &Setting { rtt_ms: one.rtt_ms, ..other.clone() })
    });
    let mut sorted = Matched { only_second: left, ..Matched::default() };
    for (cell, partner) in first.iter().zip(partners) {
        match partner {
            Some(partner) => sorted.both.push((cell, partner)),
            None => sorted.only_first.push(cell),
        }
    }
    sorted
}

/// Pairs cells that meet, where each side has exactly one such left.
fn pair_the_only<'a>(
    first: &[Cell],
    partners: &mut [Option<&'a Cell>],
    left: &mut Vec<&'a Cell>,
    meet: impl Fn(&Setting, &Setting) -> bool,
) {
    for index in 0..first.len() {
        let setting = &first[index].setting;
        let rivals = first
            .iter()
            .zip(&*partners)
            .filter(|(cell, partner)| partner.is_none() && meet(setting, &cell.setting));
        if partners[index].is_some() || rivals.count() != 1 {
            continue;
        }
        let found: Vec<usize> =
            (0..left.len()).filter(|other| meet(setting, &left[*other].setting)).collect();
        if let [only] = found[..] {
            partners[index] = Some(left.remove(only));
        }
    }
}

/// True for delays, in milliseconds, that differ by little.
fn nearly_agree(one_ms: f64, other_ms: f64) -> bool {
    (one_ms - other_ms).abs() <= NEARLY_SHARE_MAX * one_ms.max(other_ms)
}

/// Returns the cell of another document that [`matched`] puts beside `cell` alone.
pub(crate) fn partner<'a>(cell: &'a Cell, others: &'a [Cell]) -> Option<&'a Cell> {
    matched(std::slice::from_ref(cell), others).both.first().map(|(_, other)| *other)
}

fn same_but_server(left: &Setting, right: &Setting) -> bool {
    Setting { server: right.server.clone(), ..left.clone() } == *right
}

fn same_name(left: &Setting, right: &Setting) -> bool {
    left.experiment == right.experiment
        && left.arm == right.arm
        && left.levels == right.levels
        && left.version == right.version
        && left.delegations == right.delegations
        && left.client == right.client
        && left.rtt_ms == right.rtt_ms
        && left.metric == right.metric
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Run;
    use crate::samples;

    fn cell(version: &str, clients: u32, server: &str) -> Cell {
        let setting = Setting { clients, server: server.to_owned(), ..samples::setting(version, 0.0) };
        Cell::from_runs(setting, vec![Run { value: 1.0, ..Run::default() }]).unwrap()
    }

    #[test]
    fn cells_of_two_servers_meet_by_their_settings() {
        let first = [cell("3", 5, "a"), cell("4.1", 5, "a")];
        let second = [cell("4.1", 5, "b"), cell("4.2", 5, "b")];
        let found = matched(&first, &second);
        assert_eq!(found.both.len(), 1);
        assert_eq!(found.both[0].0.setting.version, "4.1");
        assert_eq!(found.only_first[0].setting.version, "3");
        assert_eq!(found.only_second[0].setting.version, "4.2");
    }

    #[test]
    fn another_number_of_clients_meets_only_where_there_is_no_choice() {
        let found_one = [cell("3", 5, "a")];
        let one = [cell("3", 10, "b")];
        assert_eq!(matched(&found_one, &one).both.len(), 1);
        let two = [cell("3", 10, "b"), cell("3", 20, "b")];
        assert_eq!(matched(&found_one, &two).both.len(), 0);
        let exact = [cell("3", 20, "b"), cell("3", 5, "b")];
        let exact = matched(&found_one, &exact);
        assert_eq!((exact.both[0].1.setting.clients, exact.only_second.len()), (5, 1));
    }

    #[test]
    fn delays_that_nearly_agree_meet_where_there_is_no_choice() {
        let at = |rtt_ms: f64| {
            let setting = samples::setting("3", rtt_ms);
            Cell::from_runs(setting, vec![Run { value: 1.0, ..Run::default() }]).unwrap()
        };
        let met = |first: &[f64], second: &[f64]| {
            let [first, second] =
                [first, second].map(|delays| delays.iter().copied().map(at).collect::<Vec<_>>());
            let found = matched(&first, &second);
            let delays = |(one, other): &(&Cell, &Cell)| (one.setting.rtt_ms, other.setting.rtt_ms);
            found.both.iter().map(delays).collect::<Vec<_>>()
        };
        assert_eq!(met(&[0.0, 10.0], &[0.0, 10.5]), [(0.0, 0.0), (10.0, 10.5)]);
        assert_eq!(met(&[10.0], &[11.5]), []);
        assert_eq!(met(&[0.0], &[0.1]), [], "a network of its own");
        assert_eq!(met(&[10.0], &[10.0, 10.5]), [(10.0, 10.0)], "the same comes first");
        assert_eq!(met(&[10.0], &[9.8, 10.5]), [], "there is a choice");
    }

    #[test]
    fn numbers_of_different_units_never_meet() {
        let first = [cell("3", 5, "a")];
        let mut second = [cell("3", 5, "b")];
        second[0].setting.metric.unit = "MB/s".to_owned();
        assert_eq!(matched(&first, &second).both.len(), 0);
    }
}
