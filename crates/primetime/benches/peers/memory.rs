//! What the servers hold of the machine's memory.

use std::fs;

use crate::foreign::ganesha::Ganesha;
use crate::ours::Ours;

/// Resident bytes of the servers on this machine.
pub fn all(ours: &Ours, ganesha: Option<&Ganesha>) -> Vec<(&'static str, u64)> {
    let mut all = vec![("primetime", resident_bytes(ours.process_id()))];
    all.extend(ganesha.and_then(|server| {
        let process = descendant(server.process_id(), "ganesha.nfsd")?;
        Some(("NFS-Ganesha", resident_bytes(process)))
    }));
    all
}

fn resident_bytes(process: u32) -> u64 {
    field(process, "VmRSS:").and_then(|kib| kib.parse::<u64>().ok()).expect("a running process") * 1024
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
