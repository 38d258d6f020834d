//! `primetime bench list`: what there is to measure.

use bench::experiment::{self, Plan, Size};

use super::print;
use crate::failure::Failure;

/// Prints each built-in experiment with its question, its size and its time.
pub(super) fn run() -> Result<(), Failure> {
    let plan = Plan::standard();
    let runs = f64::from(plan.runs) * plan.delays_ms.len() as f64 * plan.versions.len() as f64;
    let mut text = String::new();
    for experiment in &plan.experiments {
        let setup = experiment.setup(Size::Default);
        let seconds = setup.workload.seconds().unwrap_or_default() * runs;
        let quick = if experiment.quick.is_some() { ", in --quick" } else { "" };
        text.push_str(&format!(
            "{}\n  {}\n  {} clients with {} threads each, {} on the server; about {:.0} s of measuring{quick}\n  after {}\n",
            experiment.name,
            experiment.question,
            setup.clients,
            setup.workload.threads(),
            size(space(setup)),
            seconds,
            experiment.study,
        ));
    }
    print(&text)
}

/// Bytes that an experiment keeps on the server.
fn space(setup: &experiment::Setup) -> u64 {
    use experiment::Workload::{RandomRead, SequentialRead};
    let workload = &setup.workload;
    let sharers = match workload {
        SequentialRead { .. } | RandomRead { .. } => 1,
        _ => u64::from(setup.clients),
    };
    workload.file_bytes().saturating_mul(workload.files().unwrap_or(1)).saturating_mul(sharers)
}

fn size(bytes: u64) -> String {
    match bytes {
        0 => "only names".to_owned(),
        1..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{} MB", bytes.div_ceil(1_000_000)),
    }
}
