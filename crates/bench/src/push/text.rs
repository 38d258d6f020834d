//! Results in the text format of Prometheus: a gauge for each kind of number, with a line for each setting
//! that has it.

use std::fmt::Write as _;

use crate::results::{Cell, Comparison, Results, levels};

/// The content type of [`exposition`].
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Names with their values.
type Labels = Vec<(&'static str, String)>;

/// Means, medians, requests and ratios of `results`. What is not known has no line.
#[must_use]
pub fn exposition(results: &Results) -> String {
    let mut text = String::new();
    let mut of_cells = |name: &str, help: &str, value: fn(&Cell) -> Option<f64>| {
        let lines = results.cells.iter().filter_map(|cell| Some((of_cell(cell), value(cell)?)));
        gauge(&mut text, name, help, lines);
    };
    of_cells("mean", "Mean of the runs, in the unit of the setting.", |cell| Some(cell.mean));
    of_cells("mean_low", "Lower end of its 95 % interval.", |cell| Some(cell.ci95?[0]));
    of_cells("mean_high", "Upper end of its 95 % interval.", |cell| Some(cell.ci95?[1]));
    of_cells("median", "The median run, the lower one of two.", |cell| Some(cell.median_run()?.value));
    of_cells(
        "requests_per_operation",
        "Requests for each operation of the application, in the median run.",
        Cell::rpcs_per_operation,
    );
    of_cells(
        "requests_posix_floor",
        "The fewest requests for each operation with one POSIX call at a time.",
        |cell| Some(cell.floors?.posix),
    );
    of_cells(
        "requests_compound_floor",
        "The fewest requests for each operation that is known as a whole.",
        |cell| Some(cell.floors?.compound),
    );
    let mut of_comparisons = |name: &str, help: &str, value: fn(&Comparison) -> Option<f64>| {
        let all = results.comparisons.iter();
        let lines = all.filter_map(|one| Some((of_comparison(results, one), value(one)?)));
        gauge(&mut text, name, help, lines);
    };
    of_comparisons("ratio", "The candidate's mean by the baseline's.", |one| one.ratio);
    of_comparisons("ratio_low", "Lower end of the interval that decides.", |one| {
        Some(one.shown_interval()?[0])
    });
    of_comparisons("ratio_high", "Upper end of the interval that decides.", |one| {
        Some(one.shown_interval()?[1])
    });
    text
}

/// One gauge with its lines; nothing where there are none. A value that is not finite is left out.
fn gauge(text: &mut String, name: &str, help: &str, lines: impl Iterator<Item = (Labels, f64)>) {
    let mut lines = lines.filter(|(_, value)| value.is_finite()).peekable();
    if lines.peek().is_none() {
        return;
    }
    let name = format!("primetime_bench_{name}");
    text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} gauge\n"));
    for (labels, value) in lines {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
    }
}

fn of_cell(cell: &Cell) -> Labels {
    let setting = &cell.setting;
    let arm = [("arm", setting.arm.clone())];
    let labels = vec![
        ("experiment", setting.experiment.clone()),
        ("levels", levels(&setting.levels)),
        ("version", setting.version.clone()),
        ("delegations", setting.delegations.to_string()),
        ("rtt_ms", setting.rtt_ms.to_string()),
        ("server", setting.server.clone()),
        ("client", setting.client.clone()),
        ("unit", setting.metric.unit.clone()),
        ("label", setting.label.clone()),
    ];
    with_names(labels, arm)
}

fn of_comparison(results: &Results, one: &Comparison) -> Labels {
    let [server, client] = results.cells_of(one).map_or_else(Default::default, |(_, candidate)| {
        [candidate.setting.server.clone(), candidate.setting.client.clone()]
    });
    let arms = [("baseline_arm", one.baseline_arm.clone()), ("candidate_arm", one.candidate_arm.clone())];
    let labels = vec![
        ("experiment", one.experiment.clone()),
        ("levels", levels(&one.levels)),
        ("baseline", one.baseline.clone()),
        ("candidate", one.candidate.clone()),
        ("delegations", one.delegations.to_string()),
        ("rtt_ms", one.rtt_ms.to_string()),
        ("server", server),
        ("client", client),
        ("label", one.label.clone()),
    ];
    with_names(labels, arms)
}

/// Adds the names of arms, where there are any.
fn with_names<const N: usize>(mut labels: Labels, arms: [(&'static str, String); N]) -> Labels {
    labels.extend(arms.into_iter().filter(|(_, name)| !name.is_empty()));
    labels
}

/// A label's value as it stands between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Floors;
    use crate::samples;

    fn lines<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
        let begin = format!("primetime_bench_{name}{{");
        text.lines().filter(|line| line.starts_with(&begin)).collect()
    }

    #[test]
    fn each_setting_has_a_line_in_each_gauge_that_is_known_of_it() {
        let mut results = samples::results();
        results.cells[0].ci95 = None;
        results.cells[0].floors = None;
        results.cells[1].floors = Some(Floors { posix: 1.0, compound: 0.0625 });
        let text = exposition(&results);
        let (cells, comparisons) = (results.cells.len(), results.comparisons.len());
        let floors = results.cells.iter().filter(|cell| cell.floors.is_some()).count();
        for (name, count) in [
            ("mean", cells),
            ("mean_low", cells - 1),
            ("mean_high", cells - 1),
            ("median", cells),
            ("requests_per_operation", cells),
            ("requests_posix_floor", floors),
            ("requests_compound_floor", floors),
            ("ratio", comparisons),
            ("ratio_low", comparisons),
            ("ratio_high", comparisons),
        ] {
            assert_eq!(lines(&text, name).len(), count, "{name}");
            assert_eq!(text.matches(&format!("# TYPE primetime_bench_{name} gauge\n")).count(), 1);
        }
        let mean = results.cells[0].mean;
        assert_eq!(
            lines(&text, "mean")[0],
            format!(
                "primetime_bench_mean{{experiment=\"sequential-read\",levels=\"\",version=\"3\",\
                 delegations=\"false\",rtt_ms=\"0\",\
                 server=\"builtin\",client=\"builtin\",unit=\"MB/s\",label=\"\"}} {mean}"
            )
        );
        assert!(lines(&text, "requests_compound_floor")[0].ends_with(" 0.0625"));
        let unique: std::collections::BTreeSet<&str> =
            text.lines().filter_map(|line| line.rsplit_once(' ').map(|(name, _)| name)).collect();
        let samples = text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(
            unique.iter().filter(|name| !name.starts_with('#')).count(),
            samples,
            "a gateway refuses twins"
        );
    }

    #[test]
    fn nothing_breaks_out_of_its_quotes_and_what_is_not_finite_is_left_out() {
        let mut results = samples::results();
        results.cells.truncate(2);
        results.comparisons.clear();
        results.cells[0].setting.server = "a\"b\\c\nd".to_owned();
        results.cells[1].mean = f64::NAN;
        let text = exposition(&results);
        assert_eq!(lines(&text, "mean").len(), 1);
        assert!(lines(&text, "mean")[0].contains("server=\"a\\\"b\\\\c\\nd\","), "{text}");
        assert!(!text.contains("bench_ratio"), "what has no line has no head");
    }
}
