//! What a run took of the machines that clients and server ran on.

use serde::{Deserialize, Serialize};

/// Processor time and disks, from gate to gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Share of the time of all processors in which they worked, for whomever, from 0 to 1.
    pub busy: f64,
    /// Processor time of the clients, in seconds; of the kernel's for them, too.
    pub client_seconds: f64,
    /// The same of the benchmark's own server; none of a server that somebody else started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_seconds: Option<f64>,
    /// Share of the time in which the busiest disk of this machine had requests, from 0 to 1; none where no
    /// disk is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_busy: Option<f64>,
    /// Share of the time of all processors that other machines of the same host took; none where the kernel
    /// does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen: Option<f64>,
    /// Share of the time of all processors in which they had nothing to do while a request to a disk was
    /// under way; none where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_wait: Option<f64>,
    /// Counts of the disk under the export, where that is on this machine; none where nothing is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// As [`Resources::busy`], of the server's machine; none unless an agent there tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_busy: Option<f64>,
    /// As [`Resources::disk_busy`], of the server's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_disk_busy: Option<f64>,
    /// As [`Resources::io_wait`], of the server's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_io_wait: Option<f64>,
    /// As [`Resources::disk`], of the server's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_disk: Option<Disk>,
}

/// The work of a block device from gate to gate, or of all whole disks of a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// Whether the device is the one that the export is on. Otherwise the counts are those of all whole
    /// disks, for whomever.
    pub is_of_export: bool,
    /// Writes that it completed.
    pub writes: u64,
    /// The bytes of these writes.
    pub written_bytes: u64,
    /// Flushes that it completed; none where the kernel does not count them (before Linux 5.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// Transactions that the journal of ext4 committed; none without such a journal, and where its statistics
    /// cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_commits: Option<u64>,
}

impl Disk {
    /// Adds up the counts of several runs; none of those that one of them lacks.
    #[must_use]
    pub fn sum(disks: &[Self]) -> Option<Self> {
        let mut disks = disks.iter();
        let first = *disks.next()?;
        let add = |(one, other): (u64, u64)| one.saturating_add(other);
        Some(disks.fold(first, |sum, one| Self {
            is_of_export: sum.is_of_export && one.is_of_export,
            writes: add((sum.writes, one.writes)),
            written_bytes: add((sum.written_bytes, one.written_bytes)),
            flushes: sum.flushes.zip(one.flushes).map(add),
            journal_commits: sum.journal_commits.zip(one.journal_commits).map(add),
        }))
    }
}

impl Resources {
    /// The disk under the export: as an agent on the server's machine tells it, or of this machine.
    #[must_use]
    pub fn export_disk(&self) -> Option<Disk> {
        self.server_disk.or(self.disk)
    }

    /// Returns the share of `processors` that other programs, or other machines of the same host, used in
    /// `seconds`. `None` unless the benchmark started the server: any other server may be anywhere.
    #[must_use]
    pub fn used_by_others(&self, seconds: f64, processors: u32) -> Option<f64> {
        let own = self.client_seconds + self.server_seconds?;
        let all = seconds * f64::from(processors);
        (all > 0.0).then(|| (self.busy - own / all).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_runs_are_added_where_all_runs_have_them() {
        let disk = |writes, flushes, is_of_export| Disk {
            is_of_export,
            writes,
            written_bytes: writes,
            flushes,
            journal_commits: Some(writes),
        };
        let sum = Disk::sum(&[disk(2, Some(1), true), disk(3, None, true), disk(u64::MAX, Some(1), false)])
            .unwrap();
        assert_eq!((sum.writes, sum.flushes, sum.journal_commits), (u64::MAX, None, Some(u64::MAX)));
        assert!(!sum.is_of_export);
        assert_eq!(Disk::sum(&[disk(2, Some(1), true)]), Some(disk(2, Some(1), true)));
        assert_eq!(Disk::sum(&[]), None);
    }

    #[test]
    fn others_have_what_is_left_of_the_processors() {
        let used =
            Resources { busy: 0.9, client_seconds: 0.3, server_seconds: Some(0.2), ..Resources::default() };
        let share = used.used_by_others(0.5, 2).unwrap();
        assert!((share - 0.4).abs() < 1e-12, "{share}");
        assert_eq!(used.used_by_others(0.25, 2), Some(0.0), "rounding is nobody");
        assert_eq!(Resources { server_seconds: None, ..used }.used_by_others(0.5, 2), None);
    }
}
