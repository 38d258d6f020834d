//! What the Linux client and the client library need for the same work at the same server, in requests and in
//! seconds: `cargo bench -p primetime --bench linux_client [-- --quick] [--rtt-ms 0,1,10] [--arms v4.1,v3]
//! [--workloads tree,create]`. Needs root and the packages of a guest with Linux. Everything runs on one
//! core, as the guest must; nothing is asserted. At 10 ms the trees take Linux half an hour for each arm.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

mod linux;
mod ours;
mod place;

use std::collections::BTreeMap;

use netlab::guest::Lab;
use place::Place;

/// What is measured, in this order: each of a tree stands on what was made before it.
const WORKLOADS: [&str; 9] = [
    "locked-read",
    "locked-read-once",
    "small-file-read",
    "create",
    "create-4k",
    "tree-extract",
    "tree-copy",
    "tree-list",
    "tree-remove",
];

/// A version, with delegations or without.
#[derive(Clone, Copy)]
struct Arm {
    name: &'static str,
    version: client::Version,
    delegations: bool,
}

const ARMS: [Arm; 3] = [
    Arm { name: "v3", version: client::Version::V3, delegations: false },
    Arm { name: "v4.1", version: client::Version::V4_1, delegations: true },
    Arm { name: "v4.1-no-delegations", version: client::Version::V4_1, delegations: false },
];

/// How much there is to do.
#[derive(Clone, Copy)]
struct Size {
    files: usize,
    tree_directories: usize,
    tree_files: usize,
}

const FULL: Size = Size { files: 1000, tree_directories: 500, tree_files: 5000 };
const QUICK: Size = Size { files: 100, tree_directories: 30, tree_files: 300 };

#[derive(Clone, Copy)]
struct Measured {
    seconds: f64,
    requests: u64,
}

/// By arm and workload.
type Results = BTreeMap<(&'static str, &'static str), Measured>;

/// What the arguments ask for.
struct Wanted {
    size: Size,
    delays_ms: Vec<u32>,
    arms: Vec<Arm>,
    workloads: Vec<&'static str>,
}

impl Wanted {
    fn from_arguments() -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let value = |name: &str| {
            arguments
                .iter()
                .position(|argument| argument == name)
                .and_then(|at| arguments.get(at + 1))
                .cloned()
        };
        let arms = value("--arms");
        let workloads = value("--workloads");
        let named = |list: &Option<String>, name: &str| {
            list.as_ref().is_none_or(|list| {
                list.split(',').any(|part| name == part || name.starts_with(&format!("{part}-")))
            })
        };
        Self {
            size: if arguments.iter().any(|argument| argument == "--quick") { QUICK } else { FULL },
            delays_ms: value("--rtt-ms")
                .unwrap_or_else(|| "0,1,10".into())
                .split(',')
                .map(|delay| delay.parse().unwrap())
                .collect(),
            arms: ARMS
                .into_iter()
                .filter(|arm| arms.as_ref().is_none_or(|arms| arms.split(',').any(|part| part == arm.name)))
                .collect(),
            workloads: WORKLOADS.into_iter().filter(|name| named(&workloads, name)).collect(),
        }
    }
}

fn main() {
    let wanted = Wanted::from_arguments();
    for delay_ms in &wanted.delays_ms {
        measure(&wanted, *delay_ms);
    }
}

fn measure(wanted: &Wanted, delay_ms: u32) {
    let size = wanted.size;
    let lab = Lab::new().unwrap();
    let place = Place::prepare(&lab, size);
    let linux = linux::measure(&lab, &place, wanted, delay_ms);
    let ours = lab.inside(|| ours::measure(&place, wanted, delay_ms)).unwrap();
    println!(
        "\n{delay_ms} ms; {} small files, a tree of {} files in {} directories",
        size.files, size.tree_files, size.tree_directories
    );
    println!(
        "{:<18}{:<22}{:>10}{:>10}{:>12}{:>12}{:>10}",
        "", "", "Linux", "primetime", "Linux s", "primetime s", "ratio"
    );
    for workload in &wanted.workloads {
        for arm in &wanted.arms {
            let key = (arm.name, *workload);
            let ours = ours[&key];
            let (requests, seconds, ratio) = match linux.get(&key) {
                Some(linux) => (
                    linux.requests.to_string(),
                    format!("{:.3}", linux.seconds),
                    format!("{:.1}", linux.seconds / ours.seconds),
                ),
                None => ("-".into(), "-".into(), "-".into()),
            };
            println!(
                "{workload:<18}{:<22}{requests:>10}{:>10}{seconds:>12}{:>12.3}{ratio:>10}",
                arm.name, ours.requests, ours.seconds
            );
        }
    }
}
