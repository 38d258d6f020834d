//! A made-up document with the shape of a real one, to look at the page and test readers without measuring.

use super::document::{
    CardOutlook, Curve, HashCast, MeasuredLink, Measurement, Probabilities, Run, SCHEMA, Setup,
};
use super::spread::{groups, variation};
use super::{predicted, probability, verdict};
use crate::results::Environment;
use crate::statistics::{jain_index, max_min_ratio};

const CLIENTS: u32 = 8;
const QUEUES: u32 = 8;
const RATE: f64 = 12_500_000.0;

/// Where the flows of each run were hashed to.
const PLACES: [[u32; 8]; 3] = [[0, 1, 1, 2, 3, 3, 3, 6], [5, 5, 0, 2, 7, 7, 4, 4], [1, 2, 3, 3, 4, 6, 6, 7]];

/// A document about both workloads and all ways to queue.
#[must_use]
pub fn document() -> HashCast {
    let scenarios = ["card", "bbr", "clamped-window", "more-connections", "one-queue", "fair-queueing"];
    let measurements = ["tcp", "nfs"]
        .iter()
        .flat_map(|workload| scenarios.map(|scenario| measurement(workload, scenario)))
        .collect();
    let mut document = HashCast {
        schema: SCHEMA,
        environment: Environment {
            tool_version: "0.1.0".to_owned(),
            kernel: "Linux 6.1.0".to_owned(),
            cpu_model: "A processor".to_owned(),
            cores: 4,
            memory_bytes: 8 << 30,
            date: "2026-01-01T00:00:00Z".to_owned(),
            seed: 1,
            command_line: ["primetime", "bench", "hash-cast"].map(str::to_owned).to_vec(),
            ..Environment::default()
        },
        probabilities: Probabilities {
            queues: QUEUES,
            flows: CLIENTS,
            curves: (2..=8)
                .map(|ratio| Curve { ratio, by_flows: probability::ratio_at_least(QUEUES, 64, ratio) })
                .collect(),
        },
        cards: vec![CardOutlook {
            name: "eth0".to_owned(),
            transmit_queues: 4,
            discipline: Some("mq".to_owned()),
            at_least_twice: probability::ratio_at_least(4, CLIENTS, 2)[CLIENTS as usize],
        }],
        setup: Some(Setup {
            clients: CLIENTS,
            queues: QUEUES,
            rate_bytes_per_second: RATE as u64,
            rtt_ms: 2.0,
            receive_buffer_bytes: 131_072,
            congestion_control: Some("cubic".to_owned()),
            window_clamp_bytes: None,
            seconds: 5.0,
        }),
        measurements,
        verdict: String::new(),
        notes: vec!["The cure `vegas` was not measured.".to_owned()],
    };
    document.verdict = verdict::verdict(&document);
    document
}

fn measurement(workload: &str, scenario: &str) -> Measurement {
    let connections = if scenario == "more-connections" { 4 } else { 1 };
    let runs: Vec<Run> = PLACES.iter().map(|places| run(&queues(places, scenario), scenario)).collect();
    let rows: Vec<Vec<f64>> = runs.iter().map(|run| run.client_bytes_per_second.clone()).collect();
    Measurement {
        workload: workload.to_owned(),
        scenario: scenario.to_owned(),
        congestion_control: Some(if scenario == "bbr" { scenario } else { "cubic" }.to_owned()),
        window_clamp_bytes: (scenario == "clamped-window").then_some(31_250),
        connections,
        link: MeasuredLink { rtt_ms: 2.2, to_client_bytes_per_second: RATE },
        variation_across_runs: variation(&rows),
        runs,
    }
}

fn queues(places: &[u32], scenario: &str) -> Vec<Vec<Option<u32>>> {
    let of_client = |place: &u32| match scenario {
        "card" | "bbr" | "clamped-window" => vec![Some(*place)],
        "more-connections" => (0..4).map(|number| Some((place * 3 + number * number) % QUEUES)).collect(),
        "one-queue" => vec![Some(0)],
        _ => vec![None],
    };
    places.iter().map(of_client).collect()
}

fn run(queues: &[Vec<Option<u32>>], scenario: &str) -> Run {
    let shares = predicted(queues);
    // With clamped windows no queue waits, so that none decides.
    let measured = match scenario {
        "clamped-window" => vec![1.0 / shares.len() as f64; shares.len()],
        _ => shares.clone(),
    };
    // Real clients differ a little from what is predicted.
    let rates: Vec<f64> = measured
        .iter()
        .zip(1..)
        .map(|(share, number)| share * RATE * (0.96 - 0.002 * f64::from(number)))
        .collect();
    Run {
        total_bytes_per_second: rates.iter().sum(),
        predicted_bytes_per_second: shares.iter().map(|share| share * RATE * 0.95).collect(),
        predicted_max_min_ratio: max_min_ratio(&shares),
        queues: queues.to_vec(),
        fairness: jain_index(&rates).unwrap_or(0.0),
        max_min_ratio: max_min_ratio(&rates),
        groups: groups(&rates),
        variation_inside: Some(0.02),
        dropped_packets: 0,
        client_bytes_per_second: rates,
    }
}
