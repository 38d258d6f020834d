//! Whose a directory is: the process that made it, told apart from every other on every machine.

use serde::{Deserialize, Serialize};

/// Of the ninth field of /proc/PID/stat: the process runs nothing of its own any more (Linux,
/// `include/linux/sched.h`).
const PF_EXITING: u32 = 0x4;

/// A process, as it is written into what it makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    /// Name of its machine, for people.
    pub(crate) host: String,
    /// One running of one kernel.
    boot_id: String,
    /// Where its number counts: containers have numbers of their own.
    pid_namespace: String,
    /// Its number.
    pub(crate) pid: u32,
    /// When it began, in clock ticks since the kernel did: numbers come again.
    started_ticks: u64,
}

/// What is known of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// It runs.
    Alive,
    /// It has ended, for certain.
    Dead,
    /// It is or was elsewhere.
    Unknown,
}

impl Owner {
    /// The process with this number on this machine; none when there is none, or /proc does not tell.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        Some(Self {
            host: read("/proc/sys/kernel/hostname")?,
            boot_id: read("/proc/sys/kernel/random/boot_id")?,
            pid_namespace: pid_namespace()?,
            pid,
            started_ticks: started_ticks(pid)?,
        })
    }

    /// Whether the process still runs.
    pub(crate) fn life(&self) -> Life {
        let here = read("/proc/sys/kernel/random/boot_id").zip(pid_namespace());
        if here.as_ref() != Some(&(self.boot_id.clone(), self.pid_namespace.clone())) {
            return Life::Unknown;
        }
        if started_ticks(self.pid) == Some(self.started_ticks) { Life::Alive } else { Life::Dead }
    }
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn pid_namespace() -> Option<String> {
    std::fs::read_link("/proc/self/ns/pid").ok().map(|link| link.display().to_string())
}

/// When the process began; none when there is none, or it is past its end.
fn started_ticks(pid: u32) -> Option<u64> {
    running_since(&read(&format!("/proc/{pid}/stat"))?)
}

/// The 22nd field of /proc/PID/stat (proc_pid_stat(5)). A process that has ended and was not waited for
/// counts as gone, and so does one that is being ended: it may wait for good in a mount that it served
/// itself, until somebody takes that off.
fn running_since(stat: &str) -> Option<u64> {
    // The second field is a name in parentheses that may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let flags: u32 = fields.nth(5)?.parse().ok()?;
    if matches!(state, "Z" | "X") || flags & PF_EXITING != 0 {
        return None;
    }
    fields.nth(12)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_one_that_has_ended_does_not() {
        let own = Owner::of(std::process::id()).unwrap();
        assert_eq!(own.life(), Life::Alive);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let other = Owner::of(child.id()).unwrap();
        assert_eq!(other.life(), Life::Alive);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(other.life(), Life::Dead);
    }

    #[test]
    fn process_that_is_exiting_counts_as_ended() {
        let stat = |state: &str, flags: u32| {
            format!(
                "7 (a) D (b) {state} 1 7 7 0 -1 {flags} 0 0 0 0 1 2 0 0 20 0 1 0 4711 0 0 \
                 18446744073709551615"
            )
        };
        assert_eq!(running_since(&stat("S", 0x0040_0000)), Some(4711));
        assert_eq!(running_since(&stat("D", 0x0040_0000)), Some(4711), "it waits, and goes on");
        assert_eq!(running_since(&stat("D", 0x0040_0000 | PF_EXITING)), None);
        assert_eq!(running_since(&stat("Z", 0x0040_0000 | PF_EXITING)), None);
        assert_eq!(running_since("7 (a"), None);
    }

    #[test]
    fn a_number_that_came_again_is_another_process() {
        let mut own = Owner::of(std::process::id()).unwrap();
        own.started_ticks += 1;
        assert_eq!(own.life(), Life::Dead);
    }

    #[test]
    fn nothing_is_known_of_other_machines_and_containers() {
        let own = Owner::of(std::process::id()).unwrap();
        assert_eq!(Owner { boot_id: "another".to_owned(), ..own.clone() }.life(), Life::Unknown);
        assert_eq!(Owner { pid_namespace: "pid:[1]".to_owned(), ..own }.life(), Life::Unknown);
    }
}
