//! Counting by callgrind, and reading what it has counted.

use std::ops::Sub;
use std::path::Path;
use std::process::Command;

/// Creates of a short and of a long run: what these differ by is of the creates alone.
const SHORT: usize = 1000;
const LONG: usize = 3000;

/// Of one create.
pub struct Cost {
    pub instructions: f64,
    pub allocations: f64,
}

pub fn count(version: &str, at_once: usize) -> Cost {
    let short = run(version, SHORT, at_once);
    let difference = run(version, LONG, at_once) - short;
    let each = |count: u64| count as f64 / (LONG - SHORT) as f64;
    Cost { instructions: each(difference.instructions), allocations: each(difference.allocations) }
}

/// Of a whole run.
struct Counts {
    instructions: u64,
    allocations: u64,
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            instructions: self.instructions - other.instructions,
            allocations: self.allocations - other.allocations,
        }
    }
}

fn run(version: &str, creates: usize, at_once: usize) -> Counts {
    let file = std::env::temp_dir().join(format!("creates-{version}-{at_once}.callgrind"));
    let counted = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--compress-strings=no"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe().unwrap())
        .args(["run", version, &creates.to_string(), &at_once.to_string()])
        .output()
        .unwrap();
    assert!(counted.status.success(), "{}", String::from_utf8_lossy(&counted.stderr));
    read(&file)
}

fn read(file: &Path) -> Counts {
    let text = std::fs::read_to_string(file).unwrap();
    let (mut counts, mut called) = (Counts { instructions: 0, allocations: 0 }, "");
    for line in text.lines() {
        if let Some(total) = line.strip_prefix("totals: ") {
            counts.instructions = total.trim().parse().unwrap();
        } else if let Some(function) = line.strip_prefix("cfn=") {
            called = function;
        } else if let Some(calls) = line.strip_prefix("calls=")
            && is_allocation(called)
        {
            counts.allocations += calls.split(' ').next().unwrap().parse::<u64>().unwrap();
        }
    }
    counts
}

/// True for what Rust's side calls of the allocator; what that calls of itself is not counted again.
fn is_allocation(function: &str) -> bool {
    ["mi_malloc_aligned", "mi_zalloc_aligned", "mi_realloc_aligned"].contains(&function)
}
