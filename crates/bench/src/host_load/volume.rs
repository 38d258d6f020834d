//! The block device that holds an export: its writes, its flushes, and the commits of its journal.
//!
//! Owns the choice of the device. Counters that a kernel does not have are left out.

use std::fs::Metadata;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::diskstats::{Device, devices, disk_of, is_virtual, whole_disks};
use crate::results::Disk;

/// Statistics of the journals of ext4, in a directory for each: `vda1-8/info`.
const JOURNALS: &str = "/proc/fs/jbd2";
/// The most journals that are read.
const JOURNALS_MAX: usize = 256;
/// The most mounts that are looked at.
const MOUNTS_MAX: usize = 256;

/// Counters at one moment, of the export's device or of all whole disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Volume {
    /// Whether the device is the one that the export is on.
    is_of_export: bool,
    writes: u64,
    written_bytes: u64,
    flushes: Option<u64>,
    journal_commits: Option<u64>,
}

impl Volume {
    /// Returns the counters of the device that has the first of `exports` that exists, from `diskstats`. A
    /// file system without a device of its own (overlay, btrfs, tmpfs) stands for all whole disks; `None`
    /// without any.
    pub(super) fn look<P: AsRef<Path>>(exports: &[P], diskstats: &str) -> Option<Self> {
        let number = found(exports).map(|metadata| device_number(&metadata));
        Self::of(number, &devices(diskstats), &journals(Path::new(JOURNALS)))
    }

    /// The same of the device with this major and minor number.
    fn of(number: Option<(u32, u32)>, all: &[Device], journals: &[(String, u64)]) -> Option<Self> {
        let is_own = |device: &&Device| Some((device.major, device.minor)) == number;
        if let Some(own) = all.iter().find(is_own) {
            let commits = journals.iter().find(|(name, _)| *name == own.name.replace('/', "!"));
            return Some(Self {
                is_of_export: true,
                writes: own.writes,
                written_bytes: own.written_bytes,
                // The kernel counts the flushes of a partition with its disk.
                flushes: disk_of(all, own).unwrap_or(own).flushes,
                journal_commits: commits.map(|(_, commits)| *commits),
            });
        }
        let disks: Vec<&Device> = whole_disks(all).collect();
        let sum = |of: fn(&Device) -> u64| disks.iter().fold(0_u64, |sum, disk| sum.saturating_add(of(disk)));
        let commits = journals.iter().filter(|(name, _)| !is_in_memory(name)).map(|(_, commits)| *commits);
        (!disks.is_empty()).then(|| Self {
            is_of_export: false,
            writes: sum(|disk| disk.writes),
            written_bytes: sum(|disk| disk.written_bytes),
            flushes: disks.iter().filter_map(|disk| disk.flushes).reduce(u64::saturating_add),
            journal_commits: commits.reduce(u64::saturating_add),
        })
    }

    /// Returns the work since `earlier`; `None` when that was another device.
    pub(super) fn since(&self, earlier: &Self) -> Option<Disk> {
        let since = |(now, before): (u64, u64)| now.saturating_sub(before);
        (self.is_of_export == earlier.is_of_export).then(|| Disk {
            is_of_export: self.is_of_export,
            writes: since((self.writes, earlier.writes)),
            written_bytes: since((self.written_bytes, earlier.written_bytes)),
            flushes: self.flushes.zip(earlier.flushes).map(since),
            journal_commits: self.journal_commits.zip(earlier.journal_commits).map(since),
        })
    }
}

/// Returns the first of `exports` that exists: as it stands, or below a mount point, since a server may show
/// an export under a shorter path than it has.
fn found<P: AsRef<Path>>(exports: &[P]) -> Option<Metadata> {
    let as_it_stands = exports.iter().find_map(|export| std::fs::metadata(export).ok());
    as_it_stands.or_else(|| {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let below = |mount: &Path| {
            let relative = |export: &P| Some(mount.join(export.as_ref().strip_prefix("/").ok()?));
            exports.iter().filter_map(relative).find_map(|path| std::fs::metadata(path).ok())
        };
        mount_points(&mounts).find_map(below)
    })
}

/// Returns the mount points of block devices in `mounts`. A look at another file system might wait for its
/// server.
fn mount_points(mounts: &str) -> impl Iterator<Item = &Path> {
    mounts.lines().take(MOUNTS_MAX).filter_map(|line| {
        let mut words = line.split_whitespace();
        let (device, point) = (words.next()?, words.next()?);
        // A name with blanks is written with escapes, and is not looked at.
        (device.starts_with("/dev/") && !point.contains('\\')).then_some(Path::new(point))
    })
}

fn device_number(metadata: &Metadata) -> (u32, u32) {
    let device = std::os::unix::fs::MetadataExt::dev(metadata);
    (rustix::fs::major(device), rustix::fs::minor(device))
}

