//! What the server counts: each operation by export, how it ended and, of one request in eight, how long it
//! took.
//!
//! Every thread counts for itself, with plain loads and stores that no other thread writes: a GETATTR costs a
//! few nanoseconds, and threads do not slow each other down. Whoever reads adds the threads up. Knows no
//! clock and no socket.

mod events;
mod operations;
pub(crate) mod results;
mod table;
mod text;

use std::sync::Arc;

use thread_local::ThreadLocal;

pub use events::{Events, RecallTimes};
pub(crate) use operations::OperationIndex;
pub(crate) use results::RequestExport;
pub use text::Gauges;

use crate::exports::ExportId;
use table::Thread;

/// Of so many requests on a thread, one is timed: reading a clock costs more than all the counting.
const TIMED_EVERY: u64 = 8;

/// The counters of all threads.
#[derive(Debug)]
pub struct Metrics {
    /// Nanoseconds since some moment.
    clock: fn() -> u64,
    threads: ThreadLocal<Thread>,
}

/// The time at which an operation of a request that is timed began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Option<u64>);

/// How an operation ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    /// The code on the wire; 0 is success.
    pub(crate) status: u32,
    /// Bytes of file data that were read or written.
    pub(crate) bytes: u64,
}

impl Metrics {
    /// Nothing was counted yet. `clock` yields nanoseconds since some moment and never goes back.
    pub fn new(clock: fn() -> u64) -> Self {
        Self { clock, threads: ThreadLocal::new() }
    }

    /// Begins a request.
    pub(crate) fn begin(&self) -> Stopwatch {
        let is_timed = self.threads.get_or_default().count_request().is_multiple_of(TIMED_EVERY);
        Stopwatch(is_timed.then(self.clock))
    }

    /// Counts an operation that has just ended; the request's next one begins.
    pub(crate) fn count(
        &self,
        operation: OperationIndex,
        export: Option<ExportId>,
        ended: Ended,
        watch: &mut Stopwatch,
    ) {
        let nanoseconds = watch.0.map(|began| {
            let now = (self.clock)();
            watch.0 = Some(now);
            now.saturating_sub(began)
        });
        self.threads.get_or_default().row(export, operation).count(ended, nanoseconds);
    }
}

/// The counting of one request. Without metrics nothing is done.
#[derive(Debug)]
pub(crate) struct Counting<'a> {
    metrics: Option<&'a Metrics>,
    whole: Stopwatch,
    /// Of the operation under way.
    step: Stopwatch,
}

impl<'a> Counting<'a> {
    pub(crate) fn begin(metrics: Option<&'a Arc<Metrics>>) -> Self {
        let metrics = metrics.map(Arc::as_ref);
        let whole = metrics.map_or(Stopwatch(None), Metrics::begin);
        Self { metrics, whole, step: whole }
    }

    /// Counts one operation of several, by the result that it has left.
    pub(crate) fn nfs4_operation(&mut self, export: Option<ExportId>, result: &[u8]) {
        if let Some(metrics) = self.metrics {
            let (number, ended) = results::of_nfs4(result);
            metrics.count(OperationIndex::nfs4(number), export, ended, &mut self.step);
        }
    }

    /// Counts the request as a whole.
    pub(crate) fn end(
        mut self,
        operation: OperationIndex,
        export: Option<ExportId>,
        ended: impl FnOnce() -> Ended,
    ) {
        if let Some(metrics) = self.metrics {
            metrics.count(operation, export, ended(), &mut self.whole);
        }
    }
}
