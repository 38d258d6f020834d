//! A made-up result with the shape of a real one, to look at the report and test readers without measuring.
//!
//! The numbers follow the published studies in kind: requests for each operation, and a rate from delay and
//! requests.

use std::collections::BTreeMap;

use crate::compare;
use crate::experiment;
use crate::explain::{Profile, Terms, floors};
use crate::results::{
    Cell, Disk, Environment, Histogram, Host, Latency, Link, Metric, Resources, Results, Run, Setting,
    WireBytes,
};
use crate::statistics::{Better, SAME_MARGIN, jain_index};

const CLIENTS: u32 = 5;
const SECONDS: f64 = 0.35;
const TRANSFER_BYTES: u64 = 1 << 20;
const DELAYS_MS: [f64; 3] = [0.0, 1.0, 10.0];

/// One experiment as the sample has it.
struct Shape {
    name: &'static str,
    unit: &'static str,
    threads: u32,
    io_bytes: u64,
    /// Requests in a thousand operations, version 3.
    v3: &'static [(&'static str, u64)],
    /// The same for version 4.1.
    v41: &'static [(&'static str, u64)],
    /// Share of the application's bytes that 4.1 fetches.
    fetched_v41: f64,
    /// Time of a request without delay, in milliseconds, for each version.
    request_ms: [f64; 2],
}

const SHAPES: [Shape; 8] = [
    Shape {
        name: "sequential-read",
        unit: "MB/s",
        threads: 1,
        io_bytes: 65_536,
        v3: &[("READ", 63), ("GETATTR", 1)],
        v41: &[("READ", 63), ("GETATTR", 1)],
        fetched_v41: 1.0,
        request_ms: [2.1, 2.11],
    },
    Shape {
        name: "sequential-write",
        unit: "MB/s",
        threads: 1,
        io_bytes: 65_536,
        v3: &[("WRITE", 1000)],
        v41: &[("WRITE", 1000)],
        fetched_v41: 1.0,
        request_ms: [1.9, 1.91],
    },
    Shape {
        name: "random-read",
        unit: "op/s",
        threads: 4,
        io_bytes: 4096,
        v3: &[("READ", 995)],
        v41: &[("READ", 994)],
        fetched_v41: 1.0,
        request_ms: [0.21, 0.22],
    },
    Shape {
        name: "random-write",
        unit: "op/s",
        threads: 4,
        io_bytes: 4096,
        v3: &[("WRITE", 1000)],
        v41: &[("WRITE", 1000)],
        fetched_v41: 1.0,
        request_ms: [0.9, 0.93],
    },
    Shape {
        name: "create",
        unit: "op/s",
        threads: 16,
        io_bytes: 0,
        v3: &[("CREATE", 1000)],
        v41: &[("OPEN", 1000), ("CLOSE", 1000)],
        fetched_v41: 1.0,
        request_ms: [0.8, 0.5],
    },
    Shape {
        name: "small-file-read",
        unit: "op/s",
        threads: 16,
        io_bytes: 4096,
        v3: &[("LOOKUP", 60), ("ACCESS", 940), ("GETATTR", 1000), ("READ", 60)],
        v41: &[("OPEN", 2), ("READ", 2)],
        fetched_v41: 0.002,
        request_ms: [0.3, 0.4],
    },
    Shape {
        name: "locked-read",
        unit: "op/s",
        threads: 4,
        io_bytes: 4096,
        v3: &[
            ("LOOKUP", 100),
            ("ACCESS", 1000),
            ("GETATTR", 1000),
            ("LOCK", 1000),
            ("READ", 1000),
            ("UNLOCK", 1000),
        ],
        v41: &[("OPEN", 100), ("READ", 100), ("CLOSE", 100)],
        fetched_v41: 0.1,
        request_ms: [0.2, 0.24],
    },
    Shape {
        name: "locked-read-once",
        unit: "op/s",
        threads: 4,
        io_bytes: 4096,
        v3: &[
            ("LOOKUP", 100),
            ("ACCESS", 100),
            ("GETATTR", 1000),
            ("LOCK", 1000),
            ("READ", 1000),
            ("UNLOCK", 1000),
        ],
        v41: &[("OPEN", 100), ("READ", 100), ("CLOSE", 100)],
        fetched_v41: 0.1,
        request_ms: [0.2, 0.24],
    },
];

