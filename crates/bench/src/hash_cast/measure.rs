//! The experiment: an emulated card between a server and clients, loaded by each workload, as it is and with
//! each cure.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netlab::packet::{Flow, Network, StreamOptions, Streams};

use super::Error;
use super::document::{MeasuredLink, Measurement, Run};
use super::nfs::{Readers, Server};
use super::options::{Options, Scenario, Workload};
use super::shares::predicted;
use super::spread::{groups, variation};
use crate::runner::Stop;
use crate::statistics::{jain_index, max_min_ratio, percentile};
use crate::terminal::Progress;

/// What slow start, and the filling of the queues, get before anything is counted.
const WARM_UP_MIN: Duration = Duration::from_secs(1);
const WARM_UP_ROUND_TRIPS: f64 = 30.0;

/// Stretches of a run whose shares are compared with each other.
const STRETCHES: u32 = 5;

/// A link may carry this much less than was asked for.
const RATE_OFF_MAX: f64 = 0.1;
const CALIBRATIONS_MAX: u32 = 3;

/// The first port of a client's connections; the next run has the next ones, and so another place in the
/// queues.
const FIRST_PORT: u16 = 40_000;

/// A flow carries the load if it carries this part of what one connection of a client has to.
const BUSY_SHARE: f64 = 0.1;

/// Measures all that was asked for, in the order of workloads.
pub(super) fn measure(options: &Options, stop: &Stop) -> Result<Vec<Measurement>, Error> {
    let groups = options.groups();
    let scenarios: usize = groups.iter().map(Vec::len).sum();
    let mut progress = Progress::new((options.workloads.len() * scenarios * options.runs as usize) as u64);
    let mut measurements = Vec::new();
    for scenarios in groups {
        measurements.extend(measure_group(options, &scenarios, stop, &mut progress)?);
    }
    // Stable: the scenarios keep their order.
    measurements.sort_by_key(|(workload, _)| options.workloads.iter().position(|other| other == workload));
    Ok(measurements.into_iter().map(|(_, measurement)| measurement).collect())
}

/// A scenario with its network, which serves all workloads.
struct Testbed {
    scenario: Scenario,
    network: Arc<Network>,
    link: MeasuredLink,
}

/// Measures some scenarios with every workload. Each number of a run has its turn in all of them before the
/// next one, so that they share what the machine does besides.
fn measure_group(
    options: &Options,
    scenarios: &[Scenario],
    stop: &Stop,
    progress: &mut Progress,
) -> Result<Vec<(Workload, Measurement)>, Error> {
    let open = |scenario: &Scenario| {
        let network = Arc::new(Network::start(options.network(*scenario)).map_err(Error::Network)?);
        let link = calibrate(&network, options, stop)?;
        Ok::<_, Error>(Testbed { scenario: *scenario, network, link })
    };
    let places: Vec<Testbed> = scenarios.iter().map(open).collect::<Result<_, _>>()?;
    let mut measurements = Vec::new();
    for workload in &options.workloads {
        let start = |place| Series::start(place, *workload, options, stop);
        let mut series: Vec<Series<'_>> = places.iter().map(start).collect::<Result<_, _>>()?;
        for number in 0..options.runs {
            for one in &mut series {
                progress.step(&format!("{}: {}", workload.name(), one.place.scenario.name()));
                one.measure(number, options, stop)?;
                progress.run_done();
            }
        }
        for one in series {
            measurements.push((*workload, one.finish(options)?));
        }
    }
    Ok(measurements)
}

/// The runs of a workload in a scenario.
struct Series<'a> {
    place: &'a Testbed,
    workload: Workload,
    connections: u32,
    server: Option<Server>,
    runs: Vec<Run>,
}

