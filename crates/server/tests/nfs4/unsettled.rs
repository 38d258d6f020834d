//! Files that an OPEN has made and that are not on stable storage yet: the reply waits for them, what stands
//! behind in the COMPOUND does not, and nothing behind a failure has happened (RFC 8881 §16.2.3).

use std::sync::Arc;

use futures_util::FutureExt;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;
use server::runtime::BoxFuture;

use crate::losing::{Disk, Losing};
use crate::peer::{Peer, Results, Setup, TestServer, open};

struct Lab {
    disk: Arc<Disk>,
    peer: Peer,
    other: Peer,
}

impl Lab {
    fn new() -> Self {
        let disk = Arc::new(Disk::default());
        let losing = Losing::new(Some(Arc::clone(&disk)));
        let server = Arc::new(TestServer::over(losing, Setup::default()));
        Self { disk, peer: Peer::new(&server, 1), other: Peer::new(&server, 2) }
    }

    /// Makes files in one COMPOUND, each closed again; it waits for the disk.
    fn make(&mut self, names: &[&str]) -> BoxFuture<Results> {
        let made = self.disk.count() + names.len();
        let mut asked = self.peer.begin(|c| {
            for name in names {
                let close = CloseArgs { sequence: 0, state_id: StateId::CURRENT };
                c.push(Operation::PutRootFh, &()).push(Operation::Open, &new(name));
                c.push(Operation::GetFh, &()).push(Operation::Close, &close);
            }
        });
        assert!((&mut asked).now_or_never().is_none(), "it waits");
        assert_eq!(self.disk.count(), made, "once for all");
        asked
    }

    fn look_up(&mut self, name: &str) -> Status {
        let name = name.to_owned().into();
        let look_up = |c: &mut CompoundBuilder<'_>| {
            c.push(Operation::PutRootFh, &()).push(Operation::Lookup, &LookupArgs { name });
        };
        self.other.compound(look_up).status
    }

    /// Whether nobody has the file open.
    fn is_closed(&mut self, name: &str) -> bool {
        let alone = OpenArgs { share_deny: share::BOTH, ..open(name, share::READ, None) };
        let open = |c: &mut CompoundBuilder<'_>| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &alone);
        };
        self.other.compound(open).status == Status::Ok
    }
}

fn new(name: &str) -> OpenArgs {
    let how = CreateHow::Guarded(AttributeValues { mode: Some(0o666), ..AttributeValues::default() });
    open(name, share::BOTH | share::WANT_NO_DELEGATION, Some(how))
}

#[track_caller]
fn end(asked: BoxFuture<Results>) -> Results {
    asked.now_or_never().expect("the disk is done").sequenced()
}

#[test]
fn a_reply_waits_for_the_disk_once_and_others_see_the_files_at_once() {
    let mut lab = Lab::new();
    let mut asked = lab.make(&["a", "b"]);
    assert_eq!([lab.look_up("a"), lab.look_up("b")], [Status::Ok; 2]);
    lab.disk.end(1, true);
    assert!((&mut asked).now_or_never().is_none(), "the other one is not there");
    lab.disk.end(0, true);
    let mut results = end(asked);
    assert_eq!((results.status, results.count), (Status::Ok, 9));
    for _ in 0..2 {
        results.ok(Operation::PutRootFh);
        results.body::<OpenResult>(Operation::Open);
        results.body::<GetFhResult>(Operation::GetFh);
        results.body::<StateId>(Operation::Close);
    }
}

#[test]
fn a_file_that_the_disk_loses_ends_the_results_with_its_open() {
    let mut lab = Lab::new();
    let asked = lab.make(&["a"]);
    lab.disk.end(0, false);
    let mut results = end(asked);
    assert_eq!((results.status, results.count), (Status::Io, 3));
    results.ok(Operation::PutRootFh);
    assert_eq!(results.next(), (Operation::Open.number(), Status::Io));
    assert_eq!(results.rest().remaining(), 0);
}

#[test]
fn files_after_a_lost_create_are_removed() {
    let mut lab = Lab::new();
    let asked = lab.make(&["lost", "behind"]);
    lab.disk.end(0, false);
    lab.disk.end(1, true);
    assert_eq!((asked.now_or_never().unwrap().count, lab.look_up("behind")), (3, Status::NoEntry));
    let asked = lab.make(&["before", "lost too"]);
    lab.disk.end(2, true);
    lab.disk.end(3, false);
    assert_eq!((asked.now_or_never().unwrap().count, lab.look_up("before")), (7, Status::Ok));
}

#[test]
fn an_open_that_was_not_closed_ends_with_its_file() {
    let mut lab = Lab::new();
    let mut asked = lab.peer.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &new("a")).push(Operation::GetFh, &());
    });
    assert!((&mut asked).now_or_never().is_none(), "it waits");
    assert!(!lab.is_closed("a"));
    lab.disk.end(0, false);
    assert_eq!(end(asked).status, Status::Io);
    assert!(lab.is_closed("a"));
}

#[test]
fn persistent_effect_waits_for_the_disk() {
    let mut lab = Lab::new();
    let stale = StateId { sequence: 1, other: StateOther([9; 12]) };
    let write =
        WriteArgs { state_id: StateId::CURRENT, offset: 0, stable: StableHow::Unstable, data: "data".into() };
    let close = CloseArgs { sequence: 0, state_id: stale };
    let again = open("a", share::READ, None);
    for number in 0..3 {
        let name = format!("file-{number}");
        let mut asked = lab.peer.begin(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &new(&name));
            match number {
                0 => c.push(Operation::Write, &write),
                1 => c.push(Operation::Close, &close),
                _ => c.push(Operation::PutRootFh, &()).push(Operation::Open, &again),
            };
        });
        assert!((&mut asked).now_or_never().is_none(), "it waits");
        lab.disk.end(number, false);
        let mut results = end(asked);
        assert_eq!((results.status, results.count), (Status::Io, 3), "{number}");
        results.ok(Operation::PutRootFh);
        assert_eq!(results.next(), (Operation::Open.number(), Status::Io));
        assert!(lab.is_closed(&name));
    }
}
