//! How much memory the process may take, as the machine and its control groups say.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// The least budget that is chosen, in bytes.
const BUDGET_BYTES_MIN: u64 = 64 << 20;
/// Of the memory that is available the server takes one part in so many.
const PARTS: u64 = 4;

/// The default memory budget of a server, in bytes: a quarter of the memory available on the machine
/// or of the least limit of its control groups, whichever is less, and at least 64 MiB. Looked up once.
pub(super) fn default_budget_bytes() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| budget_bytes(Path::new("/")))
}

fn budget_bytes(root: &Path) -> u64 {
    let limits = available_bytes(root).into_iter().chain(control_group_bytes(root));
    limits.min().map_or(BUDGET_BYTES_MIN, |bytes| (bytes / PARTS).max(BUDGET_BYTES_MIN))
}

/// The memory of the machine.
fn available_bytes(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: u64 = value.trim().trim_end_matches(" kB").parse().ok()?;
        kilobytes.checked_mul(1024)
    };
    field("MemAvailable:").or_else(|| field("MemTotal:"))
}

/// The least limit of the process's control groups and of all groups above them, of both versions.
fn control_group_bytes(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let limits = mounts.lines().filter_map(Hierarchy::of).flat_map(|hierarchy| {
        let own = hierarchy.group(&groups).map(|group| hierarchy.directory(&group));
        let names: Vec<PathBuf> = own.iter().flat_map(|own| own.ancestors()).map(Path::to_owned).collect();
        names
            .into_iter()
            .filter(|directory| directory.starts_with(&hierarchy.mount_point))
            .map(|directory| directory.join(hierarchy.file))
            .collect::<Vec<_>>()
    });
    limits.filter_map(|file| limit(&root.join(file.strip_prefix("/").ok()?))).min()
}

/// `max` is no limit.
fn limit(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// A mounted hierarchy of control groups that limits memory.
#[derive(Debug)]
struct Hierarchy {
    mount_point: PathBuf,
    /// Which group is at the mount point.
    mounted: PathBuf,
    /// The file of a group with its limit.
    file: &'static str,
    is_unified: bool,
}

impl Hierarchy {
    /// From a line of mountinfo (proc_pid_mountinfo(5)).
    fn of(line: &str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (mounted, mount_point) = (mount.next()?, mount.next()?);
        let mut file_system = file_system.split(' ');
        let (kind, options) = (file_system.next()?, file_system.nth(1)?);
        let (file, is_unified) = match kind {
            "cgroup2" => ("memory.max", true),
            "cgroup" if options.split(',').any(|option| option == "memory") => {
                ("memory.limit_in_bytes", false)
            }
            _ => return None,
        };
        Some(Self { mount_point: mount_point.into(), mounted: mounted.into(), file, is_unified })
    }

    /// The process's group, from /proc/self/cgroup (cgroups(7)).
    fn group(&self, groups: &str) -> Option<PathBuf> {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let is_this = match self.is_unified {
                true => controllers.is_empty(),
                false => controllers.split(',').any(|controller| controller == "memory"),
            };
            is_this.then(|| PathBuf::from(path))
        })
    }

    /// Where a group is. In a container the mounted group is the container's, and the path of the process's
    /// may lead outside.
    fn directory(&self, group: &Path) -> PathBuf {
        let below = group.strip_prefix(&self.mounted).unwrap_or(Path::new(""));
        let is_inside = below.components().all(|part| matches!(part, Component::Normal(_)));
        if is_inside { self.mount_point.join(below) } else { self.mount_point.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn budget(files: &[(&str, &str)]) -> u64 {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        budget_bytes(root.path())
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    4194304 kB\n");
    const MOUNTS: (&str, &str) = (
        "proc/self/mountinfo",
        "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n31 1 0:27 / /memory rw,relatime \
         shared:3 - cgroup cgroup rw,memory\n",
    );

    #[test]
    fn budget_is_a_quarter_of_what_is_available() {
        assert_eq!(budget(&[MEMINFO]), 1024 * MIB);
        assert_eq!(budget(&[("proc/meminfo", "MemTotal: 100000 kB\n")]), 64 * MIB);
        assert_eq!(budget(&[]), 64 * MIB);
    }

    #[test]
    fn limit_of_any_group_above_counts_in_both_versions() {
        let limits = |v2: &str, above: &str, v1: &str| {
            budget(&[
                MEMINFO,
                MOUNTS,
                ("proc/self/cgroup", "4:memory:/x/y\n3:cpu:/\n0::/a/b\n"),
                ("sys/fs/cgroup/a/b/memory.max", v2),
                ("sys/fs/cgroup/a/memory.max", above),
                ("memory/x/memory.limit_in_bytes", v1),
            ]) / MIB
        };
        assert_eq!(limits("max\n", "max\n", "9223372036854771712\n"), 1024);
        assert_eq!(limits("1073741824\n", "max\n", "9223372036854771712\n"), 256);
        assert_eq!(limits("max\n", "536870912\n", "9223372036854771712\n"), 128);
        assert_eq!(limits("max\n", "max\n", "268435456\n"), 64);
    }

    #[test]
    fn group_at_the_mount_point_counts_in_a_container() {
        let mounts = "30 1 0:26 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        for group in ["/docker/1", "/", "/../other"] {
            let group = format!("0::{group}\n");
            let files = [
                MEMINFO,
                ("proc/self/mountinfo", mounts),
                ("proc/self/cgroup", &group),
                ("sys/fs/cgroup/memory.max", "536870912\n"),
            ];
            assert_eq!(budget(&files), 128 * MIB, "{group}");
        }
    }
}
