//! The counters in the text format of Prometheus (exposition format 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write;

use rpc::MemoryUse;

use super::events::RECALL_BUCKETS_MS;
use super::table::{BUCKETS, ExportLabel, Sum, bucket_end};
use super::{Events, Metrics, OperationIndex};
use crate::exports::ExportId;

/// What there is at the moment of being asked.
#[derive(Debug, Clone, Default)]
pub struct Gauges {
    /// Where each export appears.
    pub exports: Vec<(ExportId, String)>,
    /// Clients of NFSv4, confirmed or not.
    pub clients: u64,
    /// Sessions.
    pub sessions: u64,
    /// Slots of sessions in which a request is under way.
    pub slots_in_use: u64,
    /// Bytes that are taken or promised for slots and the replies in them.
    pub reply_cache_bytes: u64,
    /// The use of the memory budget.
    pub memory: MemoryUse,
    /// What is held of files.
    pub held: state::Totals,
    /// Only what was held before a restart may be had.
    pub in_grace: bool,
    /// Clients that held state before the restart and are not done reclaiming.
    pub awaited_clients: u64,
    /// The records in the state directory can be written.
    pub are_records_writable: bool,
    /// How often they became unwritable since the start.
    pub records_failures: u64,
}

/// Of exports that are not there any more, or are too many.
const OTHER: &str = "other";

type Sums = BTreeMap<(String, usize), (OperationIndex, Sum)>;

impl Metrics {
    /// Everything, as a scraper reads it.
    pub fn text(&self, events: &Events, gauges: &Gauges) -> String {
        let mut text = String::new();
        let sums = self.sums(&gauges.exports);
        write_operations(&mut text, &sums);
        write_durations(&mut text, &sums);
        write_gauges(&mut text, events, gauges);
        write_events(&mut text, events);
        text
    }

    fn sums(&self, exports: &[(ExportId, String)]) -> Sums {
        let mut sums = Sums::new();
        for (place, operation, row) in self.threads.iter().flat_map(super::table::Thread::rows) {
            let mut sum = Sum::default();
            row.add_to(&mut sum);
            if sum.count == 0 {
                continue;
            }
            let name = match place {
                ExportLabel::Nowhere => "",
                ExportLabel::Other => OTHER,
                ExportLabel::Export(id) => {
                    exports.iter().find(|(known, _)| *known == id).map_or(OTHER, |(_, n)| n)
                }
            };
            let entry = sums.entry((name.to_owned(), operation.row()));
            row.add_to(&mut entry.or_insert((operation, Sum::default())).1);
        }
        sums
    }
}

/// Writes the head of a metric.
fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    // A string takes everything.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// Writes a metric that has one value.
fn single(text: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    head(text, name, kind, help);
    let _ = writeln!(text, "{name} {value}");
}

/// A value of a label, as the format wants it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn labels(export: &str, operation: OperationIndex) -> Option<String> {
    let named = operation.named()?;
    let (program, operation, export) = (named.program, named.operation, escaped(export));
    Some(format!("program=\"{program}\",operation=\"{operation}\",export=\"{export}\""))
}

fn write_operations(text: &mut String, sums: &Sums) {
    let name = "primetime_operations_total";
    head(text, name, "counter", "Operations that have ended.");
    for ((export, _), (operation, sum)) in sums {
        if let Some(labels) = labels(export, *operation) {
            let _ = writeln!(text, "{name}{{{labels}}} {}", sum.count);
        }
    }
    let name = "primetime_operation_errors_total";
    head(text, name, "counter", "Operations that have ended with a status other than success.");
    for ((export, _), (operation, sum)) in sums {
        let Some((named, labels)) = operation.named().zip(labels(export, *operation)) else { continue };
        for (code, count) in &sum.failures {
            let _ = writeln!(text, "{name}{{{labels},status=\"{}\"}} {count}", (named.status)(*code));
        }
    }
    for (name, wanted, help) in [
        ("primetime_read_bytes_total", "READ", "Bytes of file data that were read."),
        ("primetime_written_bytes_total", "WRITE", "Bytes of file data that were written."),
    ] {
        head(text, name, "counter", help);
        for ((export, _), (operation, sum)) in sums {
            if let Some(named) = operation.named().filter(|named| named.operation == wanted) {
                let (program, export) = (named.program, escaped(export));
                let _ = writeln!(text, "{name}{{program=\"{program}\",export=\"{export}\"}} {}", sum.bytes);
            }
        }
    }
}