/// Whether the journal of this device is on a loop device or in memory. A journal on `dm-` or `md` counts:
/// the disks behind it have no journal of their own.
fn is_in_memory(name: &str) -> bool {
    is_virtual(name) && !name.starts_with("dm-") && !name.starts_with("md")
}

/// Returns the commits of each journal below `directory` by the name of its device; empty where nothing can
/// be read.
fn journals(directory: &Path) -> Vec<(String, u64)> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let journal = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        // The inode of the journal comes last.
        let (device, _inode) = name.rsplit_once('-')?;
        let info = std::fs::read_to_string(entry.path().join("info")).ok()?;
        Some((device.to_owned(), commits(&info)?))
    };
    entries.take(JOURNALS_MAX).flatten().filter_map(journal).collect()
}

/// Returns the committed transactions in the `info` of a journal.
fn commits(info: &str) -> Option<u64> {
    let mut words = info.split_whitespace();
    let count = words.next()?.parse().ok()?;
    words.next()?.starts_with("transaction").then_some(count)
}

#[cfg(test)]
mod tests {
    use super::super::diskstats::tests::TEXT;
    use super::*;

    /// Of Linux 6.1.
    const INFO: &str = "1234 transactions (1200 requested), each up to 8192 blocks
average: 
  0ms waiting for transaction
  0ms request delay
  20ms running transaction
  0ms transaction was being locked
  0ms flushing data (in ordered mode)
  4ms logging transaction
  4523us average transaction commit time
  3 handles per transaction
  2 blocks per transaction
  3 logged blocks per transaction
";

    #[test]
    fn commits_are_the_first_number_of_the_journal() {
        assert_eq!(commits(INFO), Some(1234));
        for wrong in ["", "1234", "x transactions", "99999999999999999999 transactions", "7 blocks"] {
            assert_eq!(commits(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn journals_are_read_by_device_and_absent_ones_are_no_error() {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [("vda1-8", INFO), ("dm-0-8", "7 transactions"), ("broken", INFO)] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
            std::fs::write(directory.path().join(name).join("info"), text).unwrap();
        }
        std::fs::create_dir(directory.path().join("vdb-8")).unwrap();
        let mut found = journals(directory.path());
        found.sort();
        assert_eq!(found, [("dm-0".to_owned(), 7), ("vda1".to_owned(), 1234)]);
        assert_eq!(journals(&directory.path().join("absent")), []);
    }

    fn journal(name: &str, commits: u64) -> (String, u64) {
        (name.to_owned(), commits)
    }

    #[test]
    fn partition_has_its_own_writes_and_the_flushes_of_its_disk() {
        let all = devices(TEXT);
        let volume = Volume::of(Some((254, 1)), &all, &[journal("vda", 5), journal("vda1", 9)]).unwrap();
        let expected = Volume {
            is_of_export: true,
            writes: 22_645_000,
            written_bytes: 714_260_000 * 512,
            flushes: Some(4_788_617),
            journal_commits: Some(9),
        };
        assert_eq!(volume, expected);
        let earlier = Volume { writes: 22_644_990, flushes: None, journal_commits: Some(7), ..expected };
        let disk = Disk {
            is_of_export: true,
            writes: 10,
            written_bytes: 0,
            flushes: None,
            journal_commits: Some(2),
        };
        assert_eq!(volume.since(&earlier), Some(disk));
        assert_eq!(volume.since(&Volume { is_of_export: false, ..earlier }), None);
    }

    #[test]
    fn file_system_without_a_device_stands_for_all_whole_disks() {
        let all = devices(TEXT);
        let journals = [journal("loop0", 100), journal("vda1", 9), journal("dm-0", 1)];
        let volume = Volume::of(Some((0, 27)), &all, &journals).unwrap();
        let expected = Volume {
            is_of_export: false,
            writes: 22_645_499 + 40 + 4,
            written_bytes: (714_269_664 + 50 + 5) * 512,
            flushes: Some(4_788_617),
            journal_commits: Some(10),
        };
        assert_eq!(volume, expected);
        assert_eq!(Volume::of(None, &all, &[]).unwrap().journal_commits, None);
        assert_eq!(Volume::of(None, &[], &journals), None, "no disk is counted");
    }

    #[test]
    fn mount_points_are_those_of_block_devices() {
        let mounts = "/dev/vda / ext4 rw 0 0\nserver:/x /mnt nfs rw 0 0\n/dev/vdb1 /srv/a\\040b ext4 rw 0 0\n\
                      /dev/vdb2 /srv/data xfs rw 0 0\n/dev/broken\n";
        let points: Vec<&Path> = mount_points(mounts).collect();
        assert_eq!(points, [Path::new("/"), Path::new("/srv/data")]);
    }

    #[test]
    fn first_export_that_exists_decides() {
        let metadata = std::fs::metadata("/proc").unwrap();
        assert_eq!(device_number(&metadata).0, 0, "proc has no device");
        let volume = Volume::look(&["/absent/export", "/proc"], TEXT).unwrap();
        assert!(!volume.is_of_export, "{volume:?}");
    }
}
