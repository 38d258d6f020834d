//! Counts every request: how many, how large, how long they waited and how long they took. Knows nothing of
//! what the requests mean, and nothing of clocks: durations are given to it.

mod counter;
mod request;
mod snapshot;

pub use request::Request;
pub use snapshot::{RequestStats, Snapshot};

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proto::nfs4::{CallbackOperation, Operation};
use rpc_net::Reply;

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
    /// See [`Snapshot::round_trips`].
    round_trips: AtomicU64,
}

/// A request that is being sent.
#[derive(Debug)]
pub(crate) struct Sent<'a> {
    tap: &'a Tap,
    request: Request,
    /// Which one it is in the longest chain of requests that ends with it.
    place: u64,
}

impl Sent<'_> {
    /// One that was repeated in its slot counts once for each answer.
    pub(crate) fn answered(self, cost: Cost) {
        self.tap.requests[self.request.index()].answered(cost);
        self.tap.round_trips.fetch_max(self.place, Ordering::Relaxed);
    }

    pub(crate) fn unanswered(self) {
        self.tap.requests[self.request.index()].unanswered();
    }
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

impl From<&Reply> for Cost {
    fn from(reply: &Reply) -> Self {
        Self {
            queued: reply.timing.queued,
            wire: reply.timing.wire,
            bytes_sent: reply.bytes_sent,
            bytes_received: reply.bytes_received,
        }
    }
}

impl Default for Tap {
    fn default() -> Self {
        Self {
            requests: (0..Request::COUNT).map(|_| Counter::default()).collect(),
            operations: [const { AtomicU64::new(0) }; OPERATIONS],
            callbacks: [const { AtomicU64::new(0) }; CALLBACKS],
            data_read: AtomicU64::new(0),
            round_trips: AtomicU64::new(0),
        }
    }
}

impl Tap {
    /// A request is sent.
    pub(crate) fn send(&self, request: Request) -> Sent<'_> {
        Sent { tap: self, request, place: self.round_trips.load(Ordering::Relaxed) + 1 }
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
        let mut snapshot = Snapshot {
            data_read: self.data_read.load(Ordering::Relaxed),
            round_trips: self.round_trips.load(Ordering::Relaxed),
            ..Snapshot::default()
        };
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
        tap.send(read).answered(cost(5));
        tap.operation(Operation::Sequence);
        tap.data_read(100);
        let before = tap.snapshot();
        tap.send(read).answered(cost(10));
        tap.send(Request::Nfs3(nfs3::Procedure::GetAttr)).answered(cost(1));
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
        one.send(Request::Nfs4(Operation::Open)).answered(cost(1));
        other.send(Request::Nfs4(Operation::Open)).answered(cost(1));
        other.send(Request::Nfs4(Operation::Close)).unanswered();
        let sum: Snapshot = [one.snapshot(), other.snapshot()].into_iter().sum();
        assert_eq!(sum.requests["OPEN"].requests, 2);
        assert_eq!(sum.requests["CLOSE"].unanswered, 1);
        assert_eq!(sum.bytes_sent(), 200);
        assert_eq!(sum.queued(), Duration::from_millis(2));
    }

    #[test]
    fn requests_under_way_together_are_one_round_trip() {
        let tap = Tap::default();
        let read = Request::Nfs3(nfs3::Procedure::Read);
        let (one, two) = (tap.send(read), tap.send(read));
        one.answered(cost(1));
        // Sent while the second was still under way.
        let three = tap.send(read);
        two.answered(cost(1));
        tap.send(read).unanswered();
        three.answered(cost(1));
        let before = tap.snapshot();
        assert_eq!(before.round_trips, 2);
        tap.send(read).answered(cost(1));
        assert_eq!(tap.snapshot().since(&before).round_trips, 1);
    }

    #[test]
    fn operation_that_never_ran_has_no_entry() {
        let tap = Tap::default();
        let snapshot = tap.snapshot();
        assert!(snapshot.requests.is_empty() && snapshot.operations.is_empty());
        tap.send(Request::Nfs3(nfs3::Procedure::Read)).answered(cost(1));
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
