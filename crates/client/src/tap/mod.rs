//! Counts every request: how many, how large, how long they waited and how long they took. Knows nothing of what the
//! requests mean, and nothing of clocks: durations are given to it.

mod counter;
mod request;
mod snapshot;

pub use request::Request;
pub use snapshot::{RequestStats, Snapshot};

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proto::nfs4::{CallbackOperation, Operation};

use counter::Counter;

/// Room for every operation number of NFSv4 and its callbacks.
const OPERATIONS: usize = 76;
const CALLBACKS: usize = 16;

/// What a client has sent and received.
#[derive(Debug)]
pub struct Tap {
    requests: Box<[Counter]>,
    operations: [AtomicU64; OPERATIONS],
    callbacks: [AtomicU64; CALLBACKS],
    data_read: AtomicU64,
}

/// What one request cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// Waiting for a slot and for the socket.
    pub queued: Duration,
    /// From there to the arrival of the reply.
    pub wire: Duration,
    /// Size of the call on the wire, in bytes.
    pub bytes_sent: u32,
    /// Size of the reply on the wire, in bytes.
    pub bytes_received: u32,
}

impl Default for Tap {
    fn default() -> Self {
        Self {
            requests: (0..Request::COUNT).map(|_| Counter::default()).collect(),
            operations: [const { AtomicU64::new(0) }; OPERATIONS],
            callbacks: [const { AtomicU64::new(0) }; CALLBACKS],
            data_read: AtomicU64::new(0),
        }
    }
}

impl Tap {
    /// A request was answered. One that was repeated in its slot counts once for each answer.
    pub(crate) fn answered(&self, request: Request, cost: Cost) {
        self.requests[request.index()].answered(cost);
    }

    /// A request was sent and not answered.
    pub(crate) fn unanswered(&self, request: Request) {
        self.requests[request.index()].unanswered();
    }

    /// A COMPOUND with this operation in it is sent.
    pub(crate) fn operation(&self, operation: Operation) {
        if let Some(count) = self.operations.get(operation.number() as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The server called back.
    pub(crate) fn callback(&self, operation: CallbackOperation) {
        if let Some(count) = self.callbacks.get(operation.number() as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A reply had this much file data in it.
    pub(crate) fn data_read(&self, bytes: usize) {
        self.data_read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// How many requests were answered up to now.
    pub fn requests(&self) -> u64 {
        self.requests.iter().map(Counter::requests).sum()
    }

    /// Everything up to now.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot =
            Snapshot { data_read: self.data_read.load(Ordering::Relaxed), ..Snapshot::default() };
        for request in Request::all() {
            let stats = self.requests[request.index()].stats();
            if stats.requests > 0 || stats.unanswered > 0 {
                *snapshot.requests.entry(request.name()).or_default() += &stats;
            }
        }
        for operation in Operation::ALL {
            let count = self.operations.get(operation.number() as usize).map(|n| n.load(Ordering::Relaxed));
            if let Some(count @ 1..) = count {
                snapshot.operations.insert(operation.name(), count);
            }
        }
        for operation in CallbackOperation::ALL {
            let count = self.callbacks.get(operation.number() as usize).map(|n| n.load(Ordering::Relaxed));
            if let Some(count @ 1..) = count {
                snapshot.callbacks.insert(operation.name(), count);
            }
        }
        snapshot
    }
}

#[cfg(test)]
mod tests {
    use proto::nfs3;

    use super::*;

    fn cost(millis: u64) -> Cost {
        Cost {
            queued: Duration::from_millis(1),
            wire: Duration::from_millis(millis),
            bytes_sent: 100,
            bytes_received: 200,
        }
    }

    #[test]
    fn a_difference_holds_what_came_in_between() {
        let tap = Tap::default();
        let read = Request::Nfs3(nfs3::Procedure::Read);
        tap.answered(read, cost(5));
        tap.operation(Operation::Sequence);
        tap.data_read(100);
        let before = tap.snapshot();
        tap.answered(read, cost(10));
        tap.answered(Request::Nfs3(nfs3::Procedure::GetAttr), cost(1));
        tap.operation(Operation::Sequence);
        tap.operation(Operation::Read);
        tap.callback(CallbackOperation::Recall);
        tap.data_read(4096);
        let between = tap.snapshot().since(&before);
        let read = &between.requests["READ"];
        assert_eq!((read.requests, read.bytes_sent, read.bytes_received), (1, 100, 200));
        assert_eq!((read.queued, read.wire), (Duration::from_millis(1), Duration::from_millis(10)));
        assert_eq!(read.latency.len(), 1);
        assert_eq!(between.data_read, 4096);
        assert_eq!(between.requests["GETATTR"].requests, 1);
        assert_eq!(between.requests_total(), 2);
        assert_eq!((between.operations["SEQUENCE"], between.operations["READ"]), (1, 1));
        assert_eq!(between.callbacks["CB_RECALL"], 1);
    }

    #[test]
    fn sums_of_clients_add_up() {
        let (one, other) = (Tap::default(), Tap::default());
        one.answered(Request::Nfs4(Operation::Open), cost(1));
        other.answered(Request::Nfs4(Operation::Open), cost(1));
        other.unanswered(Request::Nfs4(Operation::Close));
        let sum: Snapshot = [one.snapshot(), other.snapshot()].into_iter().sum();
        assert_eq!(sum.requests["OPEN"].requests, 2);
        assert_eq!(sum.requests["CLOSE"].unanswered, 1);
        assert_eq!(sum.bytes_sent(), 200);
        assert_eq!(sum.queued(), Duration::from_millis(2));
    }

    #[test]
    fn what_never_happened_has_no_entry() {
        let tap = Tap::default();
        let snapshot = tap.snapshot();
        assert!(snapshot.requests.is_empty() && snapshot.operations.is_empty());
        tap.answered(Request::Nfs3(nfs3::Procedure::Read), cost(1));
        let later = tap.snapshot();
        assert!(later.since(&later).requests.is_empty());
    }

    #[test]
    fn every_request_has_its_own_place() {
        let mut places: Vec<usize> = Request::all().map(Request::index).collect();
        places.sort_unstable();
        assert_eq!(places, (0..Request::COUNT).collect::<Vec<_>>());
    }
}