/// A setting of the sample's locked read.
#[must_use]
pub fn setting(version: &str, rtt_ms: f64) -> Setting {
    setting_of(&SHAPES[6], version, rtt_ms)
}

/// Eight experiments at three delays in two versions, five runs each, compared and judged.
#[must_use]
pub fn results() -> Results {
    let mut cells = Vec::new();
    for shape in &SHAPES {
        for rtt_ms in DELAYS_MS {
            cells.extend(["3", "4.1"].iter().filter_map(|version| cell(shape, version, rtt_ms)));
        }
    }
    let experiments = SHAPES
        .iter()
        .filter_map(|shape| experiment::find(shape.name).ok())
        .map(|experiment| experiment.asked())
        .collect();
    compare::results(environment(), experiments, cells, &Profile::even())
}

fn setting_of(shape: &Shape, version: &str, rtt_ms: f64) -> Setting {
    Setting {
        experiment: shape.name.to_owned(),
        levels: BTreeMap::new(),
        arm: String::new(),
        version: version.to_owned(),
        delegations: version != "3",
        server: "builtin".to_owned(),
        client: "builtin".to_owned(),
        rtt_ms,
        clients: CLIENTS,
        threads: shape.threads,
        io_bytes: shape.io_bytes,
        metric: Metric { name: "throughput".to_owned(), unit: shape.unit.to_owned(), better: Better::Higher },
        label: String::new(),
    }
}

fn cell(shape: &Shape, version: &str, rtt_ms: f64) -> Option<Cell> {
    let runs = (0..5).map(|block| run(shape, version, rtt_ms, block)).collect();
    let cell = Cell::from_runs(setting_of(shape, version, rtt_ms), runs)?;
    let experiment = experiment::find(shape.name).ok();
    let terms = Terms {
        version,
        delegations: cell.setting.delegations,
        client: &cell.setting.client,
        rsize: TRANSFER_BYTES,
        wsize: TRANSFER_BYTES,
        counts_locks: true,
    };
    let floors = experiment.and_then(|experiment| floors(&experiment.default, &terms));
    Some(Cell { floors, ..cell })
}