impl<'a> Series<'a> {
    fn start(place: &'a Testbed, workload: Workload, options: &Options, stop: &Stop) -> Result<Self, Error> {
        let server = match workload {
            Workload::Tcp => None,
            Workload::Nfs => Some(Server::start(&place.network, &options.serve_command, options.seed, stop)?),
        };
        let connections = options.connections(place.scenario);
        Ok(Self { place, workload, connections, server, runs: Vec::new() })
    }

    fn measure(&mut self, number: u32, options: &Options, stop: &Stop) -> Result<(), Error> {
        let network = &self.place.network;
        let load = Load::start(network, self.server.as_ref(), self.connections, number, stop)?;
        let run = measure_run(network, load, self.connections, options, stop)?;
        self.runs.push(run.ok_or(Error::Nothing { workload: self.workload.name() })?);
        Ok(())
    }

    fn finish(self, options: &Options) -> Result<Measurement, Error> {
        self.server.map_or(Ok(()), Server::stop)?;
        let rows: Vec<Vec<f64>> = self.runs.iter().map(|run| run.client_bytes_per_second.clone()).collect();
        Ok(Measurement {
            workload: self.workload.name().to_owned(),
            scenario: self.place.scenario.name().to_owned(),
            congestion_control: options.congestion(self.place.scenario),
            window_clamp_bytes: options.window(self.place.scenario),
            connections: self.connections,
            link: self.place.link,
            runs: self.runs,
            variation_across_runs: variation(&rows),
        })
    }
}

/// What the link is measured to do. A busy machine gets more than one chance.
fn calibrate(network: &Network, options: &Options, stop: &Stop) -> Result<MeasuredLink, Error> {
    let asked = options.rate_bytes_per_second() as f64;
    let mut measured = MeasuredLink::default();
    for _ in 0..CALIBRATIONS_MAX {
        stop.sleep(Duration::ZERO)?;
        let links = network.calibrate().map_err(Error::Network)?.links;
        let median = |values: Vec<f64>| percentile(&values, 50.0).unwrap_or_default();
        measured = MeasuredLink {
            rtt_ms: median(links.iter().map(|link| link.round_trip.as_secs_f64() * 1000.0).collect()),
            to_client_bytes_per_second: median(
                links.iter().filter_map(|link| link.to_client_bytes_per_second).collect(),
            ),
        };
        if (measured.to_client_bytes_per_second / asked - 1.0).abs() <= RATE_OFF_MAX {
            return Ok(measured);
        }
    }
    let mbit = |rate: f64| rate * 8.0 / 1e6;
    Err(Error::Link { asked_mbit: mbit(asked), measured_mbit: mbit(measured.to_client_bytes_per_second) })
}

/// What keeps the card busy.
enum Load {
    Tcp(Streams),
    Nfs(Readers),
}

impl Load {
    fn start(
        network: &Arc<Network>,
        server: Option<&Server>,
        connections: u32,
        run: u32,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let first_port = FIRST_PORT + (run * connections) as u16;
        if let Some(server) = server {
            return Ok(Self::Nfs(Readers::start(network, server, (first_port, connections), stop)?));
        }
        let streams =
            StreamOptions { connections_per_client: connections, first_port, ..StreamOptions::default() };
        Ok(Self::Tcp(Streams::start(network, &streams).map_err(Error::Network)?))
    }

    fn received(&self) -> Vec<u64> {
        match self {
            Self::Tcp(streams) => streams.received(),
            Self::Nfs(readers) => readers.received(),
        }
    }

    fn finish(self) -> Result<(), Error> {
        match self {
            Self::Tcp(_) => Ok(()),
            Self::Nfs(readers) => readers.finish(),
        }
    }
}