fn write_durations(text: &mut String, sums: &Sums) {
    let name = "primetime_operation_duration_seconds";
    head(text, name, "histogram", "How long operations took, of one request in eight.");
    for ((export, _), (operation, sum)) in sums {
        let Some(labels) = labels(export, *operation) else { continue };
        let mut below = 0;
        for (index, count) in sum.timed.iter().enumerate().take(BUCKETS - 1) {
            below += count;
            let end = bucket_end(index).map_or(f64::INFINITY, |end| end as f64 / 1e9);
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{end}\"}} {below}");
        }
        let all: u64 = sum.timed.iter().sum();
        let seconds = sum.timed_nanoseconds as f64 / 1e9;
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {all}");
        let _ = writeln!(text, "{name}_sum{{{labels}}} {seconds}\n{name}_count{{{labels}}} {all}");
    }
}

fn write_gauges(text: &mut String, events: &Events, gauges: &Gauges) {
    let held = &gauges.held;
    let memory = &gauges.memory;
    for (name, help, value) in [
        ("primetime_memory_budget_bytes", "The memory budget.", memory.total),
        ("primetime_memory_share_bytes", "What one client may be charged.", memory.share),
        ("primetime_memory_heaviest_client_bytes", "What the heaviest client is charged.", memory.heaviest),
        (
            "primetime_connections_stopped",
            "Connections that are not read because their client is over its share of memory.",
            memory.stopped_connections,
        ),
        ("primetime_clients", "Clients of NFSv4.", gauges.clients),
        ("primetime_sessions", "Sessions of NFSv4 clients.", gauges.sessions),
        ("primetime_slots_in_use", "Slots of sessions with a request under way.", gauges.slots_in_use),
        ("primetime_reply_cache_bytes", "Memory for slots and kept replies.", gauges.reply_cache_bytes),
        ("primetime_opens", "Opens of NFSv4.", held.opens as u64),
        ("primetime_locks", "Locked ranges, of NFSv4 and NLM.", held.locks as u64),
        ("primetime_delegations", "Delegations that are out.", held.delegations as u64),
        ("primetime_shares", "Share reservations of NLM.", held.shares as u64),
        ("primetime_grace", "1 in the grace period after a restart, else 0.", gauges.in_grace.into()),
        ("primetime_grace_clients", "Clients that may still reclaim.", gauges.awaited_clients),
        ("primetime_connections", "Connections that are open.", events.connections_open()),
        (
            "primetime_records_writable",
            "1 while the records in the state directory can be written, else 0.",
            gauges.are_records_writable.into(),
        ),
    ] {
        single(text, name, "gauge", help, value);
    }
    let help = "How often the records in the state directory became unwritable.";
    single(text, "primetime_records_failures_total", "counter", help, gauges.records_failures);
    let name = "primetime_memory_bytes";
    head(text, name, "gauge", "Memory that is held for clients, by what for.");
    for (kind, bytes) in memory_kinds(memory) {
        let _ = writeln!(text, "{name}{{kind=\"{kind}\"}} {bytes}");
    }
}