fn run(shape: &Shape, version: &str, rtt_ms: f64, block: u32) -> Run {
    let third = version == "3";
    let (requests, request_ms) =
        if third { (shape.v3, shape.request_ms[0]) } else { (shape.v41, shape.request_ms[1]) };
    let each: f64 = requests.iter().map(|(_, count)| *count as f64 / 1000.0).sum();
    let seed = u64::from(block) * 7 + u64::from(third) + rtt_ms as u64 * 3 + shape.name.len() as u64;
    // A few per cent that the versions of one block share, and a little of their own.
    let shared = 1.0 + f64::from(block) * 0.01 - 0.02;
    let noise = shared * (1.0 + ((seed * 2_654_435_761 % 1000) as f64 / 1000.0 - 0.5) * 0.02);
    let operation_ms = (each * (rtt_ms + request_ms) + 0.012) / noise;
    let threads = f64::from(CLIENTS) * f64::from(shape.threads);
    let operations = (SECONDS * 1000.0 * threads / operation_ms) as u64;
    let application_bytes = operations * shape.io_bytes;
    let fetched = if third { 1.0 } else { shape.fetched_v41 };
    let rate = operations as f64 / SECONDS;
    let value = if shape.unit == "MB/s" { application_bytes as f64 / SECONDS / 1e6 } else { rate };
    let client_values: Vec<f64> =
        (0..CLIENTS).map(|client| value / f64::from(CLIENTS) * (0.98 + 0.01 * f64::from(client))).collect();
    Run {
        block,
        value,
        seconds: SECONDS,
        operations,
        application_bytes,
        rpcs: requests
            .iter()
            .map(|(name, count)| ((*name).to_owned(), operations * count / 1000))
            .collect::<BTreeMap<_, _>>(),
        wire_bytes: WireBytes {
            sent: (operations as f64 * each * 180.0) as u64,
            received: (operations as f64 * each * 150.0 + application_bytes as f64 * fetched) as u64,
        },
        compound_operations: BTreeMap::new(),
        callbacks: BTreeMap::new(),
        read_bytes: (application_bytes as f64 * fetched) as u64,
        application_read_bytes: application_bytes,
        latency_ms: Some(Latency {
            mean: operation_ms,
            p50: operation_ms * 0.97,
            p90: operation_ms * 1.1,
            p99: operation_ms * 1.3,
            p999: operation_ms * 1.6,
            max: operation_ms * 2.0,
        }),
        latency_histogram: Histogram { buckets: vec![(operation_ms, operations)] },
        timeline: None,
        queue_ms: 0.01,
        wire_ms: rtt_ms + request_ms,
        resources: Some(Resources {
            busy: 0.5,
            client_seconds: 0.2,
            server_seconds: Some(0.1),
            disk_busy: Some(0.05),
            stolen: Some(0.0),
            server_busy: Some(0.3),
            server_disk_busy: Some(0.1),
            io_wait: Some(0.02),
            disk: Some(disk(operations)),
            server_io_wait: Some(0.04),
            server_disk: Some(disk(operations)),
        }),
        calibration_ms: Some([5.0, 5.0 + f64::from(block) * 0.1]),
        start_skew_ms: 0.2 + f64::from(block) * 0.05,
        fairness: jain_index(&client_values),
        client_values,
        client_hosts: vec![],
        doubts: if seed.is_multiple_of(11) {
            vec!["The clients used 91 % of the processors.".to_owned()]
        } else {
            vec![]
        },
    }
}

fn disk(operations: u64) -> Disk {
    Disk {
        is_of_export: true,
        writes: 2 * operations,
        written_bytes: operations * 2048,
        flushes: Some(operations),
        journal_commits: Some(operations),
    }
}

fn environment() -> Environment {
    let link = |rtt_ms: f64| Link {
        rtt_ms,
        measured_ms: rtt_ms + 0.08,
        minimum_ms: rtt_ms + 0.06,
        calls: 200,
        kind: if rtt_ms > 0.0 { "relay".to_owned() } else { "none".to_owned() },
    };
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    Environment {
        same_within: SAME_MARGIN,
        tool_version: "0.1.0".to_owned(),
        kernel: "Linux 6.1.0".to_owned(),
        cpu_model: "Sample processor at 2.0 GHz".to_owned(),
        cores: 2,
        memory_bytes: 8 << 30,
        date: "2026-11-20T12:00:00Z".to_owned(),
        seed: 42,
        plan: pairs(&[("size", "default"), ("runs", "5")]),
        command_line: vec!["primetime".to_owned(), "bench".to_owned()],
        hosts: vec![Host {
            name: "node1".to_owned(),
            kernel: "Linux 6.1.0".to_owned(),
            cpu_model: "Sample processor at 2.0 GHz".to_owned(),
            cores: 2,
            clock_error_ms: 0.05,
            clock_drift_ms: 0.0,
        }],
        server_host: Some(Host { name: "server".to_owned(), cores: 8, ..Host::default() }),
        links: DELAYS_MS.map(link).to_vec(),
        negotiated: BTreeMap::from([
            ("3".to_owned(), pairs(&[("rsize", "1048576"), ("wsize", "1048576"), ("locks", "NLM")])),
            ("4.1".to_owned(), pairs(&[("rsize", "1048576"), ("wsize", "1048576"), ("slots", "256")])),
        ]),
        doubts: vec!["These numbers are made up.".to_owned()],
    }
}