/// One run; none when nothing arrived.
fn measure_run(
    network: &Network,
    load: Load,
    connections: u32,
    options: &Options,
    stop: &Stop,
) -> Result<Option<Run>, Error> {
    let warm_up = Duration::from_secs_f64(options.rtt_ms / 1000.0 * WARM_UP_ROUND_TRIPS);
    stop.sleep(warm_up.max(WARM_UP_MIN))?;
    let before = flow_bytes(network);
    let mut samples = vec![(Instant::now(), load.received())];
    for _ in 0..STRETCHES {
        stop.sleep(Duration::from_secs_f64(options.seconds / f64::from(STRETCHES)))?;
        samples.push((Instant::now(), load.received()));
    }
    let after = flow_bytes(network);
    load.finish()?;
    let carried =
        after.into_iter().map(|(flow, bytes)| (flow, bytes - before.get(&flow).copied().unwrap_or(0)));
    let queues = busy_queues(network, &carried.collect(), connections);
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Ok(None) };
    let stretches: Vec<Vec<f64>> = samples.windows(2).map(|pair| rates(&pair[0], &pair[1])).collect();
    let dropped = network.counters().to_clients.dropped_packets;
    Ok(run(rates(first, last), &stretches, queues, dropped))
}

/// What each client was given in each second between two samples.
fn rates(from: &(Instant, Vec<u64>), to: &(Instant, Vec<u64>)) -> Vec<f64> {
    let seconds = (to.0 - from.0).as_secs_f64();
    to.1.iter().zip(&from.1).map(|(later, earlier)| (later - earlier) as f64 / seconds).collect()
}

fn flow_bytes(network: &Network) -> BTreeMap<Flow, u64> {
    let flows = network.counters().to_clients.flows;
    flows.into_iter().map(|(flow, counters)| (flow, counters.bytes)).collect()
}

/// For each client the queues of its flows that carried the load.
fn busy_queues(network: &Network, carried: &BTreeMap<Flow, u64>, connections: u32) -> Vec<Vec<Option<u32>>> {
    let counters = network.counters().to_clients.flows;
    let of_client = |address: Ipv4Addr| {
        let flows = || carried.iter().filter(move |(flow, _)| *flow.target.ip() == address);
        let all: u64 = flows().map(|(_, bytes)| bytes).sum();
        let busy = all as f64 / f64::from(connections) * BUSY_SHARE;
        flows()
            .filter(|(_, bytes)| **bytes as f64 > busy)
            .map(|(flow, _)| counters.get(flow).and_then(|counters| counters.queue))
            .collect()
    };
    network.clients().iter().map(|client| of_client(client.address())).collect()
}

fn run(rates: Vec<f64>, stretches: &[Vec<f64>], queues: Vec<Vec<Option<u32>>>, dropped: u64) -> Option<Run> {
    let total: f64 = rates.iter().sum();
    let fairness = jain_index(&rates).filter(|_| total > 0.0)?;
    let shares = predicted(&queues);
    Some(Run {
        predicted_max_min_ratio: max_min_ratio(&shares),
        predicted_bytes_per_second: shares.iter().map(|share| share * total).collect(),
        queues,
        total_bytes_per_second: total,
        fairness,
        max_min_ratio: max_min_ratio(&rates),
        groups: groups(&rates),
        variation_inside: variation(stretches),
        dropped_packets: dropped,
        client_bytes_per_second: rates,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_sets_what_was_measured_beside_what_its_queues_predict() {
        let queues = vec![vec![Some(1)], vec![Some(4)], vec![Some(4)]];
        let found = run(vec![50.0, 26.0, 24.0], &[], queues, 3).unwrap();
        assert_eq!(found.predicted_bytes_per_second, [50.0, 25.0, 25.0]);
        assert_eq!((found.predicted_max_min_ratio, found.max_min_ratio), (Some(2.0), Some(50.0 / 24.0)));
        assert_eq!(found.groups.iter().map(|group| group.clients).collect::<Vec<_>>(), [2, 1]);
        assert_eq!((found.total_bytes_per_second, found.dropped_packets), (100.0, 3));
        assert_eq!(run(vec![0.0, 0.0], &[], vec![vec![], vec![]], 0), None);
    }
}
