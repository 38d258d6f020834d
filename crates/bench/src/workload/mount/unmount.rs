//! What is mounted where, and how it comes off: gently, or by force where whoever answers for it is gone or
//! silent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// Where the kernel shows its connections to file systems in user space.
const CONNECTIONS: &str = "/sys/fs/fuse/connections";

/// One line of /proc/self/mountinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mounted {
    /// Where.
    pub(crate) point: PathBuf,
    /// Such as `nfs4` or `fuse.primetime`.
    pub(crate) kind: String,
    /// What the file system itself says of its options.
    pub(crate) options: String,
    minor: u32,
}

/// What is mounted on `directory` or below it, in the order in which it was mounted.
pub(crate) fn mounted_below(directory: &Path) -> Vec<Mounted> {
    // Not there without /proc, and then nothing can be said.
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    text.lines().filter_map(line).filter(|mounted| mounted.point.starts_with(directory)).collect()
}

/// `id parent major:minor root point options … - kind source options` (proc_pid_mountinfo(5)).
fn line(text: &str) -> Option<Mounted> {
    let (before, after) = text.split_once(" - ")?;
    let mut before = before.split(' ').skip(2);
    let minor = before.next()?.split_once(':')?.1.parse().ok()?;
    let point = PathBuf::from(netlab::guest::mountstats::unescape(before.nth(1)?));
    let mut after = after.split(' ');
    let kind = after.next()?.to_owned();
    Some(Mounted { point, kind, options: after.nth(1).unwrap_or_default().to_owned(), minor })
}

/// The kernel's end of a file system in user space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Connection {
    minor: u32,
}

impl Connection {
    /// Of the one that is mounted on `point`.
    pub(super) fn of(point: &Path) -> Option<Self> {
        let point = point.canonicalize().ok()?;
        mounted_below(&point).last().and_then(Mounted::connection)
    }

    /// Lets everything fail that waits for an answer, now and from now on. Without this a process that was
    /// killed while its own threads waited for it never ends: they wait in the kernel, and keep the
    /// connection open that they wait for.
    pub(super) fn break_off(self) {
        let abort =
            |connections: &Path| fs::write(connections.join(self.minor.to_string()).join("abort"), "1");
        if abort(Path::new(CONNECTIONS)).is_ok() {
            return;
        }
        // Few containers have it mounted. Where this may not be done there is nothing better to do.
        let Ok(own) = tempfile::tempdir() else { return };
        if mount("fusectl", own.path(), "fusectl", MountFlags::empty(), None).is_ok() {
            // It has gone meanwhile, or this is the last that can be done.
            let _ = abort(own.path());
            let _ = unmount(own.path(), UnmountFlags::DETACH);
        }
    }
}

impl Mounted {
    fn connection(&self) -> Option<Connection> {
        self.kind.starts_with("fuse").then_some(Connection { minor: self.minor })
    }
}

/// Unmounts what is on `point`, without waiting for those who use it.
pub(super) fn gently_or_by_force(point: &Path) {
    if unmount(point, UnmountFlags::empty()).is_err() {
        // Whatever it says: the next benchmark looks again.
        let _ = by_force(point);
    }
}

/// Takes everything off `directory` and what is below it, whoever uses it. False when something stays.
pub(crate) fn all_below(directory: &Path) -> bool {
    // What was mounted last may be on top of what was before.
    for mounted in mounted_below(directory).iter().rev() {
        if let Some(connection) = mounted.connection() {
            connection.break_off();
        }
        // Looked at below.
        let _ = by_force(&mounted.point);
    }
    mounted_below(directory).is_empty()
}

fn by_force(point: &Path) -> io::Result<()> {
    match unmount(point, UnmountFlags::FORCE | UnmountFlags::DETACH) {
        Err(rustix::io::Errno::PERM) => {
            // Only root may; for others there is a helper.
            let helper =
                std::process::Command::new("fusermount3").args(["-u", "-z", "--"]).arg(point).output()?;
            if helper.status.success() {
                return Ok(());
            }
            Err(io::Error::other(String::from_utf8_lossy(&helper.stderr).trim().to_owned()))
        }
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_read_with_its_kind_its_options_and_its_number() {
        let text =
            r"131 25 0:57 / /tmp/a\040b/0 rw,nosuid shared:7 - fuse.primetime primetime-bench rw,user_id=0";
        let mounted = line(text).unwrap();
        assert_eq!(mounted.point, Path::new("/tmp/a b/0"));
        assert_eq!((mounted.kind.as_str(), mounted.options.as_str()), ("fuse.primetime", "rw,user_id=0"));
        assert_eq!(mounted.connection(), Some(Connection { minor: 57 }));
        let nfs = line("99 25 0:60 / /mnt rw - nfs4 h:/ rw,vers=4.1,rsize=1048576").unwrap();
        assert_eq!((nfs.connection(), nfs.options.as_str()), (None, "rw,vers=4.1,rsize=1048576"));
        assert_eq!(line("nonsense"), None);
    }

    #[test]
    fn where_nothing_is_mounted_nothing_has_to_go() {
        let directory = tempfile::tempdir().unwrap();
        assert!(all_below(directory.path()) && directory.path().is_dir());
        assert!(mounted_below(Path::new("/")).iter().any(|mounted| mounted.point == Path::new("/")));
    }
}
