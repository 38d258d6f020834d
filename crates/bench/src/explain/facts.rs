//! What the rules look at: one cell, for each operation of the application.

use std::collections::BTreeMap;

use super::totals::Totals;
use crate::results::{Cell, Floors};

/// A cell in terms of one operation.
#[derive(Debug, Clone)]
pub(super) struct Facts<'a> {
    /// "v3", "v4.1".
    pub(super) name: String,
    /// The delay of the link.
    pub(super) rtt_ms: f64,
    /// Requests for each operation; none when none was completed.
    pub(super) requests: Option<f64>,
    /// The fewest that it could do with.
    pub(super) floors: Option<Floors>,
    /// The same by name.
    pub(super) by_name: BTreeMap<&'a str, f64>,
    /// Time that one thread spends on one operation.
    pub(super) operation_ms: Option<f64>,
    /// Bytes on the wire for each operation.
    pub(super) wire_bytes: Option<f64>,
    /// Bytes on the wire for each byte that the application read or wrote.
    pub(super) amplification: Option<f64>,
    /// Mean wait of a request inside the client.
    pub(super) queue_ms: f64,
    /// Mean time from request to reply.
    pub(super) wire_ms: f64,
    /// Share of the time of all processors of the clients' machine in which they worked.
    pub(super) busy: Option<f64>,
    /// Processor time of clients and server for each operation, as far as both are on this machine.
    pub(super) processor_ms: Option<f64>,
    /// The server's part of it.
    pub(super) server_ms: Option<f64>,
    /// Share of the time in which the busiest disk had requests.
    pub(super) disk_busy: Option<f64>,
    /// Share of the time of all processors of the server's machine in which they worked.
    pub(super) server_busy: Option<f64>,
    /// Time of all processors of that machine together for each operation.
    pub(super) server_machine_ms: Option<f64>,
    /// Share of the time in which the busiest disk of that machine had requests.
    pub(super) server_disk_busy: Option<f64>,
    /// Writes to the disk under the export for each operation; none unless it is known which disk that is.
    pub(super) disk_writes: Option<f64>,
    /// Recalls for each operation.
    pub(super) recalls: Option<f64>,
    /// Half of the interval of the mean ÷ the mean.
    pub(super) spread: Option<f64>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(cell: &'a Cell) -> Self {
        let all = Totals::of(cell);
        let each = |count: f64| (all.operations > 0.0).then(|| count / all.operations);
        let threads = f64::from(cell.setting.clients) * f64::from(cell.setting.threads);
        let used = all.resources;
        Self {
            name: cell.version_name(),
            rtt_ms: cell.setting.rtt_ms,
            requests: each(all.rpcs.values().sum()),
            floors: cell.floors,
            by_name: all.rpcs.iter().filter_map(|(name, count)| Some((*name, each(*count)?))).collect(),
            operation_ms: each(all.seconds * 1000.0 * threads).filter(|time| *time > 0.0),
            wire_bytes: each(all.wire_bytes),
            amplification: (all.application_bytes > 0.0).then(|| all.wire_bytes / all.application_bytes),
            queue_ms: all.queue_ms,
            wire_ms: all.wire_ms,
            busy: used.map(|used| used.busy),
            processor_ms: used.and_then(|used| {
                each((used.client_seconds + used.server_seconds.unwrap_or_default()) * 1000.0)
            }),
            server_ms: used.and_then(|used| each(used.server_seconds? * 1000.0)),
            disk_busy: used.and_then(|used| used.disk_busy),
            server_busy: used.and_then(|used| used.server_busy),
            server_machine_ms: used.and_then(|used| each(used.server_busy? * all.seconds * 1000.0)),
            server_disk_busy: used.and_then(|used| used.server_disk_busy),
            disk_writes: used.and_then(|used| {
                let disk = used.export_disk().filter(|disk| disk.is_of_export)?;
                each(disk.writes as f64)
            }),
            recalls: all.recalls.and_then(each),
            spread: cell.ci95.filter(|_| cell.mean > 0.0).map(|[low, high]| (high - low) / 2.0 / cell.mean),
        }
    }

    /// The share of a request's life that it waits inside the client; none when no time is known.
    pub(super) fn queue_share(&self) -> Option<f64> {
        let life = self.queue_ms + self.wire_ms;
        (life > 0.0).then(|| self.queue_ms / life)
    }

    /// The share of an operation's time that the delay alone explains: requests one after the other × delay.
    pub(super) fn delay_share(&self) -> Option<f64> {
        Some(self.requests? * self.rtt_ms / self.operation_ms?)
    }

    /// The share of the requests that only ask whether what is cached is still valid.
    pub(super) fn revalidation_share(&self) -> Option<f64> {
        let asked: f64 = ["GETATTR", "ACCESS"].iter().filter_map(|name| self.by_name.get(name)).sum();
        self.requests.filter(|requests| *requests > 0.0).map(|requests| asked / requests)
    }
}
