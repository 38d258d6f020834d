//! The points of all experiments at each delay, with their places on the server.

use super::Options;
use super::check::points;
use super::target::Server;
use crate::experiment::{Experiment, Point};
use crate::workload::{self, Part, WorkDirectory};

/// One combination of the levels of an experiment's factors, at one delay.
#[derive(Debug, Clone)]
pub(crate) struct Placed<'a> {
    pub(crate) experiment: &'a Experiment,
    /// With the number of clients that was asked for, and runs that are long enough for the delay.
    pub(crate) point: Point,
    pub(crate) parts: Vec<Part>,
    /// Its place on each server, the same at all delays.
    pub(crate) places: Vec<WorkDirectory>,
    /// Which of the points of its experiment it is.
    pub(crate) nth: usize,
    /// The number of the point among all of the benchmark.
    pub(crate) number: u64,
}

/// Every point that is measured, in order, at each delay.
pub(crate) fn placed<'a>(options: &'a Options, servers: &[Server]) -> Vec<Vec<Placed<'a>>> {
    let mut all = Vec::new();
    for (experiment, number) in options.plan.experiments.iter().zip(0_u64..) {
        for (mut point, nth) in points(experiment, options).into_iter().zip(0_usize..) {
            point.setup.clients = options.clients.unwrap_or(point.setup.clients);
            let on = |server: &Server| WorkDirectory {
                directory: format!("{}/{number}-{nth}-{}", server.directory, experiment.name),
                clients: point.setup.clients,
                seed: options.seed,
            };
            let places: Vec<WorkDirectory> = servers.iter().map(on).collect();
            let at = |rtt_ms: &f64| {
                let setup = point.setup.clone().at_delay(*rtt_ms);
                let parts = workload::parts(&setup.workload);
                let point = Point { setup, levels: point.levels.clone() };
                let number = number << 8 | nth as u64;
                Placed { experiment, point, parts, places: places.clone(), nth, number }
            };
            all.push(options.plan.delays_ms.iter().map(at).collect());
        }
    }
    all
}
