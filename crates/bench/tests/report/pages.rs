//! Results whose reports have everything that a report may have.

use bench::compare::merge;
use bench::results::{Figure, Form, Results, Timeline};
use bench::samples;

const LONG_LEVEL: &str = "through a mount of the kernel over a link with queues";

/// Of every form an experiment: in turn shares, rates over time, lines, bars, and lines over a factor.
pub(crate) fn every_form() -> Results {
    let mut results = samples::results();
    let clients = vec![vec![1.0, 2.5, 4.0, 0.5, 3.0], vec![2.0, 1.5, 0.0, 6.0, 5.0]];
    let client_reads = vec![3.0, 2.0, 1.0, 0.5, 0.0];
    let timeline = Timeline { slice_seconds: 0.1, values: vec![3.0; 5], clients, client_reads };
    for cell in &mut results.cells {
        if cell.setting.experiment == "create" {
            cell.setting.levels.insert("phase".to_owned(), "first".to_owned());
        }
        for run in &mut cell.run_details {
            run.timeline = Some(timeline.clone());
        }
    }
    let forms =
        [(Form::Mix, "delay"), (Form::Timeline, "delay"), (Form::Lines, "delay"), (Form::Bars, "delay")];
    for (asked, (form, x)) in results.experiments.iter_mut().zip(forms) {
        asked.figure = Figure { form, x: x.to_owned() };
    }
    // Of the unit and levels of ours, so that they have a place in the figure.
    for asked in &mut results.experiments[2..4] {
        asked.published.truncate(1);
        asked.published[0].unit = "op/s".to_owned();
        asked.published[0].levels.clear();
    }
    // One operation at a time, so that its times are drawn.
    for cell in results.cells.iter_mut().filter(|cell| cell.setting.experiment == "locked-read") {
        (cell.setting.clients, cell.setting.threads) = (1, 1);
    }
    results.experiments[4].figure = Figure { form: Form::Lines, x: "phase".to_owned() };
    results
}

/// Six versions, which is twice the hues with three shades each.
pub(crate) fn of_three_servers() -> Results {
    let parts = ["primetime", "knfsd", "ganesha"].map(|name| (name.to_owned(), samples::results()));
    merge(parts.into()).unwrap()
}

/// One experiment, every setting of which has levels with long names, over phases with units of their own.
pub(crate) fn of_factors_alone() -> Results {
    let mut results = samples::results();
    results.cells.retain(|cell| cell.setting.experiment == "create");
    results.comparisons.retain(|comparison| comparison.experiment == "create");
    results.experiments.retain(|asked| asked.name == "create");
    results.experiments[0].figure = Figure { form: Form::Bars, x: "phase".to_owned() };
    for cell in &mut results.cells {
        let is_first = cell.setting.rtt_ms < 1.0;
        cell.setting.metric.unit = if is_first { "MB/s".to_owned() } else { "op/s".to_owned() };
        let phase = if is_first { "sequential-out" } else { "create-in-order" };
        cell.setting.levels.insert("phase".to_owned(), phase.to_owned());
        cell.setting.levels.insert("way".to_owned(), LONG_LEVEL.to_owned());
    }
    for comparison in &mut results.comparisons {
        comparison.levels.insert("way".to_owned(), LONG_LEVEL.to_owned());
    }
    results
}
