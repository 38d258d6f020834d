//! `primetime bench list`: what there is, what it asks, how long it takes and what it needs.

use bench::experiment::{self, Experiment, Plan, Runs, Setup, Space};

use super::measure::RUNS_OF_LONG_PLANS;
use super::print;
use crate::failure::Failure;

/// Shows every built-in experiment.
pub(super) fn run() -> Result<(), Failure> {
    let standard: Vec<String> =
        experiment::standard().into_iter().map(|experiment| experiment.name).collect();
    let text: String = experiment::builtin()
        .iter()
        .map(|experiment| listed(experiment, standard.contains(&experiment.name)))
        .collect();
    print(&text)
}

/// What is told of one experiment.
fn listed(experiment: &Experiment, is_standard: bool) -> String {
    let mut text = format!("{}\n  {}\n  after {}\n", experiment.name, experiment.question, experiment.study);
    if is_standard {
        let quick = if experiment.quick.is_some() { ", also with --quick" } else { "" };
        text.push_str(&format!("  part of the standard benchmark{quick}\n"));
    }
    let own_quick = experiment.quick.as_ref().map(|setup| ("quick", setup, Plan::quick()));
    let of_paper = || Plan { runs: Runs::Fixed(RUNS_OF_LONG_PLANS), ..Plan::standard() };
    let paper = experiment.paper.as_ref().map(|setup| ("paper", setup, of_paper()));
    let scaled = experiment.scaled.as_ref().map(|setup| ("scaled", setup, Plan::standard()));
    let sizes = [own_quick, Some(("default", &experiment.default, Plan::standard())), scaled, paper];
    for (name, setup, plan) in sizes.into_iter().flatten() {
        text.push_str(&format!("  {name:<8} {}\n", needs(setup, &plan)));
    }
    text
}

/// What one size of an experiment needs: clients, space and time.
fn needs(setup: &Setup, plan: &Plan) -> String {
    let points = setup.points();
    let space = Space::of_all(points.iter().map(|point| point.setup.workload.space(point.setup.clients)));
    let mut parts = vec![
        format!("{} with {}", count(setup.clients, "client"), count(setup.workload.threads(), "thread")),
        room(space),
    ];
    if points.len() > 1 {
        let factors: Vec<&str> = setup.factors().collect();
        parts.push(format!("{} settings of {}", points.len(), factors.join(" and ")));
    }
    let seconds: Option<f64> = points.iter().map(|point| point.setup.seconds()).sum();
    let runs = f64::from(plan.runs.first()) * (plan.delays_ms.len() * plan.versions.len()) as f64;
    parts.push(match seconds {
        Some(seconds) => format!("at least {} of measuring", duration(seconds * runs)),
        None => "as long as its work takes".to_owned(),
    });
    parts.join(", ")
}

fn count(number: u32, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn duration(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.0} h", seconds / 3600.0),
    }
}

/// Space on the server, at the most.
fn room(space: Space) -> String {
    let size = match space.bytes() {
        ..1.0 => "only names".to_owned(),
        bytes @ ..1e6 => format!("{:.0} kB", (bytes / 1e3).ceil()),
        bytes @ ..1e9 => format!("{:.0} MB", (bytes / 1e6).ceil()),
        bytes => format!("{:.0} GB", (bytes / 1e9).ceil()),
    };
    format!("{size} on the server{}", if space.grows { " and more with time" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_is_listed_with_what_it_needs() {
        for experiment in experiment::builtin() {
            let text = listed(&experiment, false);
            assert!(text.contains(&experiment.question) && text.contains("default  "), "{text}");
            assert!(text.contains("client") && text.contains("on the server"), "{text}");
        }
        assert_eq!(duration(7199.0), "120 min");
    }

    #[test]
    fn list_counts_files_that_an_experiment_makes_later() {
        let told = |name: &str, size: &str| {
            let text = listed(&experiment::find(name).unwrap(), false);
            let line = text.lines().find(|line| line.trim_start().starts_with(size)).unwrap().to_owned();
            line.split(", ").find(|part| part.contains("on the server")).unwrap().to_owned()
        };
        // One file of 8 MiB, written in the first phase by 1,024 pieces of 8 KiB; the small files stay empty.
        assert_eq!(told("bonnie", "default"), "9 MB on the server");
        // 1,000 files of 256 KiB of each of five clients; those of smaller sizes are gone by then.
        assert_eq!(told("create-by-size", "default"), "2 GB on the server");
        assert_eq!(told("create", "default"), "only names on the server");
        // 100 files of 16 KiB of each of five clients, and what is appended for as long as it runs.
        assert_eq!(told("file-server", "default"), "9 MB on the server and more with time");
        // The same file with and without reading ahead, made for each.
        assert_eq!(told("readahead-off", "default"), "34 MB on the server");
    }
}
