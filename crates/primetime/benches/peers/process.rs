//! What a server takes of the machine: memory and the processor's time.

use std::fs;

use crate::foreign::ganesha::Ganesha;

/// A server's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process(pub u32);

impl Process {
    /// The one of NFS-Ganesha, below what was started.
    pub fn of_ganesha(server: &Ganesha) -> Option<Self> {
        descendant(server.process_id(), "ganesha.nfsd").map(Self)
    }

    pub fn resident_bytes(self) -> u64 {
        field(self.0, "VmRSS:").and_then(|kib| kib.parse::<u64>().ok()).expect("a running process") * 1024
    }

    /// What it has had of the processor, in the kernel too, in seconds; the kernel tells it in ticks.
    pub fn processor_seconds(self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).expect("a running process");
        // Behind the name, which may be anything, in parentheses: utime and stime are the 14th and 15th of
        // all fields.
        let (_, fields) = stat.rsplit_once(')').expect("a name");
        let ticks: u64 = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|field| field.parse::<u64>().expect("ticks"))
            .sum();
        ticks as f64 / rustix::param::clock_ticks_per_second() as f64
    }
}

/// The first word of a line of a process's status.
fn field(process: u32, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next().map(str::to_owned)
}

/// A process of that name below `ancestor`.
fn descendant(ancestor: u32, name: &str) -> Option<u32> {
    let processes = fs::read_dir("/proc").ok()?;
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.into_iter().find(|process| {
        field(*process, "Name:").is_some_and(|found| found == name) && is_below(*process, ancestor)
    })
}

fn is_below(mut process: u32, ancestor: u32) -> bool {
    while process > 1 {
        if process == ancestor {
            return true;
        }
        let parent = field(process, "PPid:").and_then(|parent| parent.parse().ok());
        process = parent.unwrap_or(0);
    }
    false
}