/// The kinds of memory in use.
fn memory_kinds(memory: &MemoryUse) -> [(&'static str, u64); 6] {
    [
        ("requests", memory.requests),
        ("replies", memory.replies),
        ("calls", memory.calls),
        ("connections", memory.connections),
        ("reply_caches", memory.reply_caches),
        ("state", memory.state),
    ]
}

fn write_events(text: &mut String, events: &Events) {
    for (name, help, value) in [
        ("primetime_connections_total", "Connections that were accepted.", events.connected.get()),
        (
            "primetime_connections_refused_total",
            "Connections that were closed at once, for there were too many.",
            events.connections_refused.get(),
        ),
        (
            "primetime_connections_closed_for_others_total",
            "Connections that were closed so that other clients could connect.",
            events.connections_closed_for_others.get(),
        ),
        (
            "primetime_upgrades_failed_total",
            "Connections that were closed because their upgrade to TLS failed.",
            events.upgrades_failed.get(),
        ),
        ("primetime_recalls_total", "Delegations that were asked back.", events.recalls.get()),
        (
            "primetime_delegations_revoked_total",
            "Delegations that were taken away.",
            events.delegations_revoked.get(),
        ),
        (
            "primetime_clients_expired_total",
            "Clients that lost what they held.",
            events.clients_expired.get(),
        ),
        (
            "primetime_retries_answered_total",
            "Calls of NFSv3 and NLM that were sent again and answered as the first time.",
            events.retries_answered.get(),
        ),
    ] {
        single(text, name, "counter", help, value);
    }
    let name = "primetime_recall_duration_seconds";
    head(text, name, "histogram", "How long it took until a delegation was given back.");
    let (counts, mut below) = (events.recall_times.counts(), 0);
    for (end, count) in RECALL_BUCKETS_MS.iter().zip(counts) {
        below += count;
        let _ = writeln!(text, "{name}_bucket{{le=\"{}\"}} {below}", *end as f64 / 1e3);
    }
    let (all, seconds) = (counts.iter().sum::<u64>(), events.recall_times.milliseconds() as f64 / 1e3);
    let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {all}\n{name}_sum {seconds}\n{name}_count {all}");
}

#[cfg(test)]
mod tests {
    use super::super::Ended;
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the counters of several threads")]
    fn threads_are_added_up_and_labels_are_escaped() {
        let metrics = Metrics::new(|| 0);
        let lookup = OperationIndex::nfs3(proto::nfs3::Procedure::Lookup);
        let read = OperationIndex::nfs4(proto::nfs4::Operation::Read.number());
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut watch = metrics.begin();
                    for status in [0, 2] {
                        metrics.count(lookup, Some(ExportId(5)), Ended { status, bytes: 0 }, &mut watch);
                    }
                    metrics.count(read, Some(ExportId(6)), Ended { status: 0, bytes: 10 }, &mut watch);
                });
            }
        });
        let exports = vec![(ExportId(5), "/a\"b\\\n".to_owned())];
        let text = metrics.text(&Events::default(), &Gauges { exports, ..Gauges::default() });
        let a = r#"program="nfs3",operation="LOOKUP",export="/a\"b\\\n""#;
        for line in [
            format!("primetime_operations_total{{{a}}} 6"),
            format!("primetime_operation_errors_total{{{a},status=\"NFS3ERR_NOENT\"}} 3"),
            "primetime_read_bytes_total{program=\"nfs4\",export=\"other\"} 30".to_owned(),
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
    }

    #[test]
    fn one_request_in_eight_is_timed() {
        let metrics = Metrics::new(|| 0);
        let null = OperationIndex::nfs3(proto::nfs3::Procedure::Null);
        for _ in 0..80 {
            metrics.count(null, None, Ended { status: 0, bytes: 0 }, &mut metrics.begin());
        }
        let text = metrics.text(&Events::default(), &Gauges::default());
        let labels = r#"program="nfs3",operation="NULL",export="""#;
        for line in [
            format!("primetime_operations_total{{{labels}}} 80"),
            format!("primetime_operation_duration_seconds_bucket{{{labels},le=\"0.000008192\"}} 10"),
            format!("primetime_operation_duration_seconds_count{{{labels}}} 10"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
    }
}
