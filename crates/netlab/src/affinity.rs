//! Pins processes and threads to processors. Owns nothing; asks the kernel.

use std::io;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Pins the calling thread, and the threads and processes that it starts from now on, to one processor.
///
/// # Errors
/// `InvalidInput` when there is no processor `cpu` or this process may not use it.
pub fn pin_current_thread(cpu: usize) -> io::Result<()> {
    pin(None, cpu)
}

/// Pins the main thread of process `pid`, and what that thread starts from now on, to one processor.
/// Threads that already run are left where they are, so pin a process before it grows.
///
/// # Errors
/// `NotFound` when there is no such process; otherwise as [`pin_current_thread`].
pub fn pin_process(pid: u32, cpu: usize) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
    pin(Some(pid), cpu).map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::SRCH.raw_os_error() => io::ErrorKind::NotFound.into(),
        _ => error,
    })
}

/// The processors that the calling thread may use, in ascending order.
///
/// # Errors
/// Whatever the kernel answers; more processors than its set can express is the only known case.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

fn pin(pid: Option<Pid>, cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(pid, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_thread_uses_its_processor_and_others_keep_theirs() {
        let before = allowed_cpus().unwrap();
        let last = *before.last().unwrap();
        let pinned = std::thread::spawn(move || {
            pin_current_thread(last).unwrap();
            allowed_cpus().unwrap()
        });
        assert_eq!(pinned.join().unwrap(), [last]);
        assert_eq!(allowed_cpus().unwrap(), before);
    }

    #[test]
    fn a_process_is_pinned_by_its_id() {
        let cpu = allowed_cpus().unwrap()[0];
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        pin_process(child.id(), cpu).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        assert_eq!(list.trim(), cpu.to_string());
    }

    #[test]
    fn a_processor_that_does_not_exist_is_invalid_input() {
        for cpu in [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU, usize::MAX] {
            assert_eq!(pin_current_thread(cpu).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{cpu}");
        }
    }

    #[test]
    fn a_process_that_does_not_exist_is_not_found() {
        for pid in [0, u32::MAX, i32::MAX as u32] {
            assert_eq!(pin_process(pid, 0).unwrap_err().kind(), io::ErrorKind::NotFound, "{pid}");
        }
    }
}
