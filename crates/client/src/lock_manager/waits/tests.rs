//! GRANTED and the callers that wait: who is woken, and what a server is answered.

use std::sync::atomic::{AtomicBool, AtomicUsize};

use super::*;

const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const STRANGER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9));

#[derive(Default)]
struct Holder {
    wakes: AtomicUsize,
    holds: AtomicBool,
}

impl LockHolder for Holder {
    fn wake(&self) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
    }

    fn holds_part_of(&self, range: &Range<u64>) -> bool {
        assert_eq!(*range, 10..15);
        self.holds.load(Ordering::SeqCst)
    }
}

fn request() -> LockRequest {
    let bytes = Bytes::from_static(b"file");
    LockRequest { file: bytes.clone(), owner: bytes, offset: 10, length: 5, exclusive: true }
}

fn waits() -> Arc<Waits> {
    let waits = Arc::new(Waits::default());
    waits.add_server(SERVER, Arc::new(|_| {}));
    waits
}

fn begin(waits: &Arc<Waits>, holder: &Arc<Holder>) -> LockWait {
    let holder: Weak<Holder> = Arc::downgrade(holder);
    LockWait::begin(waits, SERVER, request(), holder).unwrap()
}

#[test]
fn granted_wakes_the_caller_of_exactly_that_lock() {
    let (waits, holder) = (waits(), Arc::new(Holder::default()));
    let wait = begin(&waits, &holder);
    let others = [
        LockRequest { file: Bytes::new(), ..request() },
        LockRequest { owner: Bytes::new(), ..request() },
        LockRequest { offset: 9, ..request() },
        LockRequest { length: 0, ..request() },
        LockRequest { exclusive: false, ..request() },
    ];
    for other in others {
        assert_eq!(waits.granted(SERVER, other), Status::Denied);
    }
    assert_eq!(waits.granted(STRANGER, request()), Status::Denied);
    assert!(!wait.is_granted());
    assert_eq!(holder.wakes.load(Ordering::SeqCst), 0);
    assert_eq!(waits.granted(SERVER, request()), Status::Granted);
    assert!(wait.is_granted());
    assert_eq!(waits.granted(SERVER, request()), Status::Granted, "the answer was lost");
    assert_eq!(holder.wakes.load(Ordering::SeqCst), 2);
}

#[test]
fn granted_after_the_caller_gave_up_is_denied() {
    let (waits, holder) = (waits(), Arc::new(Holder::default()));
    drop(begin(&waits, &holder));
    assert_eq!(waits.granted(SERVER, request()), Status::Denied);
    assert_eq!(holder.wakes.load(Ordering::SeqCst), 0);
    drop(begin(&waits, &holder));
    drop(holder);
    assert_eq!(waits.granted(SERVER, request()), Status::Denied);
}

#[test]
fn repeated_granted_for_a_held_lock_is_accepted_until_unlock() {
    let (waits, holder) = (waits(), Arc::new(Holder::default()));
    let wait = begin(&waits, &holder);
    assert_eq!(waits.granted(SERVER, request()), Status::Granted);
    holder.holds.store(true, Ordering::SeqCst);
    drop(wait);
    assert_eq!(waits.granted(SERVER, request()), Status::Granted);
    assert_eq!(holder.wakes.load(Ordering::SeqCst), 1);
    holder.holds.store(false, Ordering::SeqCst);
    assert_eq!(waits.granted(SERVER, request()), Status::Denied);
    assert_eq!(waits.requests.lock().by_server.len(), 0);
}

#[test]
fn one_of_two_callers_of_an_owner_gives_up_and_the_other_waits_on() {
    let (waits, holder) = (waits(), Arc::new(Holder::default()));
    let [one, two] = [begin(&waits, &holder), begin(&waits, &holder)];
    drop(one);
    assert_eq!(waits.granted(SERVER, request()), Status::Granted);
    assert!(two.is_granted());
    drop(two);
    assert!(!begin(&waits, &holder).is_granted(), "an earlier call says nothing of this wait");
}

#[test]
fn requests_of_the_past_are_forgotten_and_too_many_refused() {
    let (waits, holder) = (waits(), Arc::new(Holder::default()));
    let begin = |offset| {
        let holder: Weak<Holder> = Arc::downgrade(&holder);
        LockWait::begin(&waits, SERVER, LockRequest { offset, ..request() }, holder)
    };
    let first = begin(0).unwrap();
    for offset in 1..10 * SWEEP_MIN as u64 {
        drop(LockWait::begin(&waits, SERVER, LockRequest { offset, ..request() }, Weak::<Holder>::new()));
    }
    assert!(waits.requests.lock().by_server.len() <= 2 * SWEEP_MIN);
    let many: Vec<_> = (1..REQUESTS_MAX as u64).map(|offset| begin(offset).unwrap()).collect();
    assert!(begin(u64::MAX).is_none());
    assert!(begin(0).is_some(), "the same request is one");
    drop((first, many));
}

#[test]
fn server_is_believed_while_a_mount_is_attached() {
    let (waits, holder) = (Arc::new(Waits::default()), Arc::new(Holder::default()));
    let ids = [0, 1].map(|_| waits.add_server(SERVER, Arc::new(|_| {})));
    let _wait = begin(&waits, &holder);
    waits.remove_server(SERVER, ids[0]);
    assert_eq!(waits.granted(SERVER, request()), Status::Granted);
    waits.remove_server(SERVER, ids[1]);
    assert_eq!(waits.granted(SERVER, request()), Status::Denied);
    assert!(waits.servers.lock().is_empty());
}
