//! What it costs to create an empty file, NFSv3 beside NFSv4.1, client and server together, in instructions
//! and allocations: `cargo bench -p primetime-client --bench creates`. Neither depends on how busy the
//! machine is.
//!
//! Client and server run in one thread over loopback, with files in memory, under `valgrind
//! --tool=callgrind`, which must be installed. What the kernel does is not counted. Nothing here is asserted:
//! it prints figures and ratios. To see which functions they are of: `callgrind_annotate` on the files
//! `creates-*.callgrind` that it leaves in the directory for temporary files.

#![allow(missing_docs, unreachable_pub, clippy::print_stdout, clippy::unwrap_used)]

mod count;
mod run;
mod world;

use client::Version;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [run, version, creates, at_once] if run == "run" => {
            run::run(version_of(version), creates.parse().unwrap(), at_once.parse().unwrap());
        }
        _ => compare(),
    }
}

fn compare() {
    println!("{:>8}  {:>24}  {:>24}  {:>6}", "", "NFSv3", "NFSv4.1", "");
    println!(
        "{:>8}  {:>13}{:>11}  {:>13}{:>11}  {:>6}",
        "at once", "instructions", "allocated", "instructions", "allocated", "ratio"
    );
    for at_once in [1, 16] {
        let [v3, v4] = ["3", "4.1"].map(|version| count::count(version, at_once));
        let row = |cost: &count::Cost| format!("{:>13.0}{:>11.2}", cost.instructions, cost.allocations);
        let ratio = v4.instructions / v3.instructions;
        println!("{at_once:>8}  {}  {}  {ratio:>6.3}", row(&v3), row(&v4));
    }
}

fn version_of(text: &str) -> Version {
    match text {
        "3" => Version::V3,
        _ => Version::V4_1,
    }
}
